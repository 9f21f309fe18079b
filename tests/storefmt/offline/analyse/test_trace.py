"""The life of a message, against the real stores: delay, transactions, retries, DLQ, 5.x."""

import shutil
from pathlib import Path

import pytest

from storefmt.errors import NotInStore
from storefmt.offline import StoreDir
from storefmt.offline.analyse.trace import TraceResult, trace
from tests.golden import Golden
from tests.storefmt.offline.stores import rebuilt, records_in


def life_of(path: Path, which: str, **options: object) -> TraceResult:
    with StoreDir.open(path) as store:
        return trace(store, which, **options)


def steps_of(life: TraceResult) -> list[str]:
    return [step.step.value for step in life.steps]


LIVES = {
    "delay1": ["delay", "delay", "deliver", "deliver"],
    "commit-0": ["half", "commit", "op"],
    "rollback-0": ["half", "rollback"],
    "later-0": ["half", "half_check", "commit", "op"],
    "never-0": ["half", "half_check", "half_check", "half_check", "given_up"],
    "pending-0": ["half"],
    "retry1": ["store", "retry_delay", "retry", "dead_letter"],
}


@pytest.mark.parametrize("key", sorted(LIVES))
def test_life_of_a_key_is_what_the_broker_did(golden: Golden, key: str) -> None:
    life = life_of(golden.store("kinds"), key)

    assert steps_of(life) == LIVES[key]
    assert [step.at_ms for step in life.steps] == sorted(step.at_ms for step in life.steps)


def test_every_way_to_name_a_message_gives_the_same_life(kinds: Path) -> None:
    by_key = life_of(kinds, "retry1")
    half = by_key.steps[0].record

    by_unique_key = life_of(kinds, half.unique_key)
    by_offset_id = life_of(kinds, by_key.steps[2].record.msg_id)

    assert steps_of(by_unique_key) == steps_of(by_offset_id) == LIVES["retry1"]


def test_a_pending_transaction_is_said(kinds: Path) -> None:
    pending = life_of(kinds, "pending-0")

    assert any("pending" in note for note in pending.notes)
    assert not any(
        "pending" in n for k in ("never-0", "rollback-0") for n in life_of(kinds, k).notes
    )


def test_delays_say_when_they_end(golden: Golden) -> None:
    life = life_of(golden.store("kinds"), "delay1")

    due = [step.due_ms for step in life.steps if step.step.value == "delay"]
    came = [step.at_ms for step in life.steps if step.step.value == "deliver"]
    assert all(0 <= at - due_ms < 1000 for at, due_ms in zip(came, due, strict=True))


def test_copies_in_other_queues_are_steps(golden: Golden) -> None:
    path = golden.store("kinds-lmq")
    record = next(one for one in records_in(path) if one.topic == "kd-lmq")
    life = life_of(path, record.unique_key)

    copies = [step for step in life.steps if step.step.value == "copy"]
    assert copies
    assert all(step.queue[0] != "kd-lmq" and step.record == record for step in copies)


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("r0", ["store", "retry_delay", "retry", "dead_letter"]),
        ("tm1", ["delay", "deliver"]),
        ("tmrecall", ["delay", "recall"]),
        ("lv1", ["delay", "deliver"]),
        ("tx0", ["half", "commit", "op"]),
        ("pop3", ["store", "retry", "retry"]),
    ],
)
def test_lives_in_a_5_x_store(golden: Golden, key: str, wanted: list[str]) -> None:
    assert steps_of(life_of(golden.store("v5"), key)) == wanted


def test_a_recall_is_found_where_the_index_has_only_the_timer(
    golden: Golden, tmp_path: Path
) -> None:
    path, out = golden.store("v5"), tmp_path / "out"
    rebuilt(path, out)
    shutil.rmtree(path / "index")
    shutil.move(out / "index", path / "index")

    life = life_of(path, "tmdel")

    assert steps_of(life) == ["delay", "recall"]
    recall = life.steps[-1].record
    with StoreDir.open(path) as store:
        assert store.index_files[-1].header.end_log_offset > recall.log_offset


def test_without_an_index_the_whole_log_is_read_and_it_is_said(kinds: Path) -> None:
    for file in (kinds / "index").iterdir():
        file.unlink()

    life = life_of(kinds, "retry1")

    assert steps_of(life) == LIVES["retry1"]
    assert any("whole log" in note for note in life.notes)


def test_without_the_op_queue_the_rest_is_still_told(kinds: Path) -> None:
    for file in (kinds / "consumequeue" / "RMQ_SYS_TRANS_OP_HALF_TOPIC").rglob("0*"):
        if file.is_file():
            file.unlink()

    assert steps_of(life_of(kinds, "commit-0")) == ["half", "commit"]


def test_topic_narrows_a_key_to_what_was_sent_there(kinds: Path) -> None:
    there = life_of(kinds, "retry1", topic="kd-retry")

    assert steps_of(there) == LIVES["retry1"]
    with pytest.raises(NotInStore, match="kd-normal"):
        life_of(kinds, "retry1", topic="kd-normal")


@pytest.mark.parametrize("which", ["no-such-key", "7F000001000055970000000000FFFFFF", "", "\x1b"])
def test_what_is_not_there_is_not_in_store(golden: Golden, which: str) -> None:
    with pytest.raises(NotInStore):
        life_of(golden.store("kinds"), which)


def test_a_message_without_unique_key_is_followed_by_its_offset_id(basic: Path) -> None:
    raw = next(one for one in records_in(basic) if not one.unique_key)
    life = life_of(basic, raw.msg_id)

    assert steps_of(life) == ["store"]
    assert any("no unique key" in note for note in life.notes)
