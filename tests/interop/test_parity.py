"""The real mqadmin and ours on the same real broker: the facts agree, and docs/parity.md says so.

``PARITY=write`` in the environment writes the page from what this run has found.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mqadmin.cli.java.table import JAVA, native_of
from tests.golden import REPOSITORY
from tests.interop.kit.process import Child
from tests.interop.kit.scene import TOPIC, Scene, blank, play, settle
from tests.interop.kit.servers import START_TIMEOUT_S, JavaSide, running_pair
from tests.interop.kit.toolbox import Toolbox
from tests.interop.parity import APART, FIVE, OWN, READS, WRITES
from tests.interop.parityfacts import Row, our_rows
from tests.interop.test_compat_five import ELSEWHERE, names_on_one_cluster
from tests.waiting import eventually

TESTS = {path.stem for path in (REPOSITORY / "tests").rglob("test_*.py")}
PAGE = REPOSITORY / "docs" / "parity.md"
HEAD = """# The Java mqadmin and ours, command by command

<!-- Written by tests/interop/test_parity.py (PARITY=write); edit the table there. -->

Each Java name is also a name of ours, with every flag of Java's. Tests run the real tool of 4.9.7
and ours with the same words on the same real broker and compare facts: names, offsets, numbers.
After a command that changes something, the Java tool inspects the result of either.
All of ours return exit codes (Java's are always 0), never truncate names, ask before a deletion
(`-y` answers yes), and have `--output json`.

The last column is about the tool of 5.4.0 on one cluster of 5.4.0 with a controller. Each name is
run there beside ours (`tests/interop/test_compat_five.py`). "Prints the same" means bytes, with
`--compat`. A name that needs other servers names the module of tests that has them.

| Java | ours | result on 4.9.7 | compared | on 5.4.0 |
| --- | --- | --- | --- | --- |
"""


OPTIONS_HEAD = """
## Options that came with 5.x

Names of 4.9.7 have further options in the tool of 5.4.0. Ours takes each, or says why not.

| Java | option | in ours |
| --- | --- | --- |
"""


SERVERS = """
## What our servers take of 5.x

A broker of ours answers a request code of 5.x that is not in this list like one of 4.9.7: with
code 3.

| 5.x | in our broker |
| --- | --- |
| pop consumption, timer messages, recall, brokers in a group with a controller | served |
| users and rules of ACL 2.0 (3001 to 3010) | served with `authenticationEnabled`, with the codes, \
remarks and decisions of 5.4.0 (`tests/interop/test_auth_beside_five.py`); they are in \
`config/authUsers.json` instead of RocksDB, and `aclStrict` asks for more: \
[security](security.md#a-broker-with-acl-20-authenticationenabledtrue) |
| strategies and providers of ACL 2.0 that are classes of one's own | an error at the start |
| users and rules for gRPC clients | checked by a broker with `grpcServerPort`, and by `mqproxy`, \
which fetches those of its brokers |
| static topics, cold-data flow control, RocksDB stores, `switchTimerEngine` | code 3; a store \
with RocksDB is read by the tools |
"""


@pytest.fixture(scope="module")
def scene(
    toolbox: Toolbox, java_side: JavaSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Yield the scene on a real pair."""
    store = tmp_path_factory.mktemp("parity") / "store"
    with running_pair(java_side, store, settings={"traceTopicEnable": "true"}) as servers:
        made = play(servers, toolbox)
        made.consumer.messages(6)

        asyncio.run(settle(made.servers))
        yield made
        made.consumer.stop()


def ours(scene: Scene, tmp_path: Path, *words: str) -> list[Row]:
    """Run our command, which must end well, and return its rows."""
    return our_rows(scene.servers.namesrv.address, tmp_path, *words)


@pytest.mark.parametrize("name", READS)
def test_both_see_the_same(scene: Scene, tmp_path: Path, name: str) -> None:
    case = READS[name]
    words = scene.words(case.words)

    java = case.java(scene.mqadmin(name, *words).stdout)
    mine = case.ours(ours(scene, tmp_path, name, *words))

    assert java
    assert java - mine == set()
    assert case.at_least or mine - java == set()


@pytest.mark.parametrize("name", WRITES)
def test_both_do_the_same(scene: Scene, tmp_path: Path, name: str) -> None:
    case = WRITES[name]
    told = []
    for side in ("Java", "Ours"):
        for before in case.before:
            scene.mqadmin(*scene.words(before, side=side))
        words = scene.words(case.words, side=side)
        if side == "Java":
            assert scene.mqadmin(name, *words).stdout
        else:
            ours(scene, tmp_path, name, *words)
        text = look(scene, tmp_path, scene.words(case.looks, side=side))
        told.append(
            [
                re.sub(r"commitLogOffset=\d+", "<log offset>", line.replace(side, "<side>"))
                for line in blank(text, scene)
                if case.keep in line
            ]
        )

    assert told[0] == told[1]
    assert told[0] or case.leaves_nothing


def look(scene: Scene, tmp_path: Path, words: list[str]) -> str:
    """Return what is there now."""
    if words[0] == "offset":
        return "\n".join(map(str, ours(scene, tmp_path, *words)))
    shown = scene.mqadmin(*words)
    return shown.stdout + shown.stderr


def test_a_traced_message_is_found_by_both(scene: Scene, tmp_path: Path, toolbox: Toolbox) -> None:
    where = {"namesrv": scene.servers.namesrv.address, "topic": TOPIC}
    spec = {"group": "TracedPG", "mode": "sync", "trace": True}
    body = {"body": "traced", "queue": 0, "broker": scene.servers.broker.name}
    (sent,) = toolbox.run("Producer", {**where, **spec, "messages": [body]})

    async def java() -> str:
        return scene.mqadmin("queryMsgTraceById", "-i", sent["msgId"]).stdout

    shown = asyncio.run(eventually(java, lambda text: "success" in text))
    rows = ours(scene, tmp_path, "queryMsgTraceById", "-i", sent["msgId"])

    told = re.search(r"^Pub\s+(\S+)\s.*?(\d+)ms\s+success", shown, re.MULTILINE)
    assert told is not None
    (pub,) = [row for row in rows if row["step"] == "sent"]
    assert (pub["group"], str(pub["cost_ms"]), pub["success"]) == (told[1], told[2], True)


@pytest.mark.parametrize(
    "words",
    [
        "exportMetadata -c {cluster}",
        "exportMetadata -c {cluster} -s",
        "exportMetadata -b {address} -t",
        "exportMetadata -b {address} -g",
        "exportConfigs -c {cluster}",
        "exportMetrics -c {cluster}",
    ],
)
def test_both_write_the_same_file(scene: Scene, tmp_path: Path, words: str) -> None:
    line = scene.words(words)
    java, mine = tmp_path / "java", tmp_path / "ours"

    told = scene.mqadmin(*line, "-f", str(java)).stdout
    (row,) = ours(scene, tmp_path, *line, "-f", str(mine))

    (file,) = java.iterdir()
    assert f"export {file} success" in told
    assert row["path"] == str(mine / file.name)
    assert exported(mine / file.name) == exported(file)


def exported(file: Path) -> object:
    """Return a document without times, rates and what a moment changes."""
    changing = {"exportTime", "dataVersion", "messageAverageSize", "diskRatio"}

    def still(value: object) -> object:
        if not isinstance(value, dict):
            return sorted(value) if isinstance(value, list) else value
        kept = {key: one for key, one in value.items() if key not in changing}
        return {key: None if "Tps" in key else still(one) for key, one in kept.items()}

    return still(json.loads(file.read_text()))


@pytest.mark.parametrize(
    "name", ["queryMsgById -i {id}", "queryMsgByUniqueKey -t {topic} -i {unique}"]
)
def test_a_member_is_handed_a_message_by_both(scene: Scene, tmp_path: Path, name: str) -> None:
    words = scene.words(f"{name} -g {{online}} -d {{client}}")

    java = scene.mqadmin(*words).stdout
    (row,) = ours(scene, tmp_path, *words)

    told = re.search(r"order=(\w+), autoCommit=(\w+), consumeResult=(\w+), remark=(\w+)", java)
    assert told is not None
    said = (row["order"], row["auto_commit"], row["result"], row["remark"])
    assert told.groups() == tuple(json.dumps(one).strip('"') for one in said)


def test_a_message_is_sent_again_by_both(scene: Scene, tmp_path: Path) -> None:
    words = ["queryMsgById", "-i", scene.offset_id, "-s", "true"]

    java = re.search(r"offsetMsgId=(\w+)", scene.mqadmin(*words).stdout)
    (row,) = ours(scene, tmp_path, *words)

    assert java is not None
    (first,) = ours(scene, tmp_path, "queryMsgById", "-i", java[1])
    (second,) = ours(scene, tmp_path, "queryMsgById", "-i", str(row["new_msg_id"]))
    for name in ("topic", "body", "tags", "keys", "flag"):
        assert first[name] == second[name]


def endless(java_side: JavaSide, *words: str) -> Child:
    """Start a command of the real tool that ends only when it is stopped."""
    main = "org.apache.rocketmq.tools.command.MQAdminStartup"
    log = java_side.logs / "endless.err"
    return Child(java_side.java(main, *words, heap="256m"), log=log, directory=java_side.directory)


def test_both_measure_every_broker(scene: Scene, tmp_path: Path, java_side: JavaSide) -> None:
    scene.mqadmin(*scene.words("updateTopic -t {broker} -r 1 -w 1 -b {address}"))
    namesrv = scene.servers.namesrv.address
    running = endless(java_side, "clusterRT", "-a", "3", "-i", "1", "-n", namesrv)
    try:
        shown = running.await_line(
            lambda line: scene.servers.broker.name in line, timeout_s=START_TIMEOUT_S
        )
    finally:
        running.kill()

    (row,) = ours(scene, tmp_path, "cluster", "rt", "--count", "3")

    cluster, broker, _, done, failed = shown.split()
    assert (cluster, broker) == (row["cluster"], row["broker"])
    assert (int(done), int(failed)) == (row["sent"], row["failed"])


def names_of_tool(fact_tables: Path, version: str) -> set[str]:
    """Return the names of a release of the Java tool."""
    facts = json.loads((fact_tables / f"mqadmin-{version}.json").read_text())
    return {one["name"] for one in facts}


def test_every_command_has_its_row(fact_tables: Path) -> None:
    four, five = (names_of_tool(fact_tables, version) for version in ("4.9.7", "5.4.0"))

    assert four == {*READS, *WRITES, *OWN, *APART}
    told = {*FIVE, *names_on_one_cluster()}
    assert five >= told - four
    assert {name for name in five - four if native_of(name)} <= told
    page = page_of(four, five)
    if os.environ.get("PARITY") == "write":
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def page_of(four: set[str], five: set[str]) -> str:
    """Return docs/parity.md."""
    names = sorted(four | five, key=str.lower)
    rows = [row_of(name, five) for name in names]
    options = sorted(newer_options(four), key=lambda row: row[0].lower())
    return HEAD + _table(rows) + OPTIONS_HEAD + _table(options) + SERVERS


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def newer_options(four: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the options that names of 4.9.7 have in 5.x alone, and what ours does with each."""
    for java in JAVA:
        for flag in java.options:
            if flag.since_5 and java.name in four:
                filled = f"fills `{flag.field.rstrip('_').replace('_', '-')}` of `{java.command}`"
                meaning = filled if flag.field else f"accepted: {flag.means}"
                if flag.refused:
                    meaning = f"refused: {flag.refused}"
                yield f"`{java.name}`", f"`{flag.spelled}`", meaning


def row_of(name: str, five: set[str]) -> tuple[str, ...]:
    command = native_of(name)
    shown = f"`{command}`" if command else "not there yet"
    return (f"`{name}`", shown, *result_on_four(name), result_on_five(name, five, command))


def result_on_four(name: str) -> tuple[str, str]:
    if name in APART:
        return "cannot be compared", APART[name]
    case = READS.get(name) or WRITES.get(name) or OWN.get(name)
    if case is None:
        return "came with 5.x", ""
    if case.differs:
        return "agrees; differs on purpose", f"{case.facts}; {case.differs}"
    return "agrees", case.facts


def result_on_five(name: str, five: set[str], command: str | None) -> str:
    if name not in five:
        return "left out of 5.x"
    if command is None:
        return ""
    said = FIVE | names_on_one_cluster()
    module = next((module for module, names in ELSEWHERE.items() if name in names), "")
    where = f" (`{module.rpartition('/')[2]}`)" if module.rpartition("/")[2] in TESTS else ""
    return said.get(name, "not compared: it does not end") + where
