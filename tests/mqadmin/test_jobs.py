"""The number of processes that a command may use."""

import pytest

from mqadmin.errors import Usage
from mqadmin.jobs import jobs_of


@pytest.mark.parametrize("number", [None, 1, 2, 64])
def test_one_and_more_are_taken(number: int | None) -> None:
    assert jobs_of(number) == number


@pytest.mark.parametrize("number", [0, -1])
def test_less_than_one_is_refused(number: int) -> None:
    with pytest.raises(Usage, match="at least 1"):
        jobs_of(number)
