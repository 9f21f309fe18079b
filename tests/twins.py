"""Both forms of what a kernel does, for the tests that compare them.

    COMPILED = compiled("scan_compiled")            None where it was not built
    pytestmark = needs_kernel("scan_compiled")      skips the tests of a module there
    use_form(patch, "pure", scan, "_scan", "scan_compiled")    in a fixture that tries each form

The names are those that ``storefmt.kernels.load`` was called with.
"""

from types import ModuleType
from typing import Any, Final

import pytest

from storefmt.kernels import forms

FORMS: Final = ("pure", "compiled")
NOT_BUILT: Final = "the kernel is not built: `make kernel`"


def compiled(name: str) -> Any:
    """Return the compiled form; None where it was not built."""
    return forms(name).get("compiled")


def needs_kernel(*names: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where one of the compiled forms was not built."""
    return pytest.mark.skipif(None in map(compiled, names), reason=NOT_BUILT)


def use_form(
    patch: pytest.MonkeyPatch, form: str, module: ModuleType, attribute: str, name: str
) -> None:
    """Let a module use one form, or skip the test where that was not built."""
    if form not in forms(name):
        pytest.skip(NOT_BUILT)
    patch.setattr(module, attribute, forms(name)[form])
