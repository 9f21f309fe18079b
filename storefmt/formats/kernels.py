"""Compiled kernels: optional, each beside the plain Python whose results it must give.

    scan.py ── scans() ──> {"pure": …, "compiled": …} ── chosen ──> the one that is used

Rule: a kernel is there only where it was built (``make kernel``). Its module is imported where
the ways are named and nowhere else, so that everything works without it; tests run both.
"""

import os
from collections.abc import Mapping
from typing import Final, TypeVar

PURE: Final = "MQ_PURE"
"""Environment variable: when set, nothing that is compiled is used; servers do without uvloop."""

WayT = TypeVar("WayT")


def chosen(ways: Mapping[str, WayT]) -> WayT:
    """Return the compiled way if it is there and allowed, else the pure one."""
    pure = ways["pure"]
    return pure if os.environ.get(PURE) else ways.get("compiled", pure)
