"""What an operator presses to drive an applier: from the row in the list to the end of the operation.

Each function starts on the list and leaves it there, but for those that say otherwise.
"""

from __future__ import annotations

from functools import partial

from console.ui.screens.plan import GRACE
from tests.e2e.dispatch_fleet import App, Shop
from tests.e2e.terminal import Screen

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
    """Open the apply dialog and choose a commit and a reason, where they are not the ones proposed."""
    screen.press("A").wait_for("Apply a commit:", "Reason", "show the plan")
    if commit:
        _move_to(screen, f"▌ {commit[:7]}")
    if reason:
        # The list of commits has the focus first, then a field for the hash of another one where that is asked for.
        screen.press("tab")
        _move_to(screen, f"▌ {reason}")


def _move_to(screen: Screen, chosen: str) -> None:
    def marked(now: Screen) -> list[str]:
        return [line for line in now.text.splitlines() if "▌" in line]

    def moved(before: list[str], now: Screen) -> bool:
        return marked(now) != before

    for _ in range(20):
        if chosen in screen.text:
            return
        before = marked(screen)
        screen.press("down").wait_for(partial(moved, before))
    raise AssertionError(f"{chosen} can't be chosen\n{screen.text}")


def apply_by_keys(screen: Screen, *seen: str, commit: str = "", reason: str = "") -> None:
    """Ask for an apply, having read these words in its plan; leaves the operation's screen."""
    ask_for(screen, commit, reason)
    screen.press("enter")
    see_plan(screen, "Apply", *seen)
    run_plan(screen)


def hold_by_keys(screen: Screen, why: str, until: str = "") -> None:
    """Hold the Kustomization with a reason and, maybe, for a time."""
    screen.press("H").wait_for("Hold / release:", "Suspend").press("enter")
    screen.wait_for("Why (for the journal and for the others)").type(why)
    screen.press(*until).press("enter")
    see_plan(screen, "Nothing is reconciled but what this console applies", why)
    run_plan(screen)
    close(screen, "hold", "succeeded")


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
