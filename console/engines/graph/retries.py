"""Trying again: which errors are worth it, and how long to wait. Counting and waiting is done by tenacity.

Defaults are those of the well-known exponential back-off: first 0.5 s, factor 1.5, jitter of half either way, at most 60 s, and
giving up after 15 minutes. Elapsed time is the event loop's, so virtual time in tests takes none.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from tenacity import RetryCallState, retry_if_exception
from tenacity.asyncio import AsyncRetrying
from tenacity.wait import wait_exponential

from console.engines.graph.errors import GateClosed, PermanentError, Retryable
from console.errors import Conflict, Forbidden, IdentityChanged, Invalid, LoginExpired, NotFound, NotServed, Refused

T = TypeVar("T")

_FINAL_STATUS: Final = frozenset({400, 401, 403, 409, 422})
_FINAL_TYPES: Final = (
    PermanentError,
    GateClosed,
    ValueError,
    TypeError,
    NotImplementedError,
    RecursionError,
    AttributeError,
    LookupError,
    NameError,
    AssertionError,
    ArithmeticError,
    ImportError,
    PermissionError,
    LoginExpired,
    Forbidden,
    Invalid,
    Conflict,
    NotFound,
    NotServed,
    Refused,
    IdentityChanged,
)


def is_permanent(error: BaseException) -> bool:
    """Whether trying again is of no use.

    ``Retryable`` overrules everything. Validation and programming errors, missing authority and refusing HTTP statuses are
    permanent; lost connections, timeouts, 429, 5xx and what nobody knows are not. A 404 counts as refusal too: where it means
    "gone" to a delete, it never gets here.
    """
    if isinstance(error, Retryable):
        return False
    if not isinstance(error, Exception) or isinstance(error, _FINAL_TYPES):
        return True
    status = status_of(error)
    return status in _FINAL_STATUS or status == 404


def status_of(error: BaseException) -> int:
    """The HTTP status that the error carries, 0 if none. Read by shape: the engine knows no wire."""
    for name in ("status", "status_code"):
        value = getattr(error, name, 0)
        if isinstance(value, int) and value:
            return value
    return 0


def least_wait(error: BaseException | None) -> float:
    """Seconds that the other side asked us to wait (Retry-After), 0 if it did not."""
    value: Any = error.after if isinstance(error, Retryable) else getattr(error, "retry_after", 0)
    return float(value) if isinstance(value, int | float) else 0.0


def cause_of(error: BaseException) -> BaseException:
    """What to report: the cause that a provider wrapped, or the error itself."""
    return error.cause if isinstance(error, PermanentError | Retryable) else error


class Pauses(Protocol):
    """The waits of one operation, and their end. A factory makes one for each operation, so no state is shared."""

    def wait(self, attempt: RetryCallState, /) -> float:
        """Seconds to wait after this attempt."""
        ...

    def stop(self, attempt: RetryCallState, /) -> bool:
        """Whether to give up; ``attempt.upcoming_sleep`` is the wait that would follow."""
        ...


BackoffFactory = Callable[[], Pauses]


class Backoff:
    """Exponential waits. :meth:`interactive` gives up sooner, for runs that a person watches.

    :param give_up: seconds from the first attempt after which no further one begins.
    """

    def __init__(
        self,
        first: float = 0.5,
        factor: float = 1.5,
        jitter: float = 0.5,
        longest: float = 60.0,
        give_up: float = 900.0,
        rng: random.Random | None = None,
    ) -> None:
        self._wait = wait_exponential(multiplier=first, exp_base=factor, max=longest)
        self._jitter = jitter
        self._give_up = give_up
        self._uniform = rng.uniform if rng is not None else random.uniform
        self._began = asyncio.get_running_loop().time()

    @classmethod
    def interactive(cls) -> Backoff:
        """The same waits, but giving up after two minutes."""
        return cls(give_up=120.0)

    def wait(self, attempt: RetryCallState, /) -> float:
        """Seconds to wait after this attempt, at least what the other side asked for."""
        pause = self._wait(attempt) * (1 + self._uniform(-self._jitter, self._jitter))
        error = attempt.outcome.exception() if attempt.outcome else None
        return max(pause, least_wait(error))

    def stop(self, attempt: RetryCallState, /) -> bool:
        """Whether the allowance would be used up before the next attempt."""
        elapsed = asyncio.get_running_loop().time() - self._began
        return elapsed + attempt.upcoming_sleep > self._give_up


async def attempt(
    operation: Callable[[], Awaitable[T]],
    *,
    pauses: Pauses,
    sleep: Callable[[float], Awaitable[None]],
    on_retry: Callable[[int, float, BaseException], None],
) -> T:
    """Run an operation until it succeeds, fails for good, or the allowance is used up; then its last error is raised.

    ``on_retry(number, pause, error)`` is told of each failed
    try that will be followed by one. Cancellation passes straight through.
    """

    # tenacity awaits only what it can see to be a coroutine function, and a lambda that returns an awaitable is none.
    async def once() -> T:
        return await operation()

    def before_sleep(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            on_retry(state.attempt_number, state.upcoming_sleep, error)

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: not is_permanent(error)),
        wait=pauses.wait,
        stop=pauses.stop,
        sleep=sleep,
        before_sleep=before_sleep,
        reraise=True,
    )
    return await retrying(once)
