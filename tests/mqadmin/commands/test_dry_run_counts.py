"""A dry run counts what the real run touches: each line that writes is run both ways."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mqadmin.cli.command import ParsedLine
from mqadmin.cli.parse import everything, parse
from tests.mqadmin.conftest import Row, Run

LINES: dict[str, tuple[Sequence[str], str]] = {
    "acl delete": ((), ""),
    "acl set": ((), ""),
    "acl white-addr": ((), ""),
    "acl2 copy": ((), ""),
    "acl2 delete": ((), ""),
    "acl2 set": ((), ""),
    "apply": ((), "apply {file}"),
    "broker clean expired-log": ((), "broker clean expired-log"),
    "broker clean expired-queues": ((), "broker clean expired-queues"),
    "broker clean unused-topics": ((), "broker clean unused-topics"),
    "broker config set": ((), "broker config set defaultQueryMaxNum 31"),
    "broker container add": ((), ""),
    "broker container remove": ((), ""),
    "broker demote": ((), ""),
    "broker pop-records transfer": ((), ""),
    "broker promote": ((), ""),
    "broker read-ahead": ((), ""),
    "broker rocksdb dump": ((), ""),
    "broker timer-engine": ((), ""),
    "broker write-perm add": (
        ("broker write-perm wipe broker-a",),
        "broker write-perm add broker-a",
    ),
    "broker write-perm wipe": (
        ("broker write-perm add broker-a",),
        "broker write-perm wipe broker-a",
    ),
    "cluster rt": ((), "cluster rt --count 2"),
    "cold-data remove": ((), ""),
    "cold-data set": ((), ""),
    "controller clean": ((), ""),
    "controller config set": ((), ""),
    "controller elect": ((), ""),
    "dead-letter resend": (
        ("group create C", "topic create %DLQ%C -q 1", "message send %DLQ%C one"),
        "dead-letter resend C --into origin",
    ),
    "group consume-mode set": ((), ""),
    "group copy": (
        ("offset reset C T --to earliest", "group create C"),
        "group copy C --from {namesrv} --by queue",
    ),
    "group create": ((), "group create New"),
    "group delete": (
        ("group create Old", "offset reset Old T --to earliest"),
        "group delete Old --offsets --topics",
    ),
    "group import": ((), "group import {groups}"),
    "group update": (("group create U",), "group update U --retry-max 3"),
    "ha reset-flush-offset": ((), ""),
    "message bench": ((), "message bench T --count 3"),
    "message consume-direct": ((), ""),
    "message import": ((), "message import {messages}"),
    "message recall": ((), ""),
    "message resend": ((), "message resend {id}"),
    "message send": ((), "message send T hello"),
    "namesrv config set": ((), "namesrv config set orderMessageEnable true"),
    "namesrv kv delete": (("namesrv kv set S k v",), "namesrv kv delete S k"),
    "namesrv kv set": ((), "namesrv kv set S key value"),
    "offset clone": (("offset reset C T --to latest",), "offset clone C D"),
    "offset import": ((), "offset import {offsets}"),
    "offset reset": (("offset reset R T --to earliest",), "offset reset R T --to latest"),
    "offset skip": (("offset reset S T --to earliest",), "offset skip S T 1"),
    "store epoch": ((), ""),
    "topic create": ((), "topic create Made -q 3 --order"),
    "topic delete": (
        ("topic create Gone -q 2", "message send Gone x", "offset reset C Gone --to latest"),
        "topic delete Gone --offsets",
    ),
    "topic import": ((), "topic import {topics}"),
    "topic order-conf": ((), "topic order-conf T broker-a:2"),
    "topic perm": (("topic create P -q 1",), "topic perm P R"),
    "topic static grow": ((), ""),
    "topic static remap": ((), ""),
    "topic update": (("topic create V -q 1",), "topic update V -q 5"),
    "undo": (("topic create W -q 2", "topic update W -q 4"), "undo"),
    "user copy": ((), ""),
    "user create": ((), ""),
    "user delete": ((), ""),
    "user update": ((), ""),
}
"""Each command that changes something: what comes before, and the line. A command without a line
needs what the broker of this test does not have, and its rows come from the same plan."""
WOULD = {"would change"}
DONE = {"changed", "stored", "done", "sent", "SEND_OK", "put back"}
COUNTS = ("topics", "sent", "skipped", "replayed")


@pytest.fixture
def names(at: Run, tmp_path: Path, servers: object) -> dict[str, str]:
    """Return what the lines name; a topic has three messages."""
    # The line before may have taken the permission away.
    at("broker", "write-perm", "add", "broker-a", "-y")
    at("topic", "create", "T", "-q", "2")
    sent = [at.row("message", "send", "T", f"m{number}") for number in range(3)]
    files = {
        "topics": [
            {"topicName": "I1", "readQueueNums": 2, "writeQueueNums": 2},
            {"topicName": "I2"},
        ],
        "groups": [{"groupName": "J1"}, {"groupName": "J2"}],
    }
    made = {"namesrv": servers.namesrv, "id": str(sent[0]["msg_id"])}  # type: ignore[attr-defined]
    for name, document in files.items():
        (tmp_path / name).write_text(json.dumps(document))
        made[name] = str(tmp_path / name)
    (tmp_path / "messages").write_text('{"topic": "T", "body": "a"}\n{"topic": "T", "body": "b"}\n')
    (tmp_path / "file").write_text("topics: {Applied1: {'*': {read_queues: 3, write_queues: 3}}}\n")
    place = {"group": "K", "topic": "T", "broker": "broker-a", "queue_id": 0, "consumer_offset": 1}
    (tmp_path / "offsets").write_text(json.dumps(place) + "\n")
    return made | {name: str(tmp_path / name) for name in ("messages", "file", "offsets")}


def counted(rows: Sequence[Row], words: set[str]) -> tuple[int, list[int]]:
    """Return how many rows say so, and the sums of what they count."""
    touched = [row for row in rows if words & {str(row.get(key)) for key in KEYS}]
    return len(touched), [sum(size_of(row.get(name)) for row in rows) for name in COUNTS]


def size_of(value: object) -> int:
    """Return a count, or how many there are of what is listed."""
    return len(value) if isinstance(value, list) else int(str(value or 0))


KEYS = ("result", "how", "status")


def test_every_command_that_writes_is_here() -> None:
    assert {made.name for made in everything() if made.writes} == LINES.keys()


@pytest.mark.parametrize("name", [name for name, (_, line) in LINES.items() if line])
def test_a_dry_run_counts_what_the_real_run_touches(
    at: Run, names: dict[str, str], name: str
) -> None:
    before, line = LINES[name]
    words = line.format(**names).split()
    made = parse(words)
    assert isinstance(made, ParsedLine)
    assert made.command.name == name
    for step in before:
        at(*step.split(), "-y")

    dry = at(*words, "--dry-run", "-ojson")
    real = at(*words, "-y", "-ojson")

    assert dry.exit_code == real.exit_code == 0, (dry, real)
    planned, done = counted(dry.rows, WOULD), counted(real.rows, DONE)
    assert len(dry.rows) == len(real.rows)
    assert planned[1] == done[1]
    if planned[0]:
        assert planned[0] == done[0], (dry.out, real.out)
