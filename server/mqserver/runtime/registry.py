"""The table of request codes and the functions that answer them.

A handler is a plain function in a module of a ``handlers`` package::

    @handles(RequestCode.GET_MAX_OFFSET)
    def get_max_offset(app: BrokerApp, request: Request) -> Command | None: ...

    @handles(RequestCode.SEND_MESSAGE_V2, raw=True)
    def send_v2(app: BrokerApp, conn: ServerConn, raw: RawFrame, now_ms: int) -> bool | None: ...

Rule: a code has at most one ordinary handler and at most one raw one. The raw handler gets the
undecoded frame first, before the gate; it checks itself whether the request is allowed, and sends
its own answer, or returns ``False`` to leave the frame to the gate and the ordinary handler.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_MARK = "__handles__"


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of one server: ``ordinary`` take a Request, ``raw`` a RawFrame."""

    ordinary: dict[int, Callable[..., object]]
    raw: dict[int, Callable[..., object]]

    def codes(self) -> set[int]:
        """Return every request code that has a handler."""
        return self.ordinary.keys() | self.raw.keys()


class DuplicateHandler(Exception):
    """Two functions claim one request code: a programming error, found at the start."""


def handles(*codes: int, raw: bool = False) -> Callable[[F], F]:
    """Mark a function as the handler of ``codes``; :func:`collect` finds it."""

    def mark(function: F) -> F:
        setattr(function, _MARK, (codes, raw))
        return function

    return mark


def collect(package: ModuleType) -> Handlers:
    """Import every module of ``package`` and return the handlers they define.

    Raises:
        DuplicateHandler: two functions claim one code.
    """
    handlers = Handlers({}, {})
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        _collect_module(importlib.import_module(module_info.name), handlers)
    return handlers


def _collect_module(module: ModuleType, handlers: Handlers) -> None:
    for function in list(vars(module).values()):
        mark = getattr(function, _MARK, None)
        # An imported handler belongs only to the module that defines it.
        if mark is None or function.__module__ != module.__name__:
            continue
        codes, raw = mark
        table = handlers.raw if raw else handlers.ordinary
        for code in codes:
            if code in table:
                raise DuplicateHandler(
                    f"request code {int(code)} has two handlers: {_name(table[code])} "
                    f"and {_name(function)}; keep one"
                )
            table[int(code)] = function


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{getattr(function, '__name__', function)}"
