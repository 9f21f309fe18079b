"""``acl white-addr``: who needs no signature: shown, or replaced as a whole.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG, and
UPDATE_GLOBAL_WHITE_ADDRS_CONFIG.
"""

from dataclasses import dataclass

import click

from mqadmin.changes.accounts import acl_places
from mqadmin.changes.targets.account import WhiteList
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, on_brokers
from mqadmin.output.rows import Outcome, Row, exit_code_of
from mqadmin.session.call import Call


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
    examples=(
        ("mqadmin acl white-addr", "the lists of all brokers"),
        ("mqadmin acl white-addr 10.0.0.* 192.168.1.7 -y", "replace them"),
    ),
    rows=WhiteChange,
    writes=True,
)
@click.argument(
    "patterns", nargs=-1, metavar="PATTERN", help="the new list, as 10.0.0.*; shown where none"
)
@click.option("--file", help="account file on the broker; its first one where left out")
@on_brokers
async def white_addresses(
    call: Call,
    *,
    patterns: tuple[str, ...],
    file: str | None,
    where: Where,
) -> Outcome:
    """Return one row a broker."""
    admin = await call.admin()
    places = await acl_places(call, where)
    wanted = tuple(one.strip() for text in patterns for one in text.split(",") if one.strip())
    names = () if file is None else (file,)
    done = await carry_out(
        call,
        await plan([WhiteList(admin, place, names) for place in places], lambda old: wanted or old),
        title="acl white-addr",
        question=f"have {', '.join(wanted)} need no account on {len(places)} broker(s)?",
    )
    rows = [WhiteChange.of(one, patterns=one.value or (), was=one.step.old or ()) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
