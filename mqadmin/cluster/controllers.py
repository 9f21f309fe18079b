"""Find the controllers that a line means.

--controller HOST:PORT[;HOST:PORT]   these
not given                            those that a broker of the cluster names (controllerAddr)
"""

from typing import TYPE_CHECKING

from mqadmin.cluster.brokers import all_brokers
from mqadmin.errors import ItemNotFound
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqadmin.session.call import Call


async def controllers(call: "Call", given: str | None) -> list[str]:
    """Return the addresses of the controllers.

    Raises:
        ItemNotFound: none are given, and no broker names any.
    """
    admin = await call.admin()
    if given:
        return [address.strip() for address in given.split(";") if address.strip()]
    for node in await all_brokers(admin):
        try:
            settings = await admin.broker_config(node.address)
        except ClientError:
            continue
        if settings.get("enableControllerMode") == "true" and settings.get("controllerAddr"):
            return [address.strip() for address in settings["controllerAddr"].split(";")]
    raise ItemNotFound(
        "no broker of this cluster names a controller", hint="give it as --controller HOST:PORT"
    )


async def leader(call: "Call", given: str | None) -> str:
    """Return the address of the leading controller.

    Raises:
        ItemNotFound: no controller is given or known.
        ClientError: no controller says who leads; the error is that of the last one.
    """
    admin = await call.admin()
    problem: ClientError | None = None
    for address in await controllers(call, given):
        try:
            return await admin.controller_leader(address)
        except ClientError as error:
            problem = error
    if problem is None:
        raise ItemNotFound("no controller is given", hint="give it as --controller HOST:PORT")
    raise problem
