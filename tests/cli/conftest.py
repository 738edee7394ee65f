"""A demo fleet whose world stands still, as a user's own configuration would name it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest_asyncio

from console.demo.fleet import DemoFleet
from tests.cli.running import Ran, awaited, isolated


class Fleet(NamedTuple):
    """The fleet, and the environment in which it is found."""

    demo: DemoFleet
    env: dict[str, str]

    async def quarterdeck(self, *arguments: str, terminal: bool = False) -> Ran:
        """Run a command line that finds this fleet."""
        return await awaited(*arguments, env=self.env, terminal=terminal)


@pytest_asyncio.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with DemoFleet(speed=0) as demo:
        env = isolated(tmp_path, **demo.write_config(tmp_path / "found"))
        del env["DOCKER_HOST"]
        yield Fleet(demo, env)
