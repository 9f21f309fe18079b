"""A type checker refuses what a consumer refuses, and keeps the types of other listeners."""

from pathlib import Path

from tests.programs import python

PROGRAM = """
from mqclient import (
    BlockingPushConsumer,
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    MessageExt,
    PushConsumer,
)

def decorate(consumer: PushConsumer, blocking: BlockingPushConsumer) -> None:
    @consumer.concurrently
    async def silent(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> None: ...

    @consumer.concurrently
    def states(
        messages: list[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    @consumer.orderly
    async def in_order(messages: list[MessageExt], context: ConsumeOrderlyContext) -> None: ...

    @blocking.concurrently
    def in_thread(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> None: ...

    status: ConsumeConcurrentlyStatus = states([], ConsumeConcurrentlyContext(None))  # refused

    @consumer.concurrently  # refused
    async def one_parameter(messages: list[MessageExt]) -> None: ...

    @consumer.concurrently  # refused
    async def other_context(
        messages: list[MessageExt], context: ConsumeOrderlyContext
    ) -> None: ...

    @consumer.orderly  # refused
    async def other_status(
        messages: list[MessageExt], context: ConsumeOrderlyContext
    ) -> ConsumeConcurrentlyStatus:
        raise ValueError

    @consumer.concurrently  # refused
    def number(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> int:
        return 7

    @blocking.orderly  # refused
    def without_context(messages: list[MessageExt]) -> None: ...
"""


def test_mypy_refuses_what_a_consumer_refuses(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    lines = PROGRAM.splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "# refused" in line}

    # A process of its own: mypy raises the limit of recursion of the one that it runs in.
    flags = ("--no-incremental", "--follow-imports=silent", "--hide-error-context")
    done = python("-m", "mypy", *flags, program, code=1)
    out = done.stdout

    assert not done.stderr
    refused = {int(line.split(":")[1]) for line in out.splitlines() if ": error:" in line}
    assert refused == expected, out
