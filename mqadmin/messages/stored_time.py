"""When messages were stored, as ``--from`` and ``--to`` ask for it.

    When | None  --bound_ms-->  epoch ms, None for an open end

Rule: both ends of a range of times belong to it.
"""

from typing import Final

from mqadmin.output.times import When

START_OF_TIME: Final = When("0")
END_OF_TIME: Final = When("9999-12-31T23:59:59Z")


def bound_ms(when: When | None, now_ms: int) -> int | None:
    """Return the epoch ms of one end of a range of times; None for an open end.

    Raises:
        ValueError: the text is no time.
    """
    return None if when is None else when.ms(now_ms)
