"""Pops and acknowledgements of a broker that stops: refused, since the disk threads end first."""

from pathlib import Path

from remoting.codes import RequestCode, ResponseCode
from remoting.headers import ConsumerSendMsgBack
from tests.server.broker.desk import GROUP, TOPIC, running
from tests.server.broker.pop.popdesk import ack, ask_pop, hide, pop
from tests.server.broker.pop.test_pop import sent


async def test_nothing_is_put_by_a_broker_that_stops(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await sent(desk, 3)
        (first,) = await pop(desk, max_msg_nums=1)
        back = ConsumerSendMsgBack(
            offset=0, group=GROUP, delay_level=0, origin_msg_id="", origin_topic=TOPIC
        )
        broker = desk.app.broker
        broker.sender.close()
        end = broker.store.last_log_offset

        answers = [
            await ask_pop(desk),
            await ack(desk, first.handle),
            await hide(desk, first.handle, invisible_ms=60_000),
            await desk.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back),
            await desk.send(),
        ]

        stopping = (ResponseCode.SERVICE_NOT_AVAILABLE, "the broker is stopping")
        assert [(answer.code, answer.remark) for answer in answers] == [stopping] * 5
        assert broker.store.last_log_offset == end
