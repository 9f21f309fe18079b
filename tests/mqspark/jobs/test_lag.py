"""``lag`` over several stores and times, against a count of the records one by one."""

from collections import Counter
from pathlib import Path

import pytest

from mqspark.errors import BadOption
from mqspark.jobs.lag import Older, lag_local, older_of, rows_of
from storefmt.errors import StoreError
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def middle_ms(directory: Path) -> int:
    """Return a time between the first message of a store and its last."""
    with StoreDir.open(directory) as store:
        info = store.info()
    return (info.first_ms + info.last_ms) // 2


def stored_by(directory: Path, at_ms: int) -> dict[tuple[str, int], int]:
    """Return how many entries each queue had at a time; from the first one on."""
    ends: dict[tuple[str, int], int] = {}
    with StoreDir.open(directory) as store:
        for key in store.queues():
            view = store.queue(*key)
            ends[key] = view.min_offset
            for queue_offset, entry in view.entries():
                if store.record_at(entry.log_offset).store_ms <= at_ms:
                    ends[key] = queue_offset + 1
    return ends


@pytest.mark.parametrize("name", ["basic", "kinds"])
def test_at_a_time_a_queue_ends_with_what_was_stored_by_then(golden: Golden, name: str) -> None:
    directory = golden.store(name)
    at_ms = middle_ms(directory)
    ends, expected = stored_by(directory, at_ms), Counter[tuple[str, str]]()
    with StoreDir.open(directory) as store:
        for (topic, group), queues in store.offsets().items():
            for queue_id, offset in queues.items():
                expected[group, topic] += max(0, ends.get((topic, queue_id), 0) - offset)
    file = directory / "config" / "consumerOffset.json"

    found = rows_of(lag_local([str(directory)], offsets=[Older(str(file), at_ms)]))

    then = [row for row in found if row["at_ms"] == at_ms]
    assert {(row["group"], row["topic"]): row["lag"] for row in then} == dict(expected)
    now = [row for row in found if row["at_ms"] == 0]
    assert now == rows_of(lag_local([str(directory)]))
    assert sum(row["lag"] for row in then) < sum(row["lag"] for row in now)


def test_stores_of_several_brokers_are_added_up(golden: Golden) -> None:
    one, other = golden.store("basic"), golden.store("kinds")
    sums: Counter[tuple[str, str]] = Counter()
    for row in [*rows_of(lag_local([str(one)])), *rows_of(lag_local([str(other)]))]:
        sums[row["group"], row["topic"]] += row["lag"]

    found = rows_of(lag_local([str(one), str(other)]))

    assert {(row["group"], row["topic"]): row["lag"] for row in found} == dict(sums)


def test_older_files_have_a_time_each(golden: Golden, tmp_path: Path) -> None:
    file = golden.store("kinds") / "config" / "consumerOffset.json"
    changed_ms = file.stat().st_mtime_ns // 1_000_000
    damaged = tmp_path / "me@home.json"
    damaged.write_text("{")

    assert older_of(f"{file}@17, {file},{damaged}@18") == [
        Older(str(file), 17),
        Older(str(file), changed_ms),
        Older(str(damaged), 18),
    ]
    assert older_of(str(damaged))[0].path == str(damaged)
    with pytest.raises(ValueError, match=r"gone\.json: No such file"):
        older_of("gone.json")
    with pytest.raises(StoreError, match=f"{damaged}: "):
        lag_local([str(golden.store("kinds"))], offsets=[Older(str(damaged), 1)])
    with pytest.raises(BadOption, match="those of one store, not of 2"):
        lag_local(["a", "b"], offsets=[Older(str(file), 1)])
