"""``broker write-perm wipe``: have the name servers tell producers not to write to a broker.

Requests on each name server: GET_ROUTEINFO_BY_TOPIC, WIPE_WRITE_PERM_OF_BROKER, and
GET_ROUTEINFO_BY_TOPIC again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.writeperm import WritePermChange, change_write_perm


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which broker."""

    broker: Annotated[str, argument("name of the broker", kind=Kind.BROKER)]


@command(
    "broker write-perm wipe",
    "have the name servers tell producers not to write to a broker",
    examples=(("mqadmin broker write-perm wipe broker-a -y", "before it is stopped"),),
    details="It holds until the broker registers with other topic settings, or starts again.",
    rows=WritePermChange,
    writes=True,
    java=(Java("wipeWritePerm", (JavaOption("b", "brokerName", "broker", required=True),)),),
)
async def wipe_write_perm(call: Call, args: Arguments) -> Outcome:
    """Return one row a name server; exit code 3 where none knows the broker."""
    rows = await change_write_perm(call, args.broker, writable=False)
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
