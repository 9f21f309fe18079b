"""``--cluster`` of commands that read a topic, and Java's ``-c``, which 5.x gave to them."""

import pytest

from tests.mqadmin.conftest import Run

LINES = (
    "topic status spread {}",
    "topic show spread {}",
    "topicStatus -t spread {}",
    "group lag reader spread {}",
    "consumerProgress -g reader {}",
    "offset skip reader spread --dry-run {}",
    "message query key spread k1 {}",
    "queryMsgByKey -t spread -k k1 {}",
    "queryMsgById -t spread -i k1 {}",
)


@pytest.fixture
def spread(at: Run) -> Run:
    """Return the broker with a topic, a message with a key, and a group that has not read it."""
    # The broker stays for all tests of a file.
    if at("topic", "show", "spread").exit_code == 3:
        at("topic", "create", "spread", "-q", "1")
        at("message", "send", "spread", "m1", "--key", "k1")
        at("offset", "reset", "reader", "spread", "--to", "earliest", "-y")
    return at


@pytest.mark.parametrize("line", LINES)
def test_the_cluster_of_the_topic_shows_what_no_cluster_shows(spread: Run, line: str) -> None:
    assert spread.rows(*line.format("").split()) != []
    of_cluster = spread.rows(*line.format("--cluster DefaultCluster").split())

    assert of_cluster == spread.rows(*line.format("").split())


@pytest.mark.parametrize("line", LINES)
def test_a_cluster_that_the_topic_is_not_in_is_not_found(spread: Run, line: str) -> None:
    assert spread(*line.format("--cluster nowhere").split()).exit_code == 3


@pytest.mark.parametrize(
    "line", ["topic status t", "group lag g", "message query key t k", "message query id 00"]
)
def test_a_store_has_no_clusters(
    at: Run, line: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = tmp_path_factory.mktemp("store")

    refused = at(*line.split(), "--cluster", "c", "--store", str(store))

    assert refused.exit_code == 2
    assert "--cluster c" in refused.err


def test_a_trace_is_read_of_the_times_and_as_far_as_is_asked(spread: Run) -> None:
    line = ("queryMsgTraceById", "-i", "k1")

    assert spread(*line, "-b", "0", "-e", "1", "-c", "1").exit_code == 3
    assert spread("message", "trace", "k1", "--topic", "spread", "--count", "1").exit_code == 0
