"""Compiled kernels: optional, each beside the plain Python whose results it must give.

    scan.py ── scans() ──> {"pure": …, "compiled": …} ── chosen ──> the one that is used

Rule: a kernel exists only where it was built (``make kernel``). Its module is only imported by the
function that lists the implementations, so that everything works without it; tests run both.
"""

import os
from collections.abc import Mapping
from typing import Final, TypeVar

PURE: Final = "MQ_PURE"
"""Environment variable: when set, nothing that is compiled is used; servers do without uvloop."""

KernelT = TypeVar("KernelT")


def chosen(kernels: Mapping[str, KernelT]) -> KernelT:
    """Return the compiled implementation if it exists and is allowed, else the pure one."""
    pure = kernels["pure"]
    return pure if os.environ.get(PURE) else kernels.get("compiled", pure)
