"""A producer under load outlasts a broker that is killed and started again."""

import asyncio

from mqclient.client.instance import MQClient
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendResult
from mqserver.pytest_plugin import Start

FROM_THE_KILL = 40
"""Messages that are sent from the kill on; they are more than all attempts of Java would save."""


async def test_no_message_is_lost_while_a_broker_restarts(rocketmq_start: Start) -> None:
    rocketmq = rocketmq_start({})
    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        producer = Producer(client)
        await producer.send(Message("Restarted", b"first"))
        rocketmq.kill()
        sends: list[asyncio.Future[SendResult]] = []
        for number in range(FROM_THE_KILL):
            message = Message("Restarted", b"%d" % number)
            sends.append(asyncio.ensure_future(producer.send(message)))
            sends.append(producer.send_async(message, sharding_key="k"))
            await asyncio.sleep(0)
        await asyncio.to_thread(rocketmq.start)
        results = await asyncio.gather(*sends, return_exceptions=True)

    assert [result for result in results if isinstance(result, BaseException)] == []
    assert len({result.msg_id for result in results if isinstance(result, SendResult)}) == len(
        sends
    )
