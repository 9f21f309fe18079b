"""`export`, `diff` and `apply` at servers of their own, since `--prune` deletes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mqadmin.shell.server import EmbeddedServer, ServerAddresses
from tests.mqadmin.conftest import Run, cells, rows


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServerAddresses]:
    with EmbeddedServer() as server:
        yield server.addresses


@pytest.fixture
def here(run: Run, cluster: ServerAddresses) -> Run:
    """Return a function that runs one line on the cluster of this module."""
    return Run(lambda *words, **more: run(*words, "-n", cluster.namesrv, **more))


def test_a_document_goes_round(here: Run, tmp_path: Path) -> None:
    here("topic", "create", "KEPT", "-q", "3")
    here("topic", "create", "EXTRA", "-q", "1")
    written = here("export")
    assert written.exit_code == 0, written.err
    document = yaml.safe_load(written.out)
    assert document["topics"]["KEPT"]["*"] == {
        "read_queues": 3,
        "write_queues": 3,
        "perm": "RW-",
        "order": False,
        "sys_flag": 0,
    }
    assert not [name for name in document["topics"] if name.startswith(("%", "RMQ_SYS", "broker"))]
    file = tmp_path / "cluster.yaml"
    file.write_text(written.out)
    assert here("diff", str(file)).exit_code == 0
    assert "are equal" in here("diff", str(file)).err

    del document["topics"]["EXTRA"]
    document["topics"]["KEPT"]["*"] = {"read_queues": 5}
    document["topics"]["FRESH"] = {"*": {"write_queues": 2}}
    document["groups"]["READERS"] = {"*": {"retry_max_times": 3}}
    file.write_text(yaml.safe_dump(document))
    different = here.rows("diff", str(file), exit_code=1)
    told = {(row["name"], row["setting"], row["left"], row["right"]) for row in different}
    assert told == {
        ("KEPT", "read_queues", 5, 3),
        ("EXTRA", None, None, "there"),
        ("FRESH", None, "there", None),
        ("READERS", None, "there", None),
    }

    planned = here.rows("apply", str(file), "--dry-run")
    changing = {row["name"] for row in planned if row["result"] == "would change"}
    assert changing == {"KEPT", "FRESH", "READERS"}
    assert here("diff", str(file)).exit_code == 1

    assert "read_queues: 3 → 5" in (shown := here("apply", str(file), "--dry-run").out)
    assert {line.split()[1] for line in shown.splitlines()[1:]} == changing

    kept = next(row for row in here.rows("apply", str(file)) if row["name"] == "KEPT")
    assert (kept["was"]["read_queues"], kept["now"]["read_queues"]) == (3, 5)
    assert kept["now"]["write_queues"] == 3
    assert {row["result"] for row in here.rows("apply", str(file))} == {"unchanged"}

    assert here("apply", str(file), "--prune").exit_code == 2
    assert here("apply", str(file), "--prune", stdin="n\n", can_ask=True).exit_code == 1
    assert "EXTRA" in here("topic", "list").out
    pruned = here.rows("apply", str(file), "--prune", "-y")
    gone = [row for row in pruned if row["name"] == "EXTRA"]
    assert set(cells(gone, "kind", "result")) == {("topic", "changed"), ("route", "changed")}
    assert here("diff", str(file)).exit_code == 0


def order_conf(here: Run, topic: str) -> str | None:
    """Return what the name server says of a topic's order."""
    said = here("topic", "order-conf", topic, "-ojson")
    return rows(said)[0]["order_conf"] if said.exit_code == 0 else None


