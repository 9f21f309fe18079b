"""The least that a send can take: one frame over a bare blocking socket, again and again.

    python -m benchmarks.floorload NAMESRV TOPIC BODY WARM_S RUN_S COUNT sync:1

Arguments and lines are those of ``pyload``. What is left is the broker, the kernel's wake-ups of
both processes and one read of the answer's length: no client is faster than this one after the
other, whatever it is written in.
"""

import asyncio
import socket
import struct
import sys
import time
from dataclasses import replace

from benchmarks.bridgeload import report, say
from mqclient import Message, MQClient, Producer
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.frame import encode_frame
from remoting.headers import SendMessageV2
from storefmt.names import AUTO_CREATE_TOPIC

_LENGTH = struct.Struct(">i")


async def frame_of(namesrv: str, topic: str, body: bytes) -> tuple[str, bytes]:
    """Let the broker make the topic; return its address and a send to a queue of it."""
    async with MQClient(namesrv, timeout_s=10.0) as client:
        stored = await Producer(client, "floor").send(Message(topic, body))
        # The name server learns of the new topic later; the template's broker is the same.
        address = await client.master_of(replace(stored.queue, topic=AUTO_CREATE_TOPIC))
    header = SendMessageV2(
        producer_group="floor",
        topic=topic,
        default_topic=AUTO_CREATE_TOPIC,
        default_topic_queue_nums=4,
        queue_id=stored.queue.queue_id,
        sys_flag=0,
        born_timestamp=time.time_ns() // 1_000_000,
        flag=0,
        properties=f"UNIQ_KEY\1{stored.unique_key}\2WAIT\1true",
        reconsume_times=0,
        unit_mode=False,
        batch=False,
        broker_name=stored.queue.broker_name,
    )
    return address, encode_frame(Command.request(RequestCode.SEND_MESSAGE_V2, header, body=body))


def send_for(broker: socket.socket, frame: bytes, seconds: float) -> list[int]:
    """Send and wait for the answer until the time is over; return how long each took, ns."""
    took_ns = []
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        begin = time.perf_counter_ns()
        broker.sendall(frame)
        answer = broker.recv(4096)
        while len(answer) < 4 + _LENGTH.unpack_from(answer)[0]:
            answer += broker.recv(4096)
        took_ns.append(time.perf_counter_ns() - begin)
    return took_ns


def main(words: list[str]) -> None:
    """Run the one load there is."""
    namesrv, topic, size, warm, seconds, _, load = words
    address, frame = asyncio.run(frame_of(namesrv, topic, b"x" * int(size)))
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as broker:
        broker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        send_for(broker, frame, float(warm))
        say(at="begin", load=load)
        begin_s = time.perf_counter()
        took_ns = send_for(broker, frame, float(seconds))
        report(load, took_ns, count=len(took_ns), seconds=time.perf_counter() - begin_s)


if __name__ == "__main__":
    main(sys.argv[1:])
