"""A console whose process is stopped and goes on, as a shell's job control or a debugger does it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.running import isolated
from tests.e2e.terminal import Screen


@pytest.mark.parametrize("times", [1, 5])
def test_after_being_stopped_it_goes_on_and_leaves_a_clean_terminal(times: int, tmp_path: Path) -> None:
    with Screen(isolated(tmp_path)) as screen:
        screen.wait_for("Bridge", "? help")
        for _ in range(times):
            screen.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, screen.process.pid, os.WSTOPPED)
            screen.process.send_signal(signal.SIGCONT)
            # What is typed while the terminal is taken again is dropped.
            screen.press_until("3", "operations ›").press_until("1", "bridge ›")
        assert screen.press("ctrl+c").ended() == 0
        assert screen.restored()
