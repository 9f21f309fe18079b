"""``acl white-addr``: who needs no signature: shown, or replaced as a whole.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG, and
UPDATE_GLOBAL_WHITE_ADDRS_CONFIG.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.accounts import WHERE, acl_places
from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row, exit_code_of
from mqadmin.things.account import WhiteList
from mqadmin.writes import carry_out, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The new list, where one is set."""

    patterns: Annotated[
        tuple[str, ...], argument("the new list, as 10.0.0.*; shown where none", metavar="PATTERN")
    ] = ()
    file: Annotated[
        str | None, option("account file on the broker; its first one where left out")
    ] = None
    broker: Annotated[
        str | None, option("on this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("on the brokers of a cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class WhiteChange(Row):
    """The white list of one broker before and after the call."""

    broker: str
    address: str
    patterns: tuple[str, ...]
    was: tuple[str, ...]
    result: str
    remark: str | None


@command(
    "acl white-addr",
    "show or replace who needs no account",
    examples=(
        ("mqadmin acl white-addr", "the lists of all brokers"),
        ("mqadmin acl white-addr 10.0.0.* 192.168.1.7 -y", "replace them"),
    ),
    rows=WhiteChange,
    writes=True,
    java=(
        Java(
            "updateGlobalWhiteAddr",
            (
                *WHERE,
                JavaOption("g", "globalWhiteRemoteAddresses", "patterns", required=True),
                JavaOption("p", "aclFileFullPath", "file"),
            ),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def white_addresses(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker."""
    admin = await call.admin()
    places = await acl_places(call, args.broker, args.cluster)
    wanted = tuple(one.strip() for text in args.patterns for one in text.split(",") if one.strip())
    names = () if args.file is None else (args.file,)
    done = await carry_out(
        call,
        await plan(
            [WhiteList(admin, place, names) for place in places],
            lambda old: wanted or old,
        ),
        title="acl white-addr",
        question=f"have {', '.join(wanted)} need no account on {len(places)} broker(s)?",
    )
    rows = [
        WhiteChange(
            one.step.thing.place.broker,
            one.step.thing.place.address,
            one.value or (),
            one.step.old or (),
            one.result,
            one.remark,
        )
        for one in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
