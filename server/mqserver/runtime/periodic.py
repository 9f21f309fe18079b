"""Periodic work of a server: each service is one task with a name and an interval.

    every(50, action, name=…)   action(now_ms) ── None ──> runs again in 50 ms
                                     └─ True: there is more to do ──> runs again on the next pass of
                                        the loop, after the requests that wait; so does ``wake()``

A class with periodic work declares it in a method ``schedule(services)``, which calls ``every``.

Rule: if a run raises, the error is logged and the service runs again after its interval. The same
error again is logged once a minute, since a disk that stays full must not fill the log as well. The
interval lasts from the end of one run to the start of the next, so slow runs never pile up. Nothing
runs after ``stop``.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mqserver.runtime.clock import Clock

LOG = logging.getLogger(__name__)

REPEAT_MS: Final = 60_000
"""How long the same error of a service is not logged again."""

Action = Callable[[int], Awaitable[None] | bool | None]
"""The work of a service; its argument is ``now_ms``. True means that there is more to do."""
Wake = Callable[[], None]
"""Lets a service run on the next pass of the loop; does nothing before the start and after the
end of the services."""


@dataclass(slots=True)
class _Service:
    name: str
    interval_ms: Callable[[], int]
    set_ms: int
    """The interval when it was last read."""
    wait_ms: int
    """How long the service waits for its next run."""
    action: Action
    is_running: bool = False
    is_woken: bool = False
    """Whether it runs on the next pass of the loop."""
    error: str = ""
    """The error of the last run; empty if it had none."""
    logged_ms: int = 0
    """When that error was logged."""


class Services:
    """Starts and stops all periodic work of one server.

    Args:
        clock: provides the ``now_ms`` of each action.
        sleep: waits for the given number of seconds; tests pass their own.
    """

    def __init__(
        self, clock: Clock, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._services: list[_Service] = []
        self._tasks: list[asyncio.Task[None]] = []

    def every(
        self,
        interval_ms: int | Callable[[], int],
        action: Action,
        *,
        name: str,
        first_ms: int | None = None,
    ) -> Wake:
        """Run ``action(now_ms)`` every ``interval_ms``, the first time after ``first_ms``.

        Args:
            interval_ms: the interval, or a function that is called for it before each wait if
                a setting may change it.
            action: the work of the service.
            name: the name of its task, which is logged with errors.
            first_ms: wait before the first run; None for one interval.

        Returns:
            A function that lets an action that is not a coroutine run soon.
        """
        interval = interval_ms if callable(interval_ms) else lambda: interval_ms
        set_ms = interval()
        wait_ms = set_ms if first_ms is None else first_ms
        service = _Service(name, interval, set_ms, wait_ms, action)
        self._services.append(service)
        return lambda: self._wake(service)

    def start(self) -> None:
        """Start every service; call it in a running event loop."""
        self._tasks = [self._begin(service) for service in self._services]

    def intervals_changed(self) -> None:
        """Restart the wait of each idle service whose interval has changed."""
        for index, (service, task) in enumerate(zip(self._services, self._tasks, strict=False)):
            interval_ms = service.interval_ms()
            if not service.is_running and service.set_ms != interval_ms:
                service.set_ms = service.wait_ms = interval_ms
                task.cancel()
                self._tasks[index] = self._begin(service)

    def _begin(self, service: _Service) -> asyncio.Task[None]:
        return asyncio.create_task(self._run_service(service), name=service.name)

    async def stop(self) -> None:
        """Cancel every service and wait until each has ended."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run_service(self, service: _Service) -> None:
        while True:
            await self._sleep(service.wait_ms / 1000)
            service.is_running = True
            try:
                outcome = service.action(self._clock.now_ms())
                if outcome is True:
                    self._wake(service)
                elif isinstance(outcome, Awaitable):
                    await outcome
            except Exception as error:
                self._log(service, error)
            else:
                service.error = ""
            finally:
                service.is_running = False
            service.set_ms = service.wait_ms = service.interval_ms()

    def _wake(self, service: _Service) -> None:
        """Let a service run once on the next pass of the loop, however often it is woken."""
        if self._tasks and not service.is_woken:
            service.is_woken = True
            asyncio.get_running_loop().call_soon(self._go_on, service)

    def _go_on(self, service: _Service) -> None:
        service.is_woken = False
        if not self._tasks:
            return
        try:
            if service.action(self._clock.now_ms()) is True:
                self._wake(service)
        except Exception as error:
            self._log(service, error)
        else:
            service.error = ""

    def _log(self, service: _Service, error: Exception) -> None:
        """Log the error of a run, unless it is the one that was logged a moment ago."""
        text, now_ms = repr(error), self._clock.now_ms()
        if text != service.error or not 0 <= now_ms - service.logged_ms < REPEAT_MS:
            service.error, service.logged_ms = text, now_ms
            LOG.error(
                "service %s; it runs again in %d ms", service.name, service.wait_ms, exc_info=error
            )
