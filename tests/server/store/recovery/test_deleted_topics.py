"""Deletions of topics before a power cut that takes the end of the log."""

from pathlib import Path

import pytest

from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    abandon,
    bodies,
    delete_topic,
    flush,
    message,
    open_store,
    put_and_write,
    small_config,
)


@pytest.mark.parametrize("seed", range(8))
def test_topic_that_was_deleted_behind_what_a_power_cut_left_keeps_its_new_messages(
    disk: SimDisk, seed: int
) -> None:
    config = small_config(Path("/store"), log_file_size=1 << 16)
    store = open_store(config, disk=disk)
    put_and_write(store, [message(0, queue_id=0)])
    flush(store)
    put_and_write(store, [message(number, topic="topic-b") for number in range(40)])
    delete_topic(store, "topic-a")
    abandon(store)
    disk = disk.crash(seed)

    store = open_store(config, disk=disk)
    put_and_write(store, [message(number, queue_id=0) for number in range(10)])
    sent = bodies(store, "topic-a", 0)
    abandon(store)
    store = open_store(config, disk=disk)

    assert len(sent) == 10
    assert bodies(store, "topic-a", 0) == sent
    abandon(store)
