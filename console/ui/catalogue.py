"""All actions of the console. Adding one here gives it a key, a place in help, palette and documentation, and a test.

Lower case reads, upper case opens a plan; no key writes by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.ui.actions import Action, Possible, Situation, always


def _row(now: Situation) -> str:
    return "" if now.subjects else "There is no row to do this with."


def _one_row(now: Situation) -> str:
    return "This is about one object; several are marked." if len(now.subjects) > 1 else _row(now)


def _logs(now: Situation) -> str:
    return _one_row(now) or ("" if now.has_logs else f"A {now.subjects[0].kind} has no log of its own.")


def _in_pane(now: Situation) -> str:
    return "" if now.pane else "Open an object first (Enter)."


def _log_pane(now: Situation) -> str:
    return "" if now.pane == "logs" else "This is for logs (l)."


def _back(now: Situation) -> str:
    return "" if now.can_back else "There is no earlier place."


def _forward(now: Situation) -> str:
    return "" if now.can_forward else "There is no later place."


def _filtered(now: Situation) -> str:
    return "" if now.filtered else "There is no filter to keep."


def _lockable(now: Situation) -> str:
    return "This console only reads." if now.read_only else _row(now)


def _any_plan(now: Situation) -> str:
    return _row(now) or ("" if now.verbs else f"Nothing can be changed about a {now.subjects[0].kind} from here.")


def _plans(*verbs: str) -> Possible:
    """Possible when one of these verbs can be planned. A target that isn't armed does not hinder looking at a plan."""

    def possible(now: Situation) -> str:
        if not now.subjects:
            return _row(now)
        if len({ref.connection for ref in now.subjects}) > 1:
            return "One plan writes to one target; the marked objects are on several."
        if now.read_only:
            return "This console only reads."
        if not now.fresh:
            return f"{now.subjects[0].connection} isn't live: what is shown may be old."
        return "" if now.verbs & set(verbs) else f"that can't be done with a {now.subjects[0].kind} here."

    return possible


def _group(name: str) -> Callable[..., Action]:
    def action(identity: str, keys: str, title: str, description: str, possible: Possible = always, **more: Any) -> Action:
        return Action(
            id=identity, keys=tuple(keys.split()), title=title, description=description, group=name, possible=possible, **more
        )

    return action


_move, _look, _list = _group("Moving"), _group("Looking"), _group("Lists")
_view, _console = _group("Views"), _group("Console")


def _change(name: str, key: str, title: str, description: str, *verbs: str, **more: Any) -> Action:
    make = _group("Changing")
    return make(f"change.{name}", key, title, description, _plans(*verbs), dangerous=True, verbs=verbs, **more)