def test_order_goes_to_the_name_server_and_comes_back(here: Run, tmp_path: Path) -> None:
    file = tmp_path / "ordered.yaml"

    def write(**settings: object) -> None:
        file.write_text(yaml.safe_dump({"topics": {"ORDERED": {"*": settings}}}))

    def applied(*more: str) -> dict[str, tuple[str, dict[str, Any] | None]]:
        done = here.rows("apply", str(file), *more)
        return {row["kind"]: (row["result"], row["now"]) for row in done}

    write(write_queues=2, order=True)
    planned = applied("--dry-run")
    assert planned["order"] == ("would change", {"order_conf": "broker-a:2"})
    assert order_conf(here, "ORDERED") is None
    made = applied()
    assert {result for result, _ in made.values()} == {"changed"}
    assert made["topic"][1] == {"read_queues": 8, "write_queues": 2, "perm": "RW-", "sys_flag": 0}
    assert made["order"] == ("changed", {"order_conf": "broker-a:2"})
    assert {result for result, _ in applied().values()} == {"unchanged"}
    assert here("diff", str(file), "-ojson").out.count("ORDERED") == 0

    document = yaml.safe_load(here("export").out)
    assert document["topics"]["ORDERED"]["*"]["order"] is True
    assert order_conf(here, "ORDERED") == "broker-a:2"
    # A number that a person chose stays, until the topic's own one changes.
    assert here("topic", "order-conf", "ORDERED", "broker-a:1;elsewhere:3").exit_code == 0
    assert {result for result, _ in applied().values()} == {"unchanged"}
    write(write_queues=4, order=True)
    assert applied()["order"] == ("changed", {"order_conf": "broker-a:4;elsewhere:3"})
    write(write_queues=4)
    assert "order" not in applied()
    write(order=False)
    different = here.rows("diff", str(file), exit_code=1)
    told = [row for row in different if row["name"] == "ORDERED"]
    assert cells(told, "setting", "left", "right") == [("order", False, True)]
    assert applied()["order"] == ("changed", {"order_conf": "elsewhere:3"})
    assert here("undo", "-y").exit_code == 0
    assert order_conf(here, "ORDERED") == "broker-a:4;elsewhere:3"


def test_a_section_that_is_left_out_is_not_pruned(here: Run) -> None:
    here("topic", "create", "STAYS", "-q", "1")

    done = here("apply", "-", "--prune", "-y", stdin="groups: {}\n")

    assert done.exit_code == 0, done.err
    assert here("assert", "topic", "STAYS").exit_code == 0


def test_cluster_against_cluster(
    here: Run, cluster: ServerAddresses, servers: ServerAddresses
) -> None:
    here("topic", "create", "ONLY_HERE", "-q", "1")

    assert here("diff", cluster.namesrv).exit_code == 0
    done = here.rows("diff", servers.namesrv, exit_code=1)

    row = next(row for row in done if row["name"] == "ONLY_HERE")
    assert (row["left"], row["right"]) == (None, "there")


@pytest.mark.parametrize(
    ("words", "stdin", "exit_code"),
    [
        (("diff", "no-file.yaml"), "", 3),
        (("diff", "nothing-of-this-name"), "", 3),
        (("diff", "127.0.0.1:1"), "", 4),
        (("apply", "no-file.yaml"), "", 3),
        (("apply", "-"), "topics: [", 2),
        (("apply", "-"), "topics: {T: {'*': {queues: 1}}}", 2),
        (("apply", "-"), "topics: {T: {broker-z: {read_queues: 1}}}", 3),
        (("apply", "-", "--watch"), "", 2),
        (("export", "--cluster", "nowhere"), "", 3),
    ],
)
def test_exit_codes(here: Run, words: tuple[str, ...], stdin: str, exit_code: int) -> None:
    assert here(*words, stdin=stdin).exit_code == exit_code


def test_sections_are_chosen_and_brokers_mapped(here: Run, tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(
        "topics: {MAPPED: {old-broker: {read_queues: 3, write_queues: 3}}}\n"
        "groups: {MAPPED_GROUP: {'*': {retry_max_times: 3}}}\n"
    )

    strange = here("apply", str(file))
    mapped = here.rows("apply", str(file), "--map", "old-broker=broker-a", "--only", "topics")

    assert strange.exit_code == 3
    assert [(row["name"], row["server"], row["result"]) for row in mapped] == [
        ("MAPPED", "broker-a", "changed")
    ]
    assert here("group", "config", "MAPPED_GROUP").exit_code == 3
    assert here("apply", str(file), "--only", "queues").exit_code == 2
