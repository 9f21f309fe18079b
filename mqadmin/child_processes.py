"""Python programs that the toolkit starts as processes of their own.

Rule: the current folder is never searched for modules, in the process or in those that it starts
in turn (Spark's workers), because users work in folders with a ``logging.py`` or a ``server/`` of
their own.
"""

import os
import sys
from collections.abc import Mapping


def module_command(module: str, *words: str) -> list[str]:
    """Return the command that runs a module with these arguments; see ``module_environment``."""
    return [sys.executable, "-m", module, *words]


def module_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process and ``more``, with a safe path for modules."""
    return {**os.environ, **(more or {}), "PYTHONSAFEPATH": "1"}
