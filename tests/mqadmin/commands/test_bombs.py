"""A body that grows beyond every limit when it is decompressed: that message alone suffers.

m0   bomb   m2      every command that shows messages shows all three and exits with 0
"""

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

from mqadmin.messages.message_rows import BODY_SIZE_MAX
from mqadmin.shell.server import ServerAddresses
from mqclient import BlockingClient
from mqclient.message import Message
from mqclient.producer.producer_settings import ProducerSettings
from storefmt.formats.message import encode_record
from storefmt.formats.sysflag import COMPRESSED
from tests.mqadmin.commands.offline import run
from tests.mqadmin.conftest import Run, rows
from tests.storefmt.offline.tiny import BORN_MS, BROKER, LOG_FILE_SIZE, PRODUCER, tiny_store

ROOMY = ProducerSettings(max_message_size=2 * BODY_SIZE_MAX, compress_level=9)


def check(shown: list[dict], err: str) -> None:
    """See that the bomb is shown as it is stored, with the reason, and the others as ever."""
    assert [row.get("body") for row in shown] == ["m0", None, "m2"]
    assert ["body_error" in row for row in shown] == [False, True, False]
    assert f"grows beyond {BODY_SIZE_MAX} bytes" in shown[1]["body_error"]
    assert len(base64.b64decode(shown[1]["body_base64"])) == shown[1]["body_size"]
    assert err.count("the stored bytes are shown") == 1


@pytest.fixture(scope="module")
def topic(servers: ServerAddresses) -> str:
    """Return a topic with a bomb between two messages; all have the key ``k``."""
    name = "bombs"
    bodies = (b"m0", bytes(BODY_SIZE_MAX + 1), b"m2")
    with BlockingClient(servers.namesrv, timeout_s=60, settings=ROOMY) as client:
        queue = None
        for body in bodies:
            queue = client.send(Message(name, body, keys="k"), queue=queue).queue
    return name


@pytest.mark.parametrize(
    "words",
    [
        ("message", "print", "bombs"),
        ("message", "tail", "bombs", "--from", "earliest", "--no-follow"),
        ("message", "query", "key", "bombs", "k"),
        ("message", "query", "time", "bombs", "--from", "0"),
        ("message", "get", "k", "--topic", "bombs"),
        ("printMsg", "-t", "bombs"),
    ],
    ids=" ".join,
)
def test_a_bomb_between_messages_ends_no_command(at: Run, topic: str, words: tuple[str]) -> None:
    done = at(*words, "--output", "json")

    shown = sorted(rows(done), key=lambda row: row["queue_offset"])
    check(shown, done.err)


def test_a_bomb_alone_is_shown_and_exits_with_0(at: Run, topic: str) -> None:
    (bomb,) = [row for row in at.rows("message", "print", topic) if "body_error" in row]

    by_id = at("message", "query", "id", bomb["msg_id"], "-ojson")
    table = at("message", "print", topic)

    assert rows(by_id)[0]["body_error"] == bomb["body_error"]
    assert table.exit_code == 0
    assert f"message {bomb['msg_id']}: body of" in table.err


def test_a_bomb_between_messages_is_not_resent_and_the_others_are(at: Run, topic: str) -> None:
    shown = at.rows("message", "query", "key", topic, "k")
    ids = [row["msg_id"] for row in sorted(shown, key=lambda row: row["queue_offset"])]

    done = at("message", "resend", *ids, "--to", "resent", "-y", "-ojson")

    sent = rows(done, exit_code=5)
    assert [row["status"] for row in sent] == ["SEND_OK", "failed", "SEND_OK"]
    assert f"grows beyond {BODY_SIZE_MAX} bytes" in sent[1]["error"]


def test_an_export_keeps_the_bomb_and_an_import_refuses_it(
    at: Run, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "bombs.jsonl"

    done = at("message", "export", topic, "--to", str(file))
    back = at("message", "import", str(file), "--to", "other", "-y")

    assert done.exit_code == 0
    check([json.loads(line) for line in file.read_text().splitlines()], done.err)
    assert back.exit_code == 2
    assert re.search(
        r"line 2 contains a stored body.*grows beyond|line 2 contains a stored .*limit", back.err
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with a bomb between two messages of topic ``bombs``."""
    root, data = tiny_store(tmp_path), b""
    bomb = zlib.compress(bytes(BODY_SIZE_MAX + 1), 9)
    for number, (body, flags) in enumerate(((b"m0", 0), (bomb, COMPRESSED), (b"m2", 0))):
        data += encode_record(
            topic=b"bombs", queue_id=0, queue_offset=number, log_offset=len(data), flag=0,
            sys_flag=flags, born_ms=BORN_MS, born_host=PRODUCER, store_ms=BORN_MS + number,
            store_host=BROKER, reconsume_times=0, prepared_transaction_offset=0, body=body,
            properties=b"KEYS\x01k",
        )  # fmt: skip
    for old in (root / "commitlog").iterdir():
        old.unlink()
    size = -(-(len(data) + 8) // LOG_FILE_SIZE) * LOG_FILE_SIZE
    (root / "commitlog" / f"{0:020d}").write_bytes(data.ljust(size, b"\0"))
    return root


@pytest.mark.parametrize(
    "words",
    [
        ("store", "log", "STORE", "--topic", "bombs", "--inflate"),
        ("message", "print", "bombs", "--store", "STORE"),
        ("message", "tail", "bombs", "--store", "STORE", "--from", "earliest", "--no-follow"),
    ],
    ids=" ".join,
)
def test_a_bomb_in_a_store_ends_no_command(store: Path, words: tuple[str]) -> None:
    done = run(*(str(store) if word == "STORE" else word for word in words))

    assert done.exit_code == 0
    check(done.rows, done.err)
