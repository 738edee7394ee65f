"""Where the console's own files are. Nothing is created here: whoever writes makes its folder.

The platform's usual places (``~/.config/quarterdeck`` and ``~/.local/state/quarterdeck`` on Linux) unless
``QUARTERDECK_CONFIG_DIR`` or ``QUARTERDECK_STATE_DIR`` name others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

CONFIG_VARIABLE = "QUARTERDECK_CONFIG_DIR"
STATE_VARIABLE = "QUARTERDECK_STATE_DIR"
_NAME = "quarterdeck"


def config_dir(env: Mapping[str, str]) -> Path:
    """The folder of ``config.toml``, ``fleet.yaml`` and ``themes/``, which people write and keep in Git."""
    given = env.get(CONFIG_VARIABLE, "")
    return Path(given).expanduser() if given else platformdirs.user_config_path(_NAME)


def state_dir(env: Mapping[str, str]) -> Path:
    """The folder of the journal and of what the console remembers by itself; not for people to edit."""
    given = env.get(STATE_VARIABLE, "")
    return Path(given).expanduser() if given else platformdirs.user_state_path(_NAME)


def settings_file(env: Mapping[str, str]) -> Path:
    """``config.toml``; it need not exist."""
    return config_dir(env) / "config.toml"


def fleet_file(env: Mapping[str, str]) -> Path:
    """``fleet.yaml``; it need not exist."""
    return config_dir(env) / "fleet.yaml"


def themes_dir(env: Mapping[str, str]) -> Path:
    """The folder of the user's own themes; it need not exist."""
    return config_dir(env) / "themes"
