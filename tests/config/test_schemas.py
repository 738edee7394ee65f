from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from console.config.schema import FILES, schema, schema_text
from tests.config.test_fleet import GOOD

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", list(FILES))
def test_the_committed_schema_is_what_the_types_say(name: str) -> None:
    assert (SCHEMAS / name).read_text(encoding="utf-8") == schema_text(FILES[name])


@pytest.mark.parametrize("name", list(FILES))
def test_the_schema_is_valid_and_every_property_is_described(name: str) -> None:
    made = schema(FILES[name])
    jsonschema.Draft202012Validator.check_schema(made)
    for part in made["$defs"].values():
        for key, described in part["properties"].items():
            assert described.get("description"), key


def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


def test_the_schema_takes_what_the_loader_takes_and_refuses_unknown_keys() -> None:
    fleet = validator("fleet.schema.json")
    assert fleet.is_valid(yaml.safe_load(GOOD))
    assert not fleet.is_valid({"conections": []})
    config = validator("config.schema.json")
    assert config.is_valid(tomllib.loads('[look]\ntheme = "paper"\n'))
    assert not config.is_valid({"look": {"them": "paper"}})
