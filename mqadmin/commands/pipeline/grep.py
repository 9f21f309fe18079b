"""``pipeline grep``: messages of a store whose body has a match."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import Engine, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """What to look for, and where it runs."""

    pattern: Annotated[str, argument("regular expression (RE2), matched anywhere in a body")]
    mask: Annotated[bool, option("show *** for what matches: tell where, not what")] = False


@dataclass(frozen=True, slots=True)
class HitRow(Row):
    """One message; ``log_offset`` is bytes of the commit log, for ``store get``."""

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    unique_key: str | None
    store_ms: EpochMs
    excerpt: str


@command(
    "pipeline grep",
    "find messages by a match in their body, on Spark",
    details=(
        "Bodies are looked at where they are read, compressed ones decompressed, so only hits "
        "travel. `store get DIR LOG_OFFSET` shows a hit whole."
    ),
    examples=(
        ("mqadmin pipeline grep /data/store 'card [0-9]{16}' --mask", "where, without the numbers"),
        ("mqadmin pipeline grep /data/store o-17 --engine local -o csv", "without Spark"),
    ),
    rows=HitRow,
    columns=("topic", "queue_id", "queue_offset", "log_offset", "store_time", "excerpt"),
    needs=Needs.STORE,
)
def find_matches(call: Call, args: Arguments) -> Outcome:
    """Return one row a message, in log order."""
    options = {"pattern": args.pattern, "mask": str(args.mask).lower()}
    return run_job(call, "grep", args, row=HitRow, options=options)
