"""Check the times that pops and acknowledgements name, with the codes and texts of 5.4.0.

Rule: a time that a client names is bounded here, before anything adds to it. Java's long
overflows instead, and its message comes again at once.

Source: broker/processor/PopMessageProcessor.java, AckMessageProcessor.java (5.4.0).
"""

from typing import Final

from mqserver.runtime.request import RequestRefused
from remoting.codes import ResponseCode

TIME_MS_MAX: Final = 1 << 61
"""Largest time that is accepted, in ms: sums and differences of three fit in a long."""


def check_times(pop_time_ms: int, invisible_ms: int) -> None:
    """Refuse times of a pop that no clock shows.

    Args:
        pop_time_ms: when a message was popped, in ms since 1970.
        invisible_ms: how long it is hidden from then on; below 0 it comes again at once.

    Raises:
        RequestRefused: one of them is out of range.
    """
    if not 0 <= pop_time_ms <= TIME_MS_MAX or not -TIME_MS_MAX <= invisible_ms <= TIME_MS_MAX:
        text = (
            f"a message popped at {pop_time_ms} ms cannot be hidden for {invisible_ms} ms; "
            f"the largest time is {TIME_MS_MAX} ms"
        )
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)
