"""Asking brokers at the start whether they can read the SQL92 expressions of a consumer.

Rule: only an expression that a broker refuses is an error. A broker that is away is asked by
nobody again: a pull with an expression it cannot read then filters nothing, as in Java.

Source: client/impl/factory/MQClientInstance.java#checkClientInBroker (4.9.7).
"""

import logging
from collections.abc import Iterable

from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.consumer.subscription import TAG, Wanted
from mqclient.errors import BrokerRefused, ClientError
from remoting.bodies import CheckClientRequestBody
from remoting.codes import RequestCode

LOG = logging.getLogger(__name__)


async def check_expressions(client: MQClient, group: str, wanted: Iterable[Wanted]) -> None:
    """Ask a broker of each topic about its expression.

    Raises:
        BrokerRefused: it cannot read it, or filters by tags only.
    """
    for each in wanted:
        if each.subscription.kind == TAG:
            continue
        topic = each.data.topic
        try:
            readers = routes.readers(await client.route(topic))
        except ClientError as error:
            LOG.warning("the expression for topic %s was not checked: %s", topic, error)
            continue
        body = CheckClientRequestBody(
            client_id=client.client_id, group=group, subscription_data=each.data
        )
        for address in list(readers.values())[:1]:
            try:
                await client.call(
                    address,
                    RequestCode.CHECK_CLIENT_CONFIG,
                    what=f"expression {each.subscription.expression!r} for topic {topic}",
                    body=body.encode(),
                )
            except BrokerRefused:
                raise
            except ClientError as error:
                LOG.warning("the expression for topic %s was not checked: %s", topic, error)
