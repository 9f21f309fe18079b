"""Find the controllers that a line names.

--controller HOST:PORT[;HOST:PORT]   these
not given                            those that a broker of the cluster names (controllerAddr)
"""

from typing import TYPE_CHECKING

from mqadmin.cluster.brokers import all_brokers
from mqadmin.cluster.partial_answers import Answers, Unsaid
from mqadmin.errors import ItemNotFound
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqadmin.session.call import Call


async def controllers(call: "Call", given: str | None) -> list[str]:
    """Return the addresses of the controllers, at least one.

    Raises:
        ItemNotFound: none are given, and no broker names any.
        ClientError: none are given, and no broker answered.
    """
    if given is not None:
        addresses = split_addresses(given)
        if not addresses:
            raise ItemNotFound("no controller given", hint="give it as --controller HOST:PORT")
        return addresses
    admin = await call.admin()
    unsaid = Unsaid()
    configs = await Answers(unsaid).each(
        await all_brokers(admin), lambda node: admin.broker_config(node.address)
    )
    for _, settings in configs:
        addresses = split_addresses(settings.get("controllerAddr", ""))
        if addresses and settings.get("enableControllerMode") == "true":
            return addresses
    for text in unsaid.texts:
        call.warn(text)
    raise ItemNotFound(
        "no broker of this cluster knows a controller", hint="give it as --controller HOST:PORT"
    )


def split_addresses(text: str) -> list[str]:
    """Return the addresses of a ``controllerAddr``, which separates them by ``;``."""
    return [address.strip() for address in text.split(";") if address.strip()]


async def leader(call: "Call", given: str | None) -> str:
    """Return the address of the leading controller.

    Raises:
        ItemNotFound: no controller is given or known.
        ClientError: no controller knows the leader; the error is that of the last one.
    """
    admin = await call.admin()
    *others, last = await controllers(call, given)
    for address in others:
        try:
            return await admin.controller_leader(address)
        except ClientError:
            # If no broker knows a controller, the last error says why.
            continue
    return await admin.controller_leader(last)
