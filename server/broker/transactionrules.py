"""What a round of checks does with a half message that nobody decided: the rules alone.

Rule: by what the message says and by its age, nothing else.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java#check, #needDiscard,
#needSkip, #getImmunityTime (4.9.7).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from server.broker.transaction import Event, check_times
from storefmt.formats.message import Record
from storefmt.formats.properties import CHECK_IMMUNITY_TIME_IN_SECONDS, TRANSACTION_CHECK_TIMES

HOUR_MS: Final = 3_600_000
_FOR_EVER_MS: Final = (1 << 63) - 1


class CheckRules(NamedTuple):
    """How long a producer has, and how often it is asked."""

    timeout_ms: int
    count_max: int
    reserved_ms: int
    """Age at which the log deletes a message."""
    retention_ms: int = _FOR_EVER_MS
    """The clock by which the log does that; it does not jump."""


def judge(record: Record, named: Mapping[str, str], *, rules: CheckRules, now_ms: int) -> Event:
    """Return what a round does with a half message that nobody decided.

    NOT_KNOWN means that it is too young to ask.
    """
    if is_asked_enough(named, rules):
        return Event.GIVE_UP
    age_ms = now_ms - record.born_ms
    if min(now_ms, rules.retention_ms) - record.born_ms > rules.reserved_ms:
        return Event.GIVE_UP
    immunity = named.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
    if immunity is not None:
        return Event.SPARE if age_ms < _immunity_ms(immunity, rules) else Event.ASK
    # Born in the future: some clock is wrong, so the age says nothing, and asking helps.
    return Event.NOT_KNOWN if 0 <= age_ms < rules.timeout_ms else Event.ASK


def is_asked_enough(named: Mapping[str, str], rules: CheckRules) -> bool:
    """Tell whether a producer was asked as often as it may be."""
    return TRANSACTION_CHECK_TIMES in named and check_times(named) >= rules.count_max


def _immunity_ms(text: str, rules: CheckRules) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18 or text == "-1":
        return rules.timeout_ms
    return int(text) * 1_000
