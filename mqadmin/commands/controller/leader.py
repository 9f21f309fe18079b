"""``controller leader``: show which controller leads.

Request: CONTROLLER_GET_METADATA_INFO on each controller.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cluster.controllers import controllers
from mqadmin.output.rows import UNREACHABLE
from mqclient.errors import ClientError


@dataclass(frozen=True, slots=True)
class ControllerRow(Row):
    """The answer of one controller about the leader."""

    address: str
    is_leader: bool | None = None
    group: str | None = None
    leader_id: str | None = None
    leader_address: str | None = None
    peers: str | None = None
    remark: str | None = None


@command(
    "controller leader",
    examples=(("mqadmin controller leader", "ask every controller that the brokers know"),),
    details="For a moment after a failure, controllers may name different leaders, or no leader. "
    "The exit code is 4 if no controller answered, and 5 if only some did.",
    rows=ControllerRow,
)
@click.option(
    "-a", "--controller", metavar="ADDRESS", help="HOST:PORT of controllers, separated by ;"
)
async def controller_leader(call: Call, *, controller: str | None) -> Outcome:
    """Return one row for each controller."""
    admin = await call.admin()
    rows = []
    for address in await controllers(call, controller):
        try:
            metadata = await admin.controller_metadata(address)
        except ClientError as error:
            rows.append(ControllerRow(address, remark=str(error)))
            continue
        rows.append(
            ControllerRow.of(
                metadata,
                address=address,
                leader_id=metadata.controller_leader_id,
                leader_address=metadata.controller_leader_address,
            )
        )
    results = [UNREACHABLE if row.remark else "" for row in rows]
    return Outcome(rows, exit_code=exit_code_of(results))
