"""What an operator presses to drive an applier: from the row in the list to the end of the operation.

Each function starts on the list and leaves it there, but for those that say otherwise.
"""

from __future__ import annotations

import re

from console.ui.screens.plan import GRACE
from tests.e2e.dispatch_fleet import App, Shop
from tests.e2e.terminal import Screen

REASONS = ("CatchUp", "ForeignCommit", "Refusal", "Repair")
"""As the dialog lists them; the first is proposed."""
ENDED = "Esc close"
"""The keys of an operation's screen, while it runs and after."""


def open_on(screen: Screen, applier: Shop | App) -> None:
    """The list with the applier's row under the cursor, its target live and armed."""
    name = applier.path.rpartition("/")[2]
    screen.wait_for("● 1 live", lambda now: now.line(name))
    if isinstance(applier, App):
        # Applications of others are in the same namespace.
        screen.prompt("/", name).wait_for(lambda now: now.line("▌", name))
    screen.press("W").wait_for(f"ARMED {applier.connection}")


def see_plan(screen: Screen, *seen: str) -> None:
    """Wait for a plan that can be run, with these words in it."""
    screen.wait_for("y runs this plan", *seen)


def run_plan(screen: Screen) -> None:
    """Run the plan on the screen; leaves the operation's screen."""
    # A plan takes no key in its first moments: what was typed before it came was not meant for it.
    screen.let_pass(GRACE + 0.1).press("y").wait_for(ENDED)


def ask_for(screen: Screen, commit: str = "", reason: str = "") -> None:
    """Open the apply dialog and choose a commit (or "another") and a reason, where they are not the ones proposed."""
    screen.press("A").wait_for("Apply a commit:", "Reason", "show the plan")
    if commit:
        offered = re.findall(r"│  (▌ |  )([0-9a-f]{7}|another)  ", screen.text)
        names = [name for _, name in offered]
        down = names.index(commit[:7]) - next(index for index, (mark, _) in enumerate(offered) if "▌" in mark)
        screen.press(*["down" if down > 0 else "up"] * abs(down)).wait_for(f"▌ {commit[:7]}")
    if reason:
        screen.press("tab", *["down"] * REASONS.index(reason)).wait_for(f"▌ {reason}")


def confirm_by_name(screen: Screen, name: str, *seen: str) -> None:
    """Run a plan for a protected target, having read these words in it; leaves the operation's screen."""
    screen.wait_for(f"Tab, then type {name} to confirm", *seen).let_pass(GRACE + 0.1)
    screen.press("y").wait_for(f"Tab, then type {name} to confirm").press("tab", *name, "enter").wait_for(ENDED)


def apply_by_keys(screen: Screen, *seen: str, commit: str = "", reason: str = "") -> None:
    """Ask for an apply, having read these words in its plan; leaves the operation's screen."""
    ask_for(screen, commit, reason)
    screen.press("enter")
    see_plan(screen, "Apply", *seen)
    run_plan(screen)


def hold_by_keys(screen: Screen, why: str, until: str = "") -> None:
    """Hold the Kustomization with a reason and, maybe, for a time."""
    screen.press("H").wait_for("Hold / release:", "Suspend").press("enter")
    answer_hold(screen, why, until)


def answer_hold(screen: Screen, why: str, until: str = "") -> None:
    """Answer the questions before a hold, and run its plan."""
    screen.wait_for("Why (for the journal and for the others)").press(*why).wait_for(why)
    if until:
        screen.press("tab", *until).wait_for(until)
    screen.press("enter")
    see_plan(screen, "Nothing is reconciled but what this console applies", why)
    run_plan(screen)
    close(screen, "hold", "succeeded")


def choose(screen: Screen, words: str) -> None:
    """Choose from the menu of everything that can be done."""
    screen.press("a").wait_for("What to do:", words)
    rows = screen.text.splitlines()
    first = next(number for number, row in enumerate(rows) if "What to do:" in row) + 2
    wanted = next(number for number, row in enumerate(rows) if words in row)
    screen.press(*["down"] * (wanted - first), "enter")


def release_by_keys(screen: Screen, *seen: str) -> None:
    """Hand the Kustomization back, having read these words in the plan."""
    screen.press("H").wait_for("Hold / release:", "Release the hold").press("enter")
    see_plan(screen, "Release", *seen)
    run_plan(screen)
    close(screen, "release", "succeeded")


def close(screen: Screen, *headline: str) -> None:
    """Wait until the operation's headline has these words, and go back to the list."""
    screen.wait_for(ENDED, lambda now: now.line(*headline)).press("escape").wait_for(absent=ENDED)


def refused_by_keys(screen: Screen, *words: str) -> None:
    """Ask for an apply, read these words instead of a plan, also after Enter, and go back to the list."""
    screen.press("A").wait_for("Apply a commit:", "■", *words)
    screen.press("enter").wait_for("Nothing can be applied now.", *words)
    screen.press("escape").wait_for(absent="Apply a commit:")


def describe(screen: Screen, *words: str) -> None:
    """Read these words in the object's description, and go back to the list."""
    screen.press("d").wait_for("Describe   YAML", *words).press("escape").wait_for(absent="Describe   YAML")
