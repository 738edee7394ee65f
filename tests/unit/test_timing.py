"""Pauses grow and are cut short, clocks move with the loop."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from console.kit.timing import LoopClock, Wakeable, backoff


def test_pauses_grow_to_a_limit_and_never_meet() -> None:
    pauses = list(islice(backoff(1, most=8, jitter=0), 6))
    assert pauses == [1, 2, 4, 8, 8, 8]
    moved = list(islice(backoff(1, most=8, rng=random.Random(1)), 50))
    assert all(6.4 <= pause <= 9.6 for pause in moved[3:])
    assert len(set(moved[3:])) > 40


@pytest.mark.looptime
async def test_a_loop_clock_moves_exactly_with_the_loop() -> None:
    clock = LoopClock(datetime(2026, 1, 1, tzinfo=UTC))
    start = clock.now()
    await asyncio.sleep(90)
    assert clock.now() - start == timedelta(seconds=90)


@pytest.mark.looptime
async def test_a_sleep_ends_early_when_woken_and_says_so() -> None:
    sleeper = Wakeable()
    loop = asyncio.get_running_loop()
    loop.call_later(5, sleeper.wake)
    began = loop.time()
    assert await sleeper.sleep(60) is True
    assert loop.time() - began == pytest.approx(5)
    assert await sleeper.sleep(60) is False


async def test_waking_before_the_sleep_is_remembered_once() -> None:
    sleeper = Wakeable()
    sleeper.wake()
    assert await sleeper.sleep(60) is True
    assert await sleeper.sleep(0) is False
