"""Times as people and RocketMQ's tools write them.

    now  -1h  +30m  -2d12h            relative to now (ms s m h d w)
    2h ago  90 minutes ago            the same in words
    1700000000000                     epoch ms
    2026-11-21T10:00:00Z              ISO 8601; without zone: local time
    2026-11-21 10:00  2026-11-21
    today  yesterday 10:00  10:30     local time
    2026-11-21#10:00:00:000           RocketMQ's mqadmin
    20261121100000                    RocketMQ's yyyyMMddHHmmss

Rule: pure; ``now_ms`` is an argument. A time without zone is local, as the person who types it
means it; printed times are always UTC with ``Z``.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

RELATIVE: Final = re.compile(r"([+-])((?:[0-9]+(?:ms|[smhdw]))+)")
AGO: Final = " ago"
UNIT_WORDS: Final = re.compile(r" *\b(week|day|hour|minute|min|second|sec)s?\b *")
LETTER_OF: Final = {"min": "m", "minute": "m"}
STEP: Final = re.compile(r"([0-9]+)(ms|[smhdw])")
MS_OF: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MS_MAX: Final = 253_402_300_799_999
"""The last ms of the year 9999; also keeps arithmetic within a signed 64-bit number."""
STEP_MS_MAX: Final = MS_MAX // 2
"""The longest duration, about 4,000 years: added to any time of today it is within ``MS_MAX``."""

EXPECTED: Final = (
    "expected now, -1h, an ISO 8601 time, `yesterday 10:00`, epoch ms, "
    "yyyy-MM-dd#HH:mm:ss:SSS or yyyyMMddHHmmss"
)


@dataclass(frozen=True, slots=True)
class When:
    """A time as typed; ``ms`` evaluates it relative to now."""

    text: str

    def __str__(self) -> str:
        """Return the time as typed."""
        return self.text

    def ms(self, now_ms: int) -> int:
        """Return the epoch ms.

        Raises:
            ValueError: the text is not a time.
        """
        return parse_time(self.text, now_ms=now_ms)


def parse_when(text: str) -> When:
    """Return a time that is checked now and evaluated later.

    Raises:
        ValueError: the text is not a time.
    """
    parse_time(text, now_ms=0)
    return When(text)


def parse_start(text: str) -> str:
    """Check ``earliest``, ``latest`` or a time.

    Raises:
        ValueError: it is not one of them.
    """
    if text not in {"earliest", "latest"}:
        parse_time(text, now_ms=0)
    return text


def parse_time(text: str, *, now_ms: int) -> int:
    """Return the epoch ms that ``text`` means.

    Raises:
        ValueError: it is in none of the forms above, or out of range.
    """
    word = text.strip()
    lowered = word.lower()
    if lowered == "now":
        return now_ms
    if lowered.endswith(AGO):
        lowered = "-" + _letters(lowered.removesuffix(AGO)).replace(" ", "")
    moved = RELATIVE.fullmatch(lowered)
    if moved is not None:
        step_ms = parse_duration(moved[2])
        return now_ms + (step_ms if moved[1] == "+" else -step_ms)
    if re.fullmatch(r"[0-9]+", word):
        if len(word) == 14:
            return _ms(_strptime(text, word, "%Y%m%d%H%M%S"))
        if int(word) > MS_MAX:
            raise ValueError(f"{text!r} is out of range")
        return int(word)
    if "#" in word:
        return _ms(_java(text, word))
    named = _named_day(text, lowered, now_ms)
    if named is not None:
        return _ms(named)
    try:
        return _ms(datetime.fromisoformat(word.upper()))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time; {EXPECTED}") from None


def parse_duration(text: str) -> int:
    """Return the ms of a duration: ``90s``, ``1h30m``, ``500ms``; a bare number is seconds.

    Raises:
        ValueError: it is not a duration, or a longer one than ``STEP_MS_MAX``.
    """
    lowered = text.strip().lower()
    bare = re.fullmatch(r"[0-9]+", lowered) is not None
    steps = [(lowered, "s")] if bare else STEP.findall(lowered)
    whole = bare or "".join(count + unit for count, unit in steps) == lowered
    if not steps or not whole:
        raise ValueError(f"{text!r} is not a duration; expected 500ms, 90s, 1h30m or 2d")
    duration_ms = sum(int(count) * MS_OF[unit] for count, unit in steps)
    if duration_ms > STEP_MS_MAX:
        raise ValueError(f"{text!r} is out of range")
    return duration_ms


def iso_utc(epoch_ms: int) -> str:
    """Return the time in ISO 8601 with ms and ``Z``; out of range: the number as text."""
    if not 0 <= epoch_ms <= MS_MAX:
        return str(epoch_ms)
    moment = EPOCH + timedelta(milliseconds=epoch_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{epoch_ms % 1000:03d}Z"


def instant_text(epoch_ms: int, *, now_ms: int) -> str:
    """Return date, time and zone of an instant in local time, and its distance from now."""
    moment = (EPOCH + timedelta(milliseconds=epoch_ms)).astimezone()
    return f"{moment.isoformat(sep=' ', timespec='seconds')} ({age_text(epoch_ms, now_ms=now_ms)})"


def epoch_ms_of(iso: str) -> int | None:
    """Return the epoch ms of what ``iso_utc`` has written; None for any other text."""
    try:
        return _ms(datetime.fromisoformat(iso)) if iso.endswith("Z") else None
    except ValueError:
        return None


YEAR_MS: Final = 31_557_600_000
AGES: Final = ((YEAR_MS, "y"), (86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def age_text(epoch_ms: int, *, now_ms: int) -> str:
    """Return how far a time is from now, in its largest unit: ``3 s ago``, ``in 2 h``."""
    distance_ms = abs(now_ms - epoch_ms)
    for unit_ms, unit in AGES:
        if distance_ms >= unit_ms:
            count = distance_ms // unit_ms
            return f"{count} {unit} ago" if epoch_ms < now_ms else f"in {count} {unit}"
    return "now"


def _named_day(text: str, lowered: str, now_ms: int) -> datetime | None:
    """Return local time for ``today``, ``yesterday 10:00`` or a bare ``10:30``."""
    day, _, clock = lowered.partition(" ")
    today = (EPOCH + timedelta(milliseconds=now_ms)).astimezone().date()
    days: dict[str, date] = {"today": today, "yesterday": today - timedelta(days=1)}
    if day in days:
        return _strptime(text, f"{days[day]} {_clock(clock.strip() or '00:00')}", CLOCK)
    if re.fullmatch(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?", lowered):
        return _strptime(text, f"{today} {_clock(lowered)}", CLOCK)
    return None


CLOCK: Final = "%Y-%m-%d %H:%M:%S"


def _letters(text: str) -> str:
    """Return a duration in words with the letters of its units: ``2 hours`` is ``2h``."""
    return UNIT_WORDS.sub(lambda match: LETTER_OF.get(match[1], match[1][0]), text)


def _clock(text: str) -> str:
    return text if text.count(":") == 2 else f"{text}:00"


def _java(text: str, word: str) -> datetime:
    base, _, millis = word.rpartition(":")
    if not re.fullmatch(r"[0-9]{3}", millis):
        raise ValueError(f"{text!r} is not a time; {EXPECTED}")
    moment = _strptime(text, base, "%Y-%m-%d#%H:%M:%S")
    return moment + timedelta(milliseconds=int(millis))


def _strptime(text: str, word: str, form: str) -> datetime:
    try:
        return datetime.strptime(word, form)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; {EXPECTED}") from None


def _ms(moment: datetime) -> int:
    """Return the epoch ms; without zone it is local time."""
    aware = moment.astimezone() if moment.tzinfo is None else moment
    return (aware - EPOCH) // timedelta(milliseconds=1)
