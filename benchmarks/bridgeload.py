"""The load program on ``pyrocketmq`` (PyPI), which calls the Java client inside this process.

    PYTHON -m benchmarks.bridgeload NAMESRV TOPIC BODY WARM_S RUN_S COUNT LOAD...

Arguments and lines are those of ``pyload``. PYTHON is the interpreter that ``benchmarks.client
--pyrocketmq`` makes, where nothing of this project is installed, so nothing of it may be imported
here. The class path of the Java client comes in ``ROCKETMQ_JARS``.

Rule: the JVM has to run before ``pyrocketmq`` is imported, so the imports are in the functions.
"""

import importlib
import json
import os
import sys
import threading
import time


def say(**line: object) -> None:
    """Write a line, wait for the answer."""
    print(json.dumps(line), flush=True)
    sys.stdin.readline()


def report(load: str, took_ns: list[int], *, count: int, seconds: float) -> None:
    """Write what was measured."""
    took = sorted(took_ns) or [0]
    p50, p99 = (took[min(int(len(took) * part), len(took) - 1)] / 1000 for part in (0.5, 0.99))
    say(at="end", load=load, count=count, failed=0, seconds=seconds, p50_us=p50, p99_us=p99)


def sync(load: str, namesrv: str, topic: str, body: bytes, warm_s: float, run_s: float) -> None:
    """Send one message after the other."""
    producing = importlib.import_module("pyrocketmq.client.producer")
    messages = importlib.import_module("pyrocketmq.common.message")
    producer = producing.Producer("bridge_bench")
    producer.setNamesrvAddr(namesrv)
    producer.start()
    took_ns: list[int] = []

    def send_for(seconds: float) -> None:
        end_s = time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            begin = time.perf_counter_ns()
            producer.send(messages.Message(topic=topic, body=body))
            took_ns.append(time.perf_counter_ns() - begin)

    send_for(warm_s)
    say(at="begin", load=load)
    took_ns.clear()
    begin_s = time.perf_counter()
    send_for(run_s)
    report(load, took_ns, count=len(took_ns), seconds=time.perf_counter() - begin_s)
    producer.shutdown()


def window(
    load: str, size: int, namesrv: str, topic: str, body: bytes, warm_s: float, run_s: float
) -> None:
    """Keep ``size`` sends on their way by callbacks."""
    producing = importlib.import_module("pyrocketmq.client.producer")
    messages = importlib.import_module("pyrocketmq.common.message")
    producer = producing.Producer("bridge_bench_async")
    producer.setNamesrvAddr(namesrv)
    producer.start()
    free = threading.Semaphore(size)
    took_ns: list[int] = []

    class Callback(producing.SendCallback):
        """One send; its base is a proxy of a Java interface."""

        def __init__(self) -> None:
            self.begin_ns = time.perf_counter_ns()

        def _onSuccess(self, result: object) -> None:  # noqa: N802
            took_ns.append(time.perf_counter_ns() - self.begin_ns)
            free.release()

        def _onException(self, error: object) -> None:  # noqa: N802
            free.release()

    def send_for(seconds: float) -> None:
        end_s = time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            free.acquire()
            producer.send(messages.Message(topic=topic, body=body), send_callback=Callback())

    send_for(warm_s)
    say(at="begin", load=load)
    took_ns.clear()
    begin_s = time.perf_counter()
    send_for(run_s)
    measured = list(took_ns)
    report(load, measured, count=len(measured), seconds=time.perf_counter() - begin_s)
    for _ in range(size):
        free.acquire()
    producer.shutdown()


def push(load: str, namesrv: str, topic: str, count: int) -> None:
    """Read what the sends before it left in the topic."""
    consuming = importlib.import_module("pyrocketmq.client.consumer.consumer")
    listening = importlib.import_module("pyrocketmq.client.consumer.listener")
    words = importlib.import_module("pyrocketmq.common.common")
    seen, first_s = 0, 0.0
    enough = threading.Event()

    class Listener(listening.MessageListenerConcurrently):
        """Counts."""

        def _consumeMessage(self, messages: list[object], context: object) -> object:  # noqa: N802
            nonlocal seen, first_s
            first_s = first_s or time.perf_counter()
            seen += len(messages)
            if seen >= count:
                enough.set()
            return listening.ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = consuming.PushConsumer("bridge_push")
    consumer.setNamesrvAddr(namesrv)
    consumer.setConsumeFromWhere(words.ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    consumer.setConsumeMessageBatchMaxSize(32)
    consumer.registerMessageListener(Listener())
    consumer.subscribe(topic, "*")
    say(at="begin", load=load)
    consumer.start()
    enough.wait(120)
    report(load, [], count=seen, seconds=time.perf_counter() - first_s)
    consumer.shutdown()


def main(words: list[str]) -> None:
    """Start the JVM, run the loads one after another."""
    namesrv, topic, size, warm, seconds, count, *loads = words
    body, warm_s, run_s = b"x" * int(size), float(warm), float(seconds)
    jpype = importlib.import_module("jpype")
    importlib.import_module("jpype.imports")
    flags = ("-Xmx1g", "-Drocketmq.client.logLevel=WARN", "-Drocketmq.client.logUseSlf4j=false")
    jpype.startJVM(*flags, classpath=os.environ["ROCKETMQ_JARS"].split(":"))
    for load in loads:
        kind, _, number = load.partition(":")
        if kind == "sync":
            sync(load, namesrv, topic, body, warm_s, run_s)
        elif kind == "async":
            window(load, int(number), namesrv, topic, body, warm_s, run_s)
        elif kind == "push":
            push(load, namesrv, topic, int(count))
        else:
            raise SystemExit(f"no load {load} here, there are sync:1, async:N and push")
    jpype.shutdownJVM()


if __name__ == "__main__":
    main(sys.argv[1:])
