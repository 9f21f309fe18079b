"""A listener is called when the queues of a topic change."""

import asyncio

from mqclient.consumer.lite_pull_consumer import watch
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.fake import FakeServer
from tests.waiting import until


async def test_only_a_change_is_told_and_a_name_server_that_is_away_is_none() -> None:
    told: list[tuple[str, int]] = []

    def changed(topic: str, queues: list[MessageQueue]) -> None:
        told.append((topic, len(queues)))

    async with FakeServer() as fake, fake.client() as client:
        fake.route("T", queues=2)
        task = asyncio.create_task(watch(client, "T", changed, every_s=0.001))

        async def asked_more() -> None:
            count = len(fake.asked)
            await until(lambda: len(fake.asked) >= count + 3)

        await asked_more()
        assert told == []
        fake.route("T", queues=3)
        await asked_more()
        fake._answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [
            lambda request: request.response(ResponseCode.SYSTEM_ERROR)
        ]
        await asked_more()
        fake.route("T", queues=1)
        await asked_more()
        task.cancel()
        assert told == [("T", 3), ("T", 1)]
