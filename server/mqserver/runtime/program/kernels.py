"""Says which compiled kernels this process uses.

Rule: a module whose name ends with ``_kernel`` is a kernel, and is imported where it is used and
nowhere else (see ``storefmt.formats.kernels``), so what was imported is what is in use.
"""

import os
import sys
from typing import Final

from storefmt.formats.kernels import PURE

NOT_BUILT: Final = (
    "none (not built: a pure wheel, or an installation without Cython or a C compiler)"
)
_PACKAGES: Final = ("remoting", "mqserver", "storefmt")
_SUFFIX: Final = "_kernel"


def kernels_in_use() -> str:
    """Return the names of the kernels in one line, or why there are none."""
    if os.environ.get(PURE):
        return f"none (left out by {PURE})"
    names = sorted(
        name.rpartition(".")[2].removesuffix(_SUFFIX)
        for name in sys.modules
        if name.startswith(_PACKAGES) and name.endswith(_SUFFIX)
    )
    return ", ".join(names) or NOT_BUILT
