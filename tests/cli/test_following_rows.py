"""What ``get --watch`` tells when the rows are ahead of the news about them."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

from console.cli.command import Outside
from console.cli.compose import Opened
from console.cli.listing import Listing
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS
from console.config.fleet import Fleet
from console.config.settings import Settings
from console.model.health import Health
from console.model.kubernetes import Pod
from console.model.refs import Ref
from console.model.resource import Removed, Upserted
from console.runtime.runtime import Runtime
from console.views import tables


async def test_a_row_that_goes_while_another_change_is_told_is_told_as_gone(tmp_path: Path) -> None:
    runtime = Runtime(Settings(), Fleet(), ())
    stays, goes = (Pod(ref=Ref("atlas", "Pod", "shop", name), health=Health.OK) for name in ("cart", "web"))
    for pod in (stays, goes):
        runtime.store.apply(Upserted(pod))
    out = io.StringIO()
    options = parse(build_parser(COMMANDS), ["get", "pods", "--watch", "-o", "json"])
    listing = Listing(tables.TABLES["pods"], options, Outside(env={}, out=out, err=io.StringIO()))
    at = Opened(runtime=runtime, settings=Settings(), fleet=Fleet(), targets=(), state=tmp_path)
    watching = asyncio.create_task(listing._follow(at, ("atlas",)))
    try:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        runtime.store.apply(Upserted(Pod(ref=stays.ref, health=Health.BAD)))
        # The bell has rung by the next turn; what watches wakes in the one after it.
        await asyncio.sleep(0)
        runtime.store.apply(Removed(goes.ref))
        for _ in range(5):
            await asyncio.sleep(0)
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {(entry["event"], entry["item"]["ref"]["name"]) for entry in told} == {("changed", "cart"), ("gone", "web")}
