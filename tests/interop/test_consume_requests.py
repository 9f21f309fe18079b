"""What consumers and transactional producers ask, of the real broker and of ours."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.interop.consumecalls import CALLS
from tests.interop.kit.bothsides import MISSING, Answers, Different, answered, surprises
from tests.interop.kit.servers import JavaSide, OurSide

NOT_SANE = "a negative position is never stored, a negative count is one; Java stores or fails"

DIFFERENT: Final[Different] = {
    "pull: less than none": ("code remark ext body", NOT_SANE),
    "pull: no suspension time": ("code remark ext body", MISSING),
    "pull: no version": ("code remark ext body", MISSING),
    "position: after pulls that commit": ("ext", NOT_SANE),
    "position: no group": ("code remark ext", MISSING),
    "move: no group": ("code remark", MISSING),
}


@pytest.fixture(scope="module")
def answers(
    java_side: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Answers]:
    """Yield what each side answers to every call."""
    with answered(
        java_side, our_side, tmp_path_factory, CALLS, settings={"slaveReadEnable": "true"}
    ) as found:
        yield found


@pytest.mark.parametrize("name", CALLS)
def test_request_is_answered_as_by_the_real_broker(answers: Answers, name: str) -> None:
    assert surprises(answers, name, DIFFERENT) == {}
