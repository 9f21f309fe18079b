"""``pipeline rewind plan``: what moving consumer groups to a time would replay or skip."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job
from mqadmin.times import When, parse_when


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Where to, which groups, and where it runs."""

    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    to: Annotated[
        When, option("store time to move to", metavar="TIME", kind=Kind.TIME, parse=parse_when)
    ]
    group: Annotated[str | None, option("only this group", short="g", kind=Kind.GROUP)] = None
    topic: Annotated[str | None, option("only this topic", short="t", kind=Kind.TOPIC)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow(Row):
    """One queue of one group; ``target_ms`` is the store time of the message it would get."""

    store: str
    group: str
    topic: str
    queue_id: int
    offset: int
    target: int
    replayed: int
    skipped: int
    bytes: int
    target_ms: EpochMs
    command: str


@command(
    "pipeline rewind plan",
    "show what moving groups to a time would replay or skip, on Spark",
    details=(
        "Out of copied stores, by the rules of a broker's reset; nothing is changed. COMMAND is "
        "what would do it on the running cluster, where offsets have moved on since."
    ),
    examples=(
        ("mqadmin pipeline rewind plan /data/store --to 2026-11-21T10:00:00Z", "every group"),
        ("mqadmin pipeline rewind plan /mnt/a /mnt/b --to -2h --group billing", "one, two stores"),
    ),
    rows=MoveRow,
    columns=("group", "topic", "queue_id", "offset", "target", "replayed", "skipped", "bytes"),
    needs=Needs.STORE,
)
def plan_rewind(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue of each group."""
    options = {
        "to_ms": args.to.ms(call.now_ms()),
        "group": args.group,
        "topic": args.topic,
    }
    return run_job(call, "rewind-plan", args, row=MoveRow, options=options, more_stores=args.more)
