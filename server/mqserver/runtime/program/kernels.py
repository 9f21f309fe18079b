"""Says which compiled kernels this process uses: those that were imported (``load`` does that)."""

import os
import sys
from typing import Final

from storefmt.kernels import KERNELS, PURE

NOT_BUILT: Final = (
    "none (not built: a pure wheel, or an installation without Cython or a C compiler)"
)


def kernels_in_use() -> str:
    """Return the names of the kernels in one line, or why there are none."""
    if os.environ.get(PURE):
        return f"none (left out by {PURE})"
    names = sorted(
        module.rpartition(".")[2].removesuffix("_kernel")
        for module in KERNELS
        if module in sys.modules
    )
    return ", ".join(names) or NOT_BUILT
