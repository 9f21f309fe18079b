"""Names of RocketMQ's versions for the numbers that clients and brokers send.

    407 = V4_9_7    406 = V4_9_7_SNAPSHOT    405 = V4_9_6    ...

Rule: each release has two numbers, digits run from 0 to 9, without a gap since 3.9.1; an older
number stays a number.

Source: common/MQVersion.java (4.9.7).
"""

from typing import Final

FIRST: Final = 194
"""V3_9_1_SNAPSHOT, from which on the numbers are consecutive."""
LAST: Final = 611
"""V5_9_9; larger numbers are HIGHER_VERSION."""
BEFORE: Final = 588
"""The offset of number 0 in a consecutive count from V0_0_0_SNAPSHOT."""


def version_name(number: int) -> str:
    """Return ``V4_9_7`` for 407; the number as text if it is too old."""
    if number > LAST:
        return "HIGHER_VERSION"
    if number < FIRST:
        return str(number)
    digits, is_release = divmod(number + BEFORE, 2)
    major, rest = divmod(digits, 100)
    minor, patch = divmod(rest, 10)
    return f"V{major}_{minor}_{patch}" + ("" if is_release else "_SNAPSHOT")
