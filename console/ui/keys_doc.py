"""Makes ``docs/keys.md`` from the registry: ``python -m console.ui.keys_doc > docs/keys.md``. A test compares the two."""

from __future__ import annotations

import sys

from console.ui.actions import GROUPS, Registry, show_key
from console.ui.catalogue import ACTIONS

_HEAD = """# Keys

Lower case reads; upper case opens a plan, which shows what would be done before anything is. No key writes by itself.
Every key can be changed: put the action's id and its keys under `[keys]` in the settings (`"change.undo" = "ctrl+u"`), or
an empty text to take the key away. Two actions on one key are reported at start.
"""


def keys_markdown() -> str:
    """The whole document."""
    registry = Registry(ACTIONS)
    parts = [_HEAD]
    for group in GROUPS:
        parts.append(f"\n## {group}\n\n| key | action | what it does | id |\n| --- | --- | --- | --- |\n")
        for action in registry.all():
            if action.group == group:
                keys = " ".join(f"`{show_key(key)}`" for key in action.keys)
                parts.append(f"| {keys} | {action.title} | {action.description} | `{action.id}` |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(keys_markdown())
