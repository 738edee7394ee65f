from __future__ import annotations

from pathlib import Path

from console.config import paths


def test_variables_name_other_folders() -> None:
    env = {"QUARTERDECK_CONFIG_DIR": "/srv/conf", "QUARTERDECK_STATE_DIR": "/srv/state"}
    assert paths.settings_file(env) == Path("/srv/conf/config.toml")
    assert paths.fleet_file(env) == Path("/srv/conf/fleet.yaml")
    assert paths.themes_dir(env) == Path("/srv/conf/themes")
    assert paths.state_dir(env) == Path("/srv/state")


def test_the_platforms_usual_places_carry_the_name() -> None:
    assert paths.config_dir({}).name == "quarterdeck"
    assert paths.state_dir({"QUARTERDECK_STATE_DIR": ""}).name == "quarterdeck"
