"""How a group consumes a topic, PULL or POP: set, shown, and told by ``rebalance show``."""

import json
from collections.abc import Callable

from tests.mqadmin.conftest import Result


def rows(done: Result) -> list[dict[str, object]]:
    found = json.loads(done.out)
    return found if isinstance(found, list) else [found]


def test_a_mode_is_set_shown_and_put_back(at: Callable[..., Result]) -> None:
    at("topic", "create", "popped", "-q", "2")
    at("group", "create", "poppers")
    line = ("group", "consume-mode", "set", "poppers", "popped", "pop", "--share-queues", "3")

    dry = rows(at(*line, "--dry-run", "-o", "json"))
    made = rows(at(*line, "-o", "json"))
    shown = rows(at("group", "consume-mode", "get", "poppers", "-o", "json"))
    again = rows(at(*line, "-o", "json"))
    told = at("rebalance", "show", "poppers", "popped")
    at("group", "consume-mode", "set", "poppers", "popped", "PULL")
    after = rows(at("group", "consume-mode", "get", "--topic", "popped", "-o", "json"))

    assert [row["result"] for row in (*dry, *made, *again)] == [
        "would change",
        "changed",
        "unchanged",
    ]
    assert [(row["mode"], row["share_queues"]) for row in shown] == [("POP", 3)]
    assert "group poppers pops topic popped on " in told.out + told.err
    assert "shared by 3 more members" in told.out + told.err
    assert [(row["mode"], row["share_queues"]) for row in after] == [("PULL", 0)]


def test_a_mode_of_a_topic_that_is_not_there_or_a_retry_topic_is_refused(
    at: Callable[..., Result],
) -> None:
    for topic, code in (("nobody_made_this", "17 TOPIC_NOT_EXIST"), ("%RETRY%G", "16 NO_PERM")):
        done = at("group", "consume-mode", "set", "G", topic, "POP", "-o", "json")
        (row,) = rows(done)

        assert (done.exit_code, row["result"], row["mode"]) == (1, "refused", "PULL")
        assert code in str(row["remark"])
