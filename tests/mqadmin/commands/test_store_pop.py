"""``store pop``: checkpoints and acknowledgements of a store directory, by name."""

from pathlib import Path

import pytest

from tests.mqadmin.commands.offline import run
from tests.records import record_bytes
from tests.storefmt.formats.test_pop_records import ACK, BATCH, CK

REVIVE = b"rmq_sys_REVIVE_LOG_TestCluster"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with a message, a checkpoint, two acknowledgements, and one of nobody."""
    wanted = [
        (b"T", b"body", b""),
        (REVIVE, CK, b"TAGS\x01ck\x02"),
        (REVIVE, ACK, b"TAGS\x01ack\x02"),
        (REVIVE, BATCH, b"TAGS\x01bAck\x02"),
        (REVIVE, b"nonsense", b"TAGS\x01ck\x02"),
    ]
    log = b""
    for number, (topic, body, properties) in enumerate(wanted):
        log += record_bytes(
            topic=topic,
            body=body,
            properties=properties,
            log_offset=len(log),
            queue_offset=number,
            queue_id=3,
            store_ms=1_000 * number,
        )
    file = tmp_path / "store" / "commitlog" / "00000000000000000000"
    file.parent.mkdir(parents=True)
    file.write_bytes(log + bytes(4096))
    return tmp_path / "store"


def test_each_record_of_pop_is_a_row_and_what_is_none_is_named(store: Path) -> None:
    done = run("store", "pop", store)

    first = done.rows[0]
    assert [row["kind"] for row in done.rows] == ["checkpoint", "ack", "batch ack"]
    assert [row["queue_offsets"] for row in done.rows] == [[5, 6], [2], [0, 1]]
    assert (first["group"], first["topic"], first["queue_id"]) == ("infl", "Fifo1", 1)
    assert (first["pop_ms"], first["revive_ms"]) == (1_795_479_175_131, 1_795_479_235_131)
    assert (first["revive_queue_id"], first["file"]) == (3, "commitlog/00000000000000000000")
    assert [row["revive_ms"] for row in done.rows[1:]] == [None, None]
    assert "is not a POP record" in done.err
    assert done.exit_code == 0


def test_options_narrow_the_rows(store: Path) -> None:
    def kinds(*options: str) -> list[str]:
        return [row["kind"] for row in run("store", "pop", store, *options).rows]

    assert kinds("--group", "G") == ["ack", "batch ack"]
    assert kinds("--topic", "Fifo1") == ["checkpoint"]
    assert kinds("--limit", "2") == ["checkpoint", "ack"]
    assert kinds("--from", "2000", "--to", "2500") == ["ack"]


def test_a_store_without_pop_has_no_rows(tmp_path: Path, store: Path) -> None:
    (store / "commitlog" / "00000000000000000000").write_bytes(record_bytes() + bytes(4096))

    assert run("store", "pop", store).rows == []
    assert run("store", "pop", tmp_path / "missing").exit_code == 3
