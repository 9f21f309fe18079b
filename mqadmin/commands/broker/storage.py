"""``broker read-ahead``, ``timer-engine``, ``pop-records``, ``rocksdb``: how brokers of 5.x store.

read-ahead              GET_BROKER_CONFIG, SET_COMMITLOG_READ_MODE, GET_BROKER_CONFIG
timer-engine            GET_BROKER_CONFIG, SWITCH_TIMER_ENGINE, GET_BROKER_CONFIG
pop-records transfer    GET_BROKER_CONFIG, POP_ROLLBACK
rocksdb check           CHECK_ROCKSDB_CQ_WRITE_PROGRESS
rocksdb export-config   GET_BROKER_CONFIG, EXPORT_ROCKSDB_CONFIG_TO_JSON
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import click

from mqadmin.changes.targets.storage import FILES, ROCKSDB, ReadAhead, TimerEngine
from mqadmin.changes.write import StepResult, attempt, carry_out, plan
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, of_masters, of_topic, on_brokers, on_masters, to_clean
from mqadmin.cli.times import TIME
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import MASTER, ServerNode, brokers_and_slaves, masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.output.rows import UNCHANGED
from mqadmin.output.times import When

PATIENCE_S: Final = 30.0
"""How long Java's tool waits for POP records to be transferred."""
MONTH_MS: Final = 30 * 86_400_000
CONFIG_KINDS: Final = ("topics", "subscriptionGroups", "consumerOffsets")
STATUSES: Final = ("EQUAL", "DIFFERENT", "IN_PROGRESS", "FAILED")
"""What a comparison of consume queues answers, by its number."""


@dataclass(frozen=True, slots=True)
class StorageChange(Row):
    """A mode of one broker after the call; ``was`` is the one before."""

    broker: str
    address: str
    master: str | None
    mode: str | None
    was: str | None
    result: str
    remark: str | None


@dataclass(frozen=True, slots=True)
class StorageTask(Row):
    """How one broker took a task."""

    broker: str
    address: str
    result: str
    remark: str | None


def _masters_of(nodes: list[ServerNode]) -> Mapping[str, str]:
    return {node.broker: node.address for node in nodes if node.broker_id == MASTER}


NORMAL, RANDOM = "normal", "random"


