"""Changing: from a key to a plan, from the plan to an operation. Nothing here writes; it asks the one write path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from console.errors import QuarterdeckError
from console.model.health import Health
from console.model.kubernetes import TRIGGER_KINDS, Trigger
from console.model.operations import Operation
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui import verbs
from console.ui.command_line import minutes
from console.ui.screens.apply import ApplyScreen, Chosen
from console.ui.screens.ask import AskScreen
from console.ui.screens.dialogs import ChooseScreen
from console.ui.screens.operation import OperationScreen
from console.ui.screens.plan import PlanScreen

if TYPE_CHECKING:
    from console.ui.screens.main import MainScreen

_DIFF = ("correct", "apply", "sync", "deploy", "reconcile", "rehearse")


def _is_held(resource: Resource | None) -> bool:
    if isinstance(resource, Trigger):
        return resource.held or resource.suspended
    return resource is not None and resource.health is Health.HELD


class Changing:
    """Actions of the group "Changing", and ``=``, which shows a plan that can't be run."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Action id to function."""
        found: dict[str, Callable[[], None]] = {
            action.id: partial(self._by_action, action.id) for action in self._screen.registry.all() if action.verbs
        }
        return found | {
            "actions": self._menu,
            "change.undo": self.undo,
            "change.arm": self._toggle_arm,
            "look.diff": self._diff,
        }

    def _by_action(self, name: str) -> None:
        action = self._screen.registry[name]
        offered = self._screen.situation().verbs
        fitting = [verb for verb in action.verbs if verb in offered]
        if len(fitting) > 1 and name == "change.hold":
            fitting = self._hold_or_release(fitting)
        if len(fitting) > 1 and name == "change.hold":
            self._choose(action.title, fitting)
        elif fitting:
            self.ask(fitting[0])

    def _hold_or_release(self, offered: list[str]) -> list[str]:
        """What makes sense of holding and releasing, as far as all objects are in the same state."""
        found = [self._screen.runtime.store.get(ref) for ref in self._screen.subjects]
        held = {_is_held(resource) for resource in found}
        if len(held) != 1:
            return offered
        sense = ("release", "resume") if held.pop() else ("hold", "suspend")
        return [verb for verb in offered if verb in sense] or offered

    def _menu(self) -> None:
        self._choose("What to do", sorted(self._screen.situation().verbs))

    def _choose(self, title: str, offered: list[str]) -> None:
        keys = {verb: self._screen.registry.key(action.id) for action in self._screen.registry.all() for verb in action.verbs}
        subjects = self._screen.subjects
        about = subjects[0].path if len(subjects) == 1 else f"{len(subjects)} objects"
        choices = [(verb, f"{keys.get(verb, ''):<3}{verbs.title(verb)}", True) for verb in offered]

        def chosen(verb: str | None) -> None:
            if verb:
                self.ask(verb)

        self._screen.app.push_screen(ChooseScreen(f"{title}: {about}", choices), chosen)

    def ask(self, verb: str, given: dict[str, str] | None = None) -> None:
        """Ask what the verb needs to know, then plan it. The subjects are taken now and never looked up again."""
        subjects = self._screen.subjects
        kind, one = subjects[0].kind, len(subjects) == 1
        if verb == "apply" and given is None and one and kind in TRIGGER_KINDS:
            self._ask_commit(subjects)
        elif given is not None or not verbs.fields(kind, verb):
            self._plan(verb, subjects, given or {})
        elif one and verbs.needs_live(kind, verb):
            work = self._ask_live(verb, subjects)
            self._screen.run_worker(work, group="plan", exclusive=True, exit_on_error=False, description="the questions")
        else:
            self._put_questions(verb, subjects, verbs.fields(kind, verb))

    async def _ask_live(self, verb: str, subjects: tuple[Ref, ...]) -> None:
        """What can be chosen is read from the object itself; where it can't be, it is typed."""
        screen = self._screen
        try:
            raw = await screen.runtime.raw(subjects[0])
        except QuarterdeckError as error:
            screen.say(error.sentence(), "warn")
            raw = None
        if screen.app.screen is screen:
            self._put_questions(verb, subjects, verbs.fields(subjects[0].kind, verb, raw))

    def _put_questions(self, verb: str, subjects: tuple[Ref, ...], fields: tuple[verbs.Field, ...]) -> None:
        def answered(answers: dict[str, str] | None) -> None:
            if answers is not None:
                self._plan(verb, subjects, answers)

        self._screen.app.push_screen(AskScreen(f"{verbs.title(verb)}: {subjects[0].path}", fields), answered)

    def _ask_commit(self, subjects: tuple[Ref, ...]) -> None:
        """Which commit, and why. Where that can't be offered the plan says by itself what it would apply."""

        def chosen(found: Chosen | None) -> None:
            if found is not None:
                self._plan("apply", subjects, dict(found.arguments or {}), found.unread)

        self._screen.app.push_screen(ApplyScreen(self._screen.runtime, subjects[0]), chosen)

    def _plan(self, verb: str, subjects: tuple[Ref, ...], arguments: dict[str, str], note: str = "") -> None:
        reason = arguments.pop("reason", "")
        intent = Intent(verb=verb, targets=subjects, arguments=arguments, reason=reason)
        self._show_plan(lambda: self._screen.runtime.commands.plan(intent), note=note)

    def undo(self) -> None:
        """Plan to take back the newest operation on the object."""
        subject = self._screen.subjects[0]
        self._show_plan(lambda: self._screen.runtime.commands.plan_undo(subject))

    def _diff(self) -> None:
        subject = self._screen.subjects[0]
        if subject.kind not in TRIGGER_KINDS:
            self._diff_by_plan(subject, "")
            return

        def looked(found: Chosen | None) -> None:
            if found is not None:
                self._diff_by_plan(subject, found.unread)

        self._screen.app.push_screen(ApplyScreen(self._screen.runtime, subject, only_look=True), looked)

    def _diff_by_plan(self, subject: Ref, note: str) -> None:
        offered = self._screen.situation().verbs
        verb = next((verb for verb in _DIFF if verb in offered), "")
        if not verb:
            self._screen.say(note or f"A {subject.kind} has no wanted state here to compare with.", "warn")
            return
        intent = Intent(verb=verb, targets=(subject,))
        self._show_plan(lambda: self._screen.runtime.commands.plan(intent), only_look=True, note=note)

    def _show_plan(self, make: Callable[[], Awaitable[Plan]], *, only_look: bool = False, note: str = "") -> None:
        self._screen.say("Reading the world for a plan …")
        work = self._make_plan(make, only_look, note)
        self._screen.run_worker(work, group="plan", exclusive=True, exit_on_error=False, description="the plan")

    async def _make_plan(self, make: Callable[[], Awaitable[Plan]], only_look: bool, note: str) -> None:
        screen = self._screen
        try:
            plan = await make()
        except QuarterdeckError as error:
            screen.say(error.sentence(), "bad")
            return
        screen.say("")
        if screen.app.screen is not screen:
            return
        if plan.instead is not None and not only_look:
            self._offer_instead(plan, note)
        else:
            self._open(plan, only_look, note)

    def _offer_instead(self, plan: Plan, note: str) -> None:
        """Before a plan with a better one to be done first, that one is a key away."""
        better, wanted = plan.instead, plan.intent
        if better is None:
            return
        about = wanted.targets[0].path if len(wanted.targets) == 1 else f"{len(wanted.targets)} objects"
        choices = [
            ("instead", f"{verbs.title(better.verb)} first", True),
            ("wanted", f"{verbs.title(wanted.verb)} all the same", True),
        ]

        def chosen(answer: str | None) -> None:
            if answer == "instead":
                self._show_plan(lambda: self._screen.runtime.commands.plan(better))
            elif answer == "wanted":
                self._open(plan, False, note)

        said = "\n".join((f"{verbs.title(wanted.verb)}: {about}", "", *plan.effects))
        self._screen.app.push_screen(ChooseScreen(said, choices), chosen)

    def _open(self, plan: Plan, only_look: bool, note: str) -> None:
        screen = self._screen
        arming = screen.runtime.commands.arming
        name = plan.intent.connection

        def locked() -> str:
            if arming.read_only:
                return "This console only reads."
            return "" if arming.armed(name) else f"{name} is read-only here."

        dialog = PlanScreen(
            plan,
            None if only_look else lambda shown, typed: screen.runtime.commands.run(shown, typed),
            locked,
            None if arming.read_only else partial(self.arm, name),
            note,
        )
        screen.app.push_screen(dialog, self._begun)

    def _begun(self, identity: str | None) -> None:
        if not identity:
            return
        screen = self._screen
        screen.table.marked.clear()
        operation = next((ref for ref in screen.runtime.store.of("Operation") if ref.uid == identity), None)
        if operation is not None:
            screen.app.push_screen(OperationScreen(screen.runtime, operation))
        screen.say(f"Operation {identity[:12]} runs; 3 shows all operations.", "busy")

    # -- the write locks

    def arm(self, name: str, minutes_wanted: float = 0) -> None:
        """Allow writes to a target for a while; raises ``Refused``."""
        screen = self._screen
        protected = any(item.protected for item in screen.connections() if item.ref.name == name)
        screen.runtime.commands.arming.arm(name, minutes_wanted, protected=protected)
        screen.refresh_frame()

    def _toggle_arm(self) -> None:
        name = self._screen.subjects[0].connection
        if self._screen.runtime.commands.arming.armed(name):
            self.read((name,))
        else:
            self.write((name,))

    def write(self, words: tuple[str, ...]) -> None:
        """``:write [target] [minutes]``."""
        screen = self._screen
        known = {item.ref.name for item in screen.connections()}
        names = [word for word in words if word in known]
        times = [word for word in words if word not in known]
        subjects = screen.subjects
        name = names[0] if names else screen.place.target or (subjects[0].connection if subjects else "")
        if name not in known:
            screen.say("Say which target: :write prod-eu 15m", "warn")
            return
        try:
            self.arm(name, minutes(times[0]) if times else 0)
        except ValueError:
            screen.say(f"{times[0]!r} is neither a target nor a time like 15m.", "warn")
        except QuarterdeckError as error:
            screen.say(error.sentence(), "bad")
        else:
            screen.say(f"{name} can be changed now. :read forbids it again.", "warn")

    def read(self, words: tuple[str, ...]) -> None:
        """``:read [target]``; without a name all targets."""
        screen = self._screen
        for name in words or tuple(item.ref.name for item in screen.connections()):
            screen.runtime.commands.arming.disarm(name)
        screen.refresh_frame()
        screen.say("Read-only again.")

    def running_names(self) -> list[str]:
        """The operations of this process in words, for the question before leaving."""
        store, names = self._screen.runtime.store, []
        for identity in self._screen.runtime.commands.running:
            found = next((item for ref, item in store.of("Operation").items() if ref.uid == identity), None)
            names.append(f"{found.verb} {found.target}" if isinstance(found, Operation) else identity[:12])
        return names
