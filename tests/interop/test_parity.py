"""The real mqadmin and ours on the same real broker: the facts agree, and docs/parity.md says so.

``PARITY=write`` in the environment writes the page from what this run has found.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqadmin.call import Workplace
from mqadmin.catalog import JAVA_NAMES, fold
from mqadmin.runner import run_line
from tests.golden import REPOSITORY
from tests.interop.parity import APART, READS, WRITES, places, words_of
from tests.interop.parityfacts import Row
from tests.interop.rocketmq import Broker, JavaSide, Namesrv, Servers
from tests.interop.scene import TOPIC, Scene, blank, play, settle
from tests.interop.toolbox import Toolbox
from tests.interop.waiting import eventually
from tests.mqadmin.conftest import console_of

pytestmark = pytest.mark.java

PAGE = REPOSITORY / "docs" / "parity.md"
HEAD = """# The Java mqadmin and ours, command by command

<!-- Written by tests/interop/test_parity.py (PARITY=write); edit the table there. -->

Each Java name but those that the table says have no namesake is also a name of ours, with Java's
flags. The test runs the real tool of 4.9.7 and
ours with the same words on the same real broker and compares facts: names, offsets, numbers. Of
a command that changes something the Java tool then looks at what either of them did.
Everywhere: exit codes tell how it went (Java's are 0), names are never cut, a deletion asks first
(`-y` says yes), and `--output json` is there.

| Java | ours | result | compared, or why not |
| --- | --- | --- | --- |
"""


@pytest.fixture(scope="module")
def scene(
    toolbox: Toolbox, java_side: JavaSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Yield the scene on a real pair."""
    namesrv = Namesrv(java_side).await_ready()
    store = tmp_path_factory.mktemp("parity") / "store"
    settings = {"traceTopicEnable": "true"}
    broker = Broker(java_side, store=store, namesrv=namesrv.address, settings=settings)
    try:
        broker.await_ready()
        made = play(Servers("java", namesrv, broker), toolbox)
        made.consumer.messages(6)

        asyncio.run(settle(made.servers))
        yield made
        made.consumer.stop()
    finally:
        broker.kill()
        namesrv.stop()


def names_for(scene: Scene, side: str) -> dict[str, str]:
    broker = scene.servers.broker
    known = places(broker.address, broker.name, broker.cluster, scene.client_id)
    more = {"id": scene.offset_id, "unique": scene.unique_key}
    return {**known, **more, "side": side}


def ours(scene: Scene, tmp_path: Path, *words: str) -> list[Row]:
    """Run our command, which must end well, and return its rows."""
    workplace = Workplace()
    console, out, err = console_of({"HOME": str(tmp_path)})
    where = ("--namesrv", scene.servers.namesrv.address, "--timeout", "20", "--output", "json")
    done = run_line([*words, *where, "--yes"], console, workplace)
    console.out.flush()
    workplace.link.close()
    assert done == 0, (words, err.getvalue(), out.getvalue())
    made: Any = json.loads(out.getvalue() or b"[]")
    return made if isinstance(made, list) else [made]


@pytest.mark.parametrize("name", READS)
def test_both_see_the_same(scene: Scene, tmp_path: Path, name: str) -> None:
    case = READS[name]
    words = words_of(case.words, names_for(scene, "Java"))

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
        names = names_for(scene, side)
        for before in case.before:
            scene.mqadmin(*words_of(before, names))
        words = words_of(case.words, names)
        if side == "Java":
            assert scene.mqadmin(name, *words).stdout
        else:
            ours(scene, tmp_path, name, *words)
        text = look(scene, tmp_path, words_of(case.looks, names))
        told.append(
            [
                re.sub(r"commitLogOffset=\d+", "<log offset>", line.replace(side, "<side>"))
                for line in blank(text, scene)
                if case.keep.format(**names) in line
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


def test_every_command_has_its_row(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "mqadmin-4.9.7.json").read_text())

    assert {one["name"] for one in facts} == {*READS, *WRITES, *APART}
    page = page_of([one["name"] for one in facts])
    if os.environ.get("PARITY") == "write":
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def page_of(names: list[str]) -> str:
    """Return docs/parity.md."""
    return HEAD + "".join(
        f"| {' | '.join(row_of(name))} |\n" for name in sorted(names, key=str.lower)
    )


def row_of(name: str) -> tuple[str, str, str, str]:
    native = JAVA_NAMES.get(fold(name))
    shown = f"`{native}`" if native else "–"
    if name in APART:
        case = APART[name]
        result = "differs on purpose" if case.differs else "not compared here"
        return f"`{name}`", shown, result, case.why
    found = READS.get(name) or WRITES[name]
    if found.differs:
        return f"`{name}`", shown, "agrees; differs on purpose", f"{found.facts}; {found.differs}"
    return f"`{name}`", shown, "agrees", found.facts
