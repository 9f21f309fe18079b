"""The kernels touch only their own memory, whatever bytes they are given."""

import math
import sys

import pytest

from tests import soak
from tests.fuzz.sanitize import TARGETS, fuzz, libraries, sanitize
from tests.programs import absent


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_tests_of_the_kernels_pass_under_the_sanitizers() -> None:
    if not libraries():
        absent("gcc has no AddressSanitizer or UBSan here")

    code, output, faults = sanitize()

    assert faults == []
    assert code == 0, output[-5_000:]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_fuzzer_finds_nothing_under_the_sanitizers() -> None:
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine")
    if not libraries():
        absent("gcc has no AddressSanitizer or UBSan here")

    code, output, faults = fuzz(math.ceil(soak.seconds(10) / len(TARGETS)))

    sys.stdout.write(output)
    assert faults == []
    assert code == 0
