"""``report``: a live cluster as a page, looked at by a program and by a real browser."""

from pathlib import Path

import pytest

from mqadmin.health.checkup import Check, CheckupFinding, CheckupSeverity
from mqadmin.top.page import BARS_MAX, cluster_page
from mqadmin.top.sample import TopRow
from tests.browser import drawn
from tests.mqadmin.commands.test_store_report import Page
from tests.mqadmin.conftest import Run

EVIL = '<script>alert(1)</script>"\x1b[31m'
FULL = CheckupFinding(
    CheckupSeverity.ERROR, Check.DISK, EVIL, "the disk is 95% full", "it refuses messages"
)


def test_the_page_tells_what_the_commands_tell(at: Run, tmp_path: Path) -> None:
    path = tmp_path / "cluster.html"
    at("topic", "create", "REPORTED", "-q", "1")
    at("group", "create", "REPORTERS")
    for number in range(3):
        at("message", "send", "REPORTED", f"m{number}")
    at("offset", "reset", "REPORTERS", "REPORTED", "--to", "earliest", "-y")

    done = at("report", "--html", str(path), "-ojson")

    findings = at.rows("doctor", "--fail-on", "never")
    is_well = all(found["severity"] != "error" for found in findings)
    assert done.exit_code == (0 if is_well else 1), done.err
    (row,) = done.rows
    told = {"file": str(path), "size": path.stat().st_size}
    assert row == {**told, "ok": is_well, "findings": len(findings)}
    page = Page(path.read_text())
    assert page.open == []
    assert "REPORTERS: 3 waiting, 0 members" in page.text
    assert "REPORTED: " in page.text
    assert "broker-a" in page.text
    for found in findings:
        assert found["hint"] in page.text


def test_nothing_is_written_over(at: Run, tmp_path: Path) -> None:
    path = tmp_path / "cluster.html"
    path.write_text("mine")

    refused = at("report", "--html", str(path))

    assert refused.exit_code == 2
    assert "--replace" in refused.err
    assert path.read_text() == "mine"


def test_names_are_text_and_what_is_cut_is_counted() -> None:
    groups = [TopRow("group", f"{EVIL}{number}", lag=number) for number in range(BARS_MAX + 7)]

    page = cluster_page(EVIL, groups, [FULL], made_ms=0)

    assert "<script" not in page
    assert "\x1b" not in page
    assert "and 7 more groups" in page
    assert "there are no topics" in page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_real_browser_draws_it_without_a_complaint(tmp_path: Path, dark: bool) -> None:
    rows = [
        TopRow("broker", "broker-a", in_tps=12.5, out_tps=10.0, disk_ratio=0.95),
        TopRow("broker", "broker-a:1", slave_lag=4096, error="no answer"),
        TopRow("topic", "orders", in_tps=12.5, out_tps=10.0),
        TopRow("group", "billing", out_tps=10.0, lag=1234, members=2),
    ]
    path = tmp_path / "cluster.html"
    path.write_text(cluster_page("127.0.0.1:9876", rows, [FULL], made_ms=1), "utf-8")

    document = drawn(path, tmp_path, dark=dark)

    assert sum(tag == "svg" for tag, _ in Page(document).tags) == 2
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_the_page_may_go_to_standard_output(at: Run) -> None:
    done = at("report", "--to", "-")

    assert done.out.startswith("<!DOCTYPE html>")
    assert done.out.endswith("</html>\n")
