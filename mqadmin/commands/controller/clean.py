"""``controller clean``: let the controllers forget brokers, or a whole group.

Requests: CONTROLLER_GET_METADATA_INFO and CLEAN_BROKER_DATA.
"""

from dataclasses import dataclass

import click

from mqadmin.changes.write import attempt
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.types import Integer
from mqadmin.cluster.controllers import leader


@dataclass(frozen=True, slots=True)
class CleanRow(Row):
    """A group, and the brokers that were forgotten; none for the whole group."""

    broker: str
    broker_ids: tuple[int, ...]
    result: str
    remark: str | None


@command(
    "controller clean",
    examples=(
        ("mqadmin controller clean broker-a 3 -y", "broker 3 was removed for good"),
        ("mqadmin controller clean broker-a", "a group that no longer exists"),
    ),
    details="A broker that is alive is kept unless --living is given. A forgotten broker leaves "
    "the in-sync set, and its id is not reused.",
    rows=CleanRow,
    writes=True,
)
@argument("group", help="the broker name")
@argument("broker_ids", nargs=-1, type=Integer(min=1), metavar="ID", help="ids in the group")
@click.option("-a", "--controller", metavar="ADDRESS", help="HOST:PORT of a controller")
@click.option("-c", "--cluster", metavar="NAME", default="", help="the cluster of the group")
@click.option("--living", is_flag=True, help="also forget brokers that are alive")
async def clean(
    call: Call,
    *,
    group: str,
    broker_ids: tuple[int, ...],
    controller: str | None,
    cluster: str,
    living: bool,
) -> Outcome:
    """Return one row."""
    admin = await call.admin()
    address = await leader(call, controller)
    what = f"broker {', '.join(map(str, broker_ids))} of {group}" if broker_ids else group
    await call.confirm(f"remove {what} from the controller?")
    result, remark = await attempt(
        call,
        lambda: admin.clean_broker_data(
            address,
            cluster=cluster or None,
            broker_name=group,
            broker_ids=broker_ids,
            cleans_living=living,
        ),
    )
    return Outcome([CleanRow(group, broker_ids, result, remark)], exit_code=exit_code_of([result]))
