"""Write permission of a broker at every name server: the two commands are one."""

from dataclasses import dataclass

from mqadmin.call import Call
from mqadmin.places import namesrvs
from mqadmin.rows import NOT_FOUND, Row
from mqadmin.things.writeperm import WritePerm
from mqadmin.writes import Declined, carry_out, plan


@dataclass(frozen=True, slots=True)
class WritePermChange(Row):
    """A broker at one name server; ``writable`` is what producers are told now."""

    broker: str
    namesrv: str
    was_writable: bool | None
    writable: bool | None
    result: str
    remark: str | None


async def change_write_perm(call: Call, broker: str, *, writable: bool) -> list[WritePermChange]:
    """Give or take the permission everywhere and return a row a name server."""

    def choose(old: bool | None) -> bool:
        if old is None:
            raise Declined(NOT_FOUND, f"it knows no broker {broker}")
        return writable

    admin = await call.admin()
    verb = "add" if writable else "wipe"
    done = await carry_out(
        call,
        await plan([WritePerm(admin, place, (broker,)) for place in await namesrvs(call)], choose),
        title=f"broker write-perm {verb} {broker}",
        question=None if writable else f"have nobody write to broker {broker} any more?",
    )
    return [
        WritePermChange(
            broker,
            one.step.thing.place.address,
            one.step.old,
            one.value,
            one.result,
            one.remark,
        )
        for one in done
    ]
