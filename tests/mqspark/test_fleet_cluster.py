"""A fleet of stores, fifty of them damaged in different ways, on a real cluster of two workers.

Rule: every job gives on the cluster what it gives here, store by store: the same rows, and the same
files from those that write.
"""

import filecmp
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mqspark.cli.registry import JOBS, options_of
from mqspark.shipping import write_code
from tests.golden import REPOSITORY, Golden
from tests.mqspark.cluster import READY_S, running_cluster
from tests.mqspark.damagedstores import stores_by_damage
from tests.storefmt.offline.stores import HEALTHY, store_of

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]
JOB = REPOSITORY / "tests" / "mqspark" / "fleetjob.py"
COUNT_MIN = 50
Step = tuple[str, list[str], dict[str, str]]


@pytest.fixture(scope="module")
def fleet(golden: Golden) -> dict[str, str]:
    """Return the path of each store by the name of its damage."""
    stores = stores_by_damage(golden) | {name: store_of(golden, name) for name in HEALTHY}
    return {name: str(path) for name, path in stores.items()}


@pytest.fixture(scope="module")
def damaged(fleet: dict[str, str]) -> set[str]:
    """Return the paths of the stores that have damage."""
    return {path for name, path in fleet.items() if name not in HEALTHY}


def steps(fleet: dict[str, str], key: str, to: Path) -> list[Step]:
    """Return every job, with options that make it look at all of a store.

    Args:
        key: of a message, for ``trace``.
        to: where the jobs that write may do so.
    """
    everywhere = sorted(fleet.values())
    options: dict[str, dict[str, str]] = {
        "stats": {"by": "store"},
        "duplicates": {},
        "lag": {},
        "grep": {"pattern": "[0-9][0-9]"},
        "verify": {"deep": "true"},
        "timeline": {"every_ms": "3600000"},
        "events": {},
        "trace": {"key": key},
        "rewind-plan": {"to_ms": "1795233700000"},
        "extract": {"to": str(to / "extract")},
        "rebuild": {"to": str(to / "rebuild")},
    }
    compared = [fleet["basic"], *(path for path in everywhere if path != fleet["basic"])]
    return [
        *((name, everywhere, given) for name, given in options.items()),
        ("diff", compared, {}),
    ]


def rows_here(name: str, stores: list[str], options: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of a job that runs in this process, as JSON gives them back."""
    chosen = options_of(name, options)
    rows = JOBS[name].rows_of(JOBS[name].local(stores, **chosen), **chosen)
    plain: list[dict[str, Any]] = json.loads(json.dumps(rows, default=str))
    return plain


def untimed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without how long they took."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def assert_same_files(there: Path, here: Path) -> None:
    """Check that two directories have the same files."""
    names = files_below(here)
    assert names
    assert files_below(there) == names
    for name in names:
        assert filecmp.cmp(there / name, here / name, shallow=False), name


def files_below(directory: Path) -> set[Path]:
    """Return the paths of all files of a directory."""
    return {path.relative_to(directory) for path in directory.rglob("*") if path.is_file()}


def kinds_of(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the kinds of what ``verify`` found in each store."""
    return {row["store"]: {found["kind"] for found in row["findings"]} for row in rows}


def test_fifty_damaged_stores_give_on_a_cluster_what_they_give_here(
    fleet: dict[str, str], damaged: set[str], golden: Golden, tmp_path: Path
) -> None:
    messages = [row for row in golden.jsonl("basic", "records") if row["kind"] == "msg"]
    key, there, here = messages[-1]["properties"]["UNIQ_KEY"], tmp_path / "there", tmp_path / "here"
    asked = steps(fleet, key, there)
    assert {name for name, _, _ in asked} == set(JOBS)
    todo = tmp_path / "steps.json"
    todo.write_text(json.dumps(asked))
    code = write_code(tmp_path / "code.zip")

    with running_cluster(tmp_path) as cluster:
        words = ["--conf", "spark.sql.shuffle.partitions=4", "--py-files", str(code)]
        job = cluster.submit(*words, str(JOB), str(todo))
        try:
            out, errors = job.communicate(timeout=READY_S * 3)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the job did not end; the cluster is {cluster.url}")
    assert job.returncode == 0, errors[-4_000:]

    assert len(damaged) >= COUNT_MIN
    found = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
    assert len(found) == len(asked)
    for (name, stores, options), rows in zip(steps(fleet, key, here), found, strict=True):
        expected = untimed(rows_here(name, stores, options))
        assert expected, name
        assert untimed(rows) == expected, name
        if name in ("extract", "rebuild"):
            assert_same_files(there / name, here / name)
        if name == "verify":
            kinds = kinds_of(rows)
            assert set(kinds) == set(fleet.values())
            assert all(kinds[path] - kinds[fleet["basic"]] for path in damaged)
