"""The kernels touch only their own memory, whatever bytes they are given."""

import pytest

from tests.fuzz.sanitize import libraries, sanitize
from tests.programs import absent


@pytest.mark.timeout(900)
def test_tests_of_the_kernels_pass_under_the_sanitizers() -> None:
    if not libraries():
        absent("gcc has no AddressSanitizer or UBSan here")

    code, output, faults = sanitize()

    assert faults == []
    assert code == 0, output[-5_000:]