@command(
    "broker read-ahead",
    examples=(
        ("mqadmin broker read-ahead random", "many groups read old messages here and there"),
        ("mqadmin broker read-ahead normal --broker broker-a", "and back"),
    ),
    details="With `random` the system reads from the commit log what is asked for alone "
    "(madvise). The setting dataReadAheadEnable keeps the mode.",
    rows=StorageChange,
    columns=("broker", "address", "mode", "was", "result", "remark"),
    writes=True,
)
@argument("mode", type=Choice([NORMAL, RANDOM]), help="normal: the system reads ahead")
@on_brokers
async def set_read_ahead(call: Call, *, mode: Literal["normal", "random"], where: Where) -> Outcome:
    """Return one row for each broker and slave."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([ReadAhead(admin, node, ()) for node in nodes], lambda _: mode == NORMAL)
    done = await carry_out(call, steps, title=f"broker read-ahead {mode}")
    names = {True: NORMAL, False: RANDOM, None: None}
    masters_of = _masters_of(nodes)
    rows = [
        StorageChange.of(
            step,
            master=_master(step, masters_of),
            mode=names[step.value],
            was=names[step.step.old],
        )
        for step in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _master(done: StepResult[bool], masters_of: Mapping[str, str]) -> str | None:
    """Return the address of the master where the step is about a slave."""
    node = done.target.node
    return masters_of.get(node.broker) if node.broker_id != MASTER else None


@command(
    "broker timer-engine",
    examples=(("mqadmin broker timer-engine ROCKSDB --broker broker-a", "from the time wheel"),),
    details="Delayed messages that wait stay with the engine that took them; new ones go to the "
    "other. A broker can be switched to ROCKSDB only if it was started with "
    "timerRocksDBEnable=true.",
    rows=StorageChange,
    columns=("broker", "address", "mode", "was", "result", "remark"),
    writes=True,
)
@argument(
    "engine", type=Choice([FILES, ROCKSDB]), help="the time wheel in files, or RocksDB's timeline"
)
@on_masters
async def switch_timer_engine(
    call: Call, *, engine: Literal["FILES", "ROCKSDB"], where: Where
) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()
    nodes = await masters(admin, where)
    steps = await plan([TimerEngine(admin, node, ()) for node in nodes], lambda _: engine)
    done = await carry_out(
        call,
        steps,
        title=f"broker timer-engine {engine}",
        question=f"switch the timer of {len(nodes)} broker(s) to {engine}?",
    )
    rows = [
        StorageChange.of(step, master=None, mode=step.value, was=step.step.old) for step in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


@command(
    "broker pop-records transfer",
    examples=(
        ("mqadmin broker pop-records transfer -y", "before popConsumerKVServiceEnable=false"),
    ),
    details="Move what POP gave out and what was acknowledged from RocksDB to the files of the "
    "broker, which a broker without popConsumerKVServiceEnable reads.",
    rows=StorageTask,
    writes=True,
)
@on_brokers
async def transfer_pop_records(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker and slave."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)

    async def transfer(node: ServerNode) -> str | None:
        await admin.transfer_pop_records(
            node.address, timeout_s=max(call.settings.timeout or 0, PATIENCE_S)
        )
        return None

    question = f"move the POP records of {len(nodes)} broker(s) from RocksDB to files?"
    return await _each(
        call,
        nodes,
        transfer,
        question=question,
        needs=("popConsumerKVServiceEnable", "true"),
        otherwise="its POP records are in files already: popConsumerKVServiceEnable is false",
    )


@command(
    "broker rocksdb export-config",
    examples=(
        ("mqadmin broker rocksdb export-config", "topics, groups and offsets of every master"),
        ("mqadmin broker rocksdb export-config topics --broker broker-a", "topics alone"),
    ),
    details="A broker with storeType=defaultRocksDB writes topics, groups and offsets as the JSON "
    "files that other brokers have, into its own directory config.",
    rows=StorageTask,
    writes=True,
)
@argument(
    "kinds",
    nargs=-1,
    type=Choice(CONFIG_KINDS),
    metavar="KIND",
    help="of " + ", ".join(CONFIG_KINDS) + "; all if left out",
)
@to_clean
async def export_config(call: Call, *, kinds: tuple[str, ...], where: Where) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()

    async def export(node: ServerNode) -> str | None:
        await admin.export_rocksdb_config(node.address, kinds or CONFIG_KINDS)
        return None

    return await _each(
        call,
        await masters(admin, where, every=True),
        export,
        needs=("storeType", "defaultRocksDB"),
        otherwise="its configuration is in files already: storeType is not defaultRocksDB",
    )


async def _each(
    call: Call,
    nodes: list[ServerNode],
    ask: Callable[[ServerNode], Awaitable[str | None]],
    *,
    needs: tuple[str, str],
    otherwise: str,
    question: str = "",
) -> Outcome:
    """Give a task to each broker that has what it is about.

    Args:
        needs: a setting, and the value with which there is something to do.
        otherwise: what is said of the other brokers, which are not asked.
    """
    admin = await call.admin()
    if question:
        await call.confirm(question)
    rows = []
    for node in nodes:
        settings = await admin.broker_config(node.address)
        if settings.get(needs[0], "").lower() == needs[1].lower():
            result, remark = await attempt(call, lambda node=node: ask(node))  # type: ignore[misc]
        else:
            result, remark = UNCHANGED, otherwise
        rows.append(StorageTask(node.broker, node.address, result, remark))
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


@dataclass(frozen=True, slots=True)
class QueueCheckRow(Row):
    """How far the comparison of consume queues is at one broker."""

    broker: str
    address: str
    status: str
    remark: str | None


@command(
    "broker rocksdb check",
    examples=(
        ("mqadmin broker rocksdb check", "of the last 30 days, on every master"),
        ("mqadmin broker rocksdb check --topic orders --from -2d", "of one topic"),
    ),
    details="A broker that writes consume queues to RocksDB and to files compares both in the "
    "background, and writes the result to its log.",
    rows=QueueCheckRow,
)
@of_topic()
@click.option("--from", "from_", type=TIME, help="what was stored at this time or later")
@of_masters
async def check_queues(
    call: Call, *, topic: str | None, from_: When | None, where: Where
) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()
    from_ms = call.now_ms() - MONTH_MS if from_ is None else from_.ms(call.now_ms())
    answers = Answers(call)
    said = await answers.each(
        await masters(admin, where, every=True),
        lambda node: admin.check_rocksdb_queues(node.address, topic=topic or "", from_ms=from_ms),
    )
    rows = [
        QueueCheckRow(
            node.broker,
            node.address,
            STATUSES[found.check_status],
            found.check_result or "the broker writes the result to its log",
        )
        for node, found in said
    ]
    return Outcome(rows, exit_code=answers.exit_code)
