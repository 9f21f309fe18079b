"""``store tail``: follow the commit log of a store directory while a broker writes it."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.followstore import Follow, follow
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.parameters import Kind, option
from mqadmin.records import body_form
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.times import parse_start
from mqadmin.wanted import Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to follow."""

    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    tag: Annotated[tuple[str, ...], option("with one of these tags")] = ()
    from_: Annotated[
        str,
        option("earliest, latest or a TIME", metavar="WHERE", kind=Kind.TIME, parse=parse_start),
    ] = "latest"
    count: Annotated[int | None, option("end after so many", short="c")] = None
    no_follow: Annotated[bool, option("end at what is there now")] = False
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False


@command(
    "store tail",
    "follow a store directory: print messages as they are stored",
    details="Works beside a running broker: nothing is locked, and a message is shown once all "
    "of it is written. What retention deletes before it was read is told on standard error.",
    examples=(
        ("mqadmin store tail DIR", "what comes from now on; Ctrl-C ends it"),
        ("mqadmin store tail DIR --topic orders --from -5m -o jsonl", "and the last 5 minutes"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
def tail_store(call: Call, args: Arguments) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        Usage: the count is not positive.
        NotAStore: the directory is no store.
    """
    wanted = Filter(topic=args.topic, key=args.key, tags=args.tag)
    wish = Follow(
        start=args.from_,
        wanted=wanted,
        count=args.count,
        follow=not args.no_follow,
        body=body_form(no_body=args.no_body, inflate=args.inflate),
    )
    return follow(call, wish)
