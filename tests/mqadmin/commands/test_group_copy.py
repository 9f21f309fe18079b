"""A group is copied to another cluster: by time and by queue, with its settings."""

from collections.abc import Iterator

import pytest

from mqadmin.shell.server import EmbeddedServer
from tests.mqadmin.conftest import Run, cells

GROUP, TOPIC = "MOVING", "moving-topic"


@pytest.fixture(scope="module")
def old() -> Iterator[str]:
    """Return the name server of the cluster that has the group."""
    with EmbeddedServer() as server:
        yield server.addresses.namesrv


@pytest.fixture
def there(run: Run, old: str) -> Run:
    """Return a function that runs one line at the other cluster, where the group has read half."""
    there = Run(lambda *words, **more: run(*words, "-n", old, **more))
    if there("topic", "show", TOPIC).exit_code:
        there("topic", "create", TOPIC, "-q", "1")
        there("group", "create", GROUP, "--retry-max", "7")
        for number in range(4):
            there("message", "send", TOPIC, f"m{number}")
        there("offset", "reset", GROUP, TOPIC, "--to", "2", "-y")
    return there


def test_by_time_nothing_is_passed_over(at: Run, there: Run, old: str) -> None:
    at("topic", "create", TOPIC, "-q", "2")
    for number in range(4):
        at("message", "send", TOPIC, f"m{number}", "--queue", str(number % 2))

    planned = at.rows("group", "copy", GROUP, "--from", old, "--dry-run")
    unchanged = at("offset", "show", GROUP)
    done = at("group", "copy", GROUP, "--from", old, "-y", "-ojson")

    # These messages came after those that are unread there.
    assert cells(planned, "queue_id", "new_offset") == [(0, 0), (1, 0)]
    assert unchanged.exit_code == 3
    assert cells(done.rows, "queue_id", "new_offset") == [(0, 0), (1, 0)]
    assert done.exit_code == 0
    assert f"group {GROUP} on broker-a: changed" in done.err
    assert at.row("group", "config", GROUP)["retry_max_times"] == 7


def test_by_queue_numbers_are_kept_and_those_past_the_end_refused(
    at: Run, there: Run, old: str
) -> None:
    at("topic", "create", TOPIC, "-q", "2")
    words = ("group", "copy", GROUP, "--from", old, "--by", "queue", "-y")
    there("offset", "reset", GROUP, TOPIC, "--to", "latest", "-y")

    missing = at(*words, "--map", "broker-a=broker-5")
    refused = at(*words, "-ojson")
    clamped = at(*words, "--clamp", "-ojson")

    assert (missing.exit_code, "no such queue in this cluster" in missing.err) == (5, True)
    assert refused.exit_code == 1
    assert "4 is past the end of this queue" in refused.rows[0]["remark"]
    assert clamped.exit_code == 0
    assert "is past the end" in clamped.rows[0]["remark"]


def test_a_group_or_cluster_that_is_not_there(at: Run, there: Run, old: str) -> None:
    assert at("group", "copy", "NO_GROUP", "--from", old, "-y").exit_code == 3
    assert at("group", "copy", GROUP, "--from", "no-context", "-y").exit_code == 3