ACTIONS: tuple[Action, ...] = (
    _move("move.up", "up k", "Up", "One line up."),
    _move("move.down", "down j", "Down", "One line down."),
    _move("move.page_up", "pageup ctrl+b", "Page up", "One page up."),
    _move("move.page_down", "pagedown ctrl+f", "Page down", "One page down."),
    _move("move.top", "g home", "Top", "To the first line."),
    _move("move.bottom", "G end", "Bottom", "To the last line; in a log, follow again."),
    _move("move.left", "left", "Left", "Scroll a wide table or text to the left."),
    _move("move.right", "right", "Right", "Scroll a wide table or text to the right."),
    _move("open", "enter", "Open", "Go into the object; among related objects, jump to that one.", _row, footer="open", rank=1),
    _move("close", "escape q", "Back", "Leave the pane, clear the filter, widen the scope, go back."),
    _move("history.back", "left_square_bracket", "Earlier place", "Back to the place you were before.", _back),
    _move("history.forward", "right_square_bracket", "Later place", "Forward again, after going back.", _forward),
    _move("focus.next", "tab", "Other pane", "Between the list and the pane beside it."),
    _look("look.describe", "d", "Describe", "What the object is, how it is and why, in words.", _one_row),
    _look("look.yaml", "y", "YAML", "The whole object as the server has it, secrets masked.", _one_row),
    _look(
        "look.diff",
        "equals_sign",
        "Diff",
        "What would change if the object were applied or corrected now; of a trigger, by commit.",
        _one_row,
    ),
    _look("look.events", "e", "Events", "What the platform said about the object.", _one_row),
    _look(
        "look.related",
        "o",
        "Related",
        "Objects that belong to it: open one to jump there.",
        _one_row,
        footer="related",
        rank=11,
    ),
    _look("look.logs", "l", "Logs", "The log of a pod, container, task or service.", _logs, footer="logs", rank=7),
    _look("look.timeline", "t", "Timeline", "Operations and events of the object, newest first.", _one_row),
    _look("look.versions", "v", "Versions", "The same object on all targets, side by side.", _one_row),
    _look("pane.next", "greater_than_sign", "Next tab", "The next tab of the pane.", _in_pane),
    _look("pane.previous", "less_than_sign", "Previous tab", "The previous tab of the pane.", _in_pane),
    _look("search.next", "n", "Next match", "The next place that the search found.", _in_pane),
    _look("search.previous", "N", "Previous match", "The previous place that the search found.", _in_pane),
    _look("text.wrap", "w", "Wrap / all columns", "Wrap long lines of a text; in a table, show all columns."),
    _look("log.follow", "f", "Follow", "Keep up with the log, or stop.", _log_pane),
    _look("log.previous", "p", "Previous run", "The log of the run before this one.", _log_pane),
    _look("log.time", "m", "Times", "Show when each line was written.", _log_pane),
    _look("log.since", "i", "Since", "How far back: all, 1 h, 15 min, 1 min.", _log_pane),
    _look("log.container", "b", "Container", "The next container of the pod.", _log_pane),
    _list(
        "filter",
        "slash",
        "Filter",
        "Narrow the list: text, !text, -l key=value, ~fuzzy. In a text, search.",
        footer="filter",
        rank=2,
    ),
    _list(
        "problems",
        "exclamation_mark",
        "Problems only",
        "Only what needs a person, or everything again.",
        footer="problems",
        rank=6,
    ),
    _list("sort", "S", "Sort", "Choose the column to sort by; a minus before its name turns the order round."),
    _list("mark", "space", "Mark", "Mark the row; plans are made for all marked rows.", _row),
    _list("mark.all", "asterisk", "Mark all", "Mark every row that is shown, or none.", _row),
    _list("copy", "c", "Copy", "Copy the name (in a text: the text) to your clipboard.", _row),
    _list("filter.save", "ctrl+s", "Keep filter", "Keep this filter under a name.", _filtered),
    _view("view.bridge", "1", "Bridge", "Everything on all targets, worst first."),
    _view("view.triggers", "2", "Triggers", "What makes clusters apply a commit."),
    _view("view.operations", "3", "Operations", "What runs now, and what ran."),
    _view("view.stacks", "4", "Stacks", "Swarm stacks."),
    _view("view.services", "5", "Services", "Services of Docker hosts."),
    _view("view.activity", "6", "Activity", "What happened, on one time axis."),
    _group("Changing")(
        "actions",
        "a",
        "Actions",
        "Everything that can be done with the object.",
        _any_plan,
        dangerous=True,
        footer="actions",
        rank=5,
    ),
    _change(
        "apply",
        "A",
        "Apply",
        "Apply what is wanted; on a trigger, choose the commit and the reason first.",
        "apply",
        "sync",
        "deploy",
        "catch-up",
        "rehearse",
        footer="apply",
        rank=8,
    ),
    _change("restart", "R", "Reconcile / restart", "Reconcile now, or restart.", "reconcile", "refresh", "restart"),
    _change("correct", "C", "Correct drift", "Put back what was changed by hand.", "correct", footer="correct", rank=9),
    _change(
        "hold",
        "H",
        "Hold / release",
        "Stop automation for this object, or let it go on.",
        "hold",
        "release",
        "suspend",
        "resume",
        footer="hold",
        rank=10,
    ),
    _change("rollback", "B", "Roll back", "Back to an earlier revision.", "rollback"),
    _change(
        "sweep",
        "X",
        "Sweep / delete",
        "Remove what is no longer wanted, or delete it.",
        "sweep",
        "prune",
        "remove",
        "delete",
        "dismantle",
    ),
    _change("terminate", "T", "Terminate", "End the operation that runs.", "terminate", "cancel"),
    _group("Changing")(
        "change.undo",
        "U",
        "Undo",
        "Take back the newest operation of this console on the object.",
        _lockable,
        dangerous=True,
    ),
    _group("Changing")(
        "change.arm",
        "W",
        "Arm / disarm",
        "Allow changes to this target for a while, or forbid them again.",
        _lockable,
        dangerous=True,
    ),
    _console("command", "colon", "Command", "Go anywhere by name: :pods, :ctx prod-eu, :ns shop.", footer="go", rank=3),
    _console("palette", "ctrl+p", "Palette", "Find any action, view, target or theme."),
    _console("help", "question_mark", "Help", "All keys.", footer="help", rank=4),
    _console("reconnect", "ctrl+r", "Reconnect", "Try the connection of this row again at once.", _row),
    _console("detail", "ctrl+d", "Pane on / off", "Show or hide the pane beside the list."),
    _console("low_bandwidth", "ctrl+l", "Slow line", "Fewer screen updates for a slow line, or all again."),
    _console("quit", "ctrl+c ctrl+q", "Quit", "Leave; asks when operations run."),
)
