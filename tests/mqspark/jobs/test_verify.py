"""``verify`` reports what ``store verify`` reports, for every golden store and every damage."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqspark.jobs.verify import verify, verify_local
from storefmt.offline.verify.store import verify as verify_store
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.programs import python

STORES = ["basic", "kinds", "kinds-lmq", "ipv6", "retention", "default-geometry"]


@pytest.fixture(scope="module")
def stores(golden: Golden) -> list[str]:
    """Return the golden stores, and ``basic`` with each damage."""
    damaged = [golden.damaged(damage["case"]) for damage in golden.damages()]
    return [str(path) for path in (*map(golden.store, STORES), *damaged)]


def expected(path: str) -> tuple[Any, ...]:
    with StoreDir.open(path) as store:
        report = verify_store(store)
    findings = [
        (f.kind, f.severity.value, f.file, f.pos, f.field, f.found, f.expected, f.size, f.count)
        for f in report.findings
    ]
    return path, report.ok, report.files, report.records, report.bytes, findings


def said(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ["kind", "severity", "file", "offset", "field", "found", "expected", "size", "count"]
    findings = [tuple(finding[name] for name in names) for finding in row["findings"]]
    return *(row[name] for name in ("store", "ok", "files", "records", "bytes")), findings


def test_local_reports_are_those_of_store_verify(stores: list[str]) -> None:
    found = verify_local(stores).to_pylist()

    assert [said(row) for row in found] == [expected(path) for path in stores]
    assert [row["ok"] for row in found].count(False) > 20


@pytest.mark.spark
def test_many_stores_are_judged_by_spark(spark: SparkSession, stores: list[str]) -> None:
    found = verify(spark, stores).toArrow().to_pylist()

    assert list(map(said, found)) == list(map(expected, sorted(stores)))


@pytest.mark.spark
@pytest.mark.parametrize("case", ["33-magic-wrong", "01-bitflip-body-early"])
def test_one_store_is_judged_in_pieces(spark: SparkSession, golden: Golden, case: str) -> None:
    store = str(golden.damaged(case))

    found = verify(spark, [store]).toArrow().to_pylist()

    assert list(map(said, found)) == [expected(store)]


def run(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mqspark", "verify", str(directory), *words, code=None)


def test_the_process_says_its_verdict_and_writes_parquet(golden: Golden, tmp_path: Path) -> None:
    file = tmp_path / "report.parquet"

    done = run(golden.damaged("33-magic-wrong"), "--engine", "local", "--parquet", str(file))

    assert done.returncode == 0
    assert json.loads(done.stderr) == {"exit": 6}
    assert not json.loads(done.stdout)["ok"]
    assert file.read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("text", ["depth=1", "deep=maybe"])
def test_options_are_refused_by_name(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, "--option", text)

    assert done.returncode == 2
    assert text.partition("=")[0] in json.loads(done.stderr)["error"]
