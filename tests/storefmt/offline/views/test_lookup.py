"""Finding messages by id and key."""

import pytest

from storefmt.errors import NotInStore
from storefmt.offline import StoreDir
from tests.golden import Golden


def messages(golden: Golden, name: str) -> list[dict]:
    return [line for line in golden.jsonl(name, "records") if line["kind"] == "msg"]


@pytest.mark.parametrize("name", ["basic", "kinds", "ipv6", "v5"])
def test_every_message_is_found_by_its_offset_id(golden: Golden, name: str) -> None:
    with StoreDir.open(golden.store(name)) as store:
        for line in messages(golden, name):
            assert store.find_message(line["msgId"]).log_offset == line["phy"]


@pytest.mark.parametrize("name", ["basic", "ipv6"])
def test_messages_are_found_by_their_unique_key(golden: Golden, name: str) -> None:
    with StoreDir.open(golden.store(name)) as store:
        for line in messages(golden, name)[::37]:
            unique_key = line["properties"].get("UNIQ_KEY")
            if unique_key:
                assert store.find_message(unique_key).unique_key == unique_key


def test_unique_key_gives_the_message_and_not_the_brokers_copy(golden: Golden) -> None:
    with StoreDir.open(golden.store("kinds")) as store:
        line = next(
            line
            for line in messages(golden, "kinds")
            if line["topic"] == "kd-delay" and line["properties"].get("UNIQ_KEY")
        )

        assert store.find_message(line["properties"]["UNIQ_KEY"]).topic == "kd-delay"


def test_without_index_the_log_is_searched(golden: Golden) -> None:
    path = golden.store("basic")
    line = messages(golden, "basic")[700]
    for file in (path / "index").iterdir():
        file.unlink()

    with StoreDir.open(path) as store:
        unique_key = line["properties"]["UNIQ_KEY"]
        assert store.find_message(unique_key).log_offset == line["phy"]
        found = store.query_key(line["topic"], unique_key)
        assert [record.log_offset for record in found] == [line["phy"]]


def test_what_is_not_there_is_not_found(golden: Golden) -> None:
    with StoreDir.open(golden.store("ipv6")) as store:
        for message_id in ("", "no such id", "7F000001000055970000000000000001", "FF" * 28):
            with pytest.raises(NotInStore):
                store.find_message(message_id)


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6"])
def test_queries_give_the_real_hits_without_the_clashes(golden: Golden, name: str) -> None:
    with StoreDir.open(golden.store(name)) as store:
        for query in golden.expected(name)["open"]["indexQueries"]:
            found = store.query_key(
                query["topic"],
                query["key"],
                begin_ms=query["begin"],
                end_ms=query["end"],
                count_max=1000,
            )
            hits = {record.log_offset for record in found}
            if query["maxNum"] >= 64:
                # Whole seconds in the index let a time span match a little more than it says.
                for log_offset in set(query["phyOffsets"]) - hits:
                    assert not really_has(store, log_offset, query)
                assert hits <= set(query["phyOffsets"])


def really_has(store: StoreDir, log_offset: int, query: dict) -> bool:
    try:
        record = store.record_at(log_offset)
    except NotInStore:
        return False
    has_key = query["key"] in record.keys or query["key"] == record.unique_key
    in_time = query["begin"] <= record.store_ms <= query["end"]
    return record.topic == query["topic"] and has_key and in_time


def test_clashing_keys_are_told_apart(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        topics = {topic for topic, _ in store.queues()}
        found = {
            key: {one.log_offset for topic in topics for one in store.query_key(topic, key)}
            for key in ("collAa", "collBB")
        }

    assert found["collAa"]
    assert found["collBB"]
    assert not found["collAa"] & found["collBB"]


def test_the_newest_are_kept_where_there_are_more(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        everything = store.query_key("clicks_v1", key_of_many(golden), count_max=1000)
        few = store.query_key("clicks_v1", key_of_many(golden), count_max=1)

    assert len(everything) > 1
    assert few == everything[-1:]


def key_of_many(golden: Golden) -> str:
    counts: dict[str, int] = {}
    for line in messages(golden, "basic"):
        if line["topic"] == "clicks_v1":
            for key in line["properties"].get("KEYS", "").split():
                counts[key] = counts.get(key, 0) + 1
    return max(counts, key=lambda key: counts[key])


@pytest.mark.parametrize("case", ["16-index-loop", "17-index-slot-garbage", "19-index-truncated"])
def test_damaged_index_hides_no_message(golden: Golden, case: str) -> None:
    with StoreDir.open(golden.damaged(case)) as store:
        for line in messages(golden, "basic")[::101]:
            unique_key = line["properties"].get("UNIQ_KEY")
            if unique_key:
                assert store.find_message(unique_key).log_offset == line["phy"]
