"""A cluster as one page of HTML: brokers, topics, groups, and what `doctor` finds.

    two looks (``sample``), an examination ──> pictures (``charts``) ──> one file, no script

Rule: pure; long lists are cut, and the page says how much was left out.
"""

from collections.abc import Sequence
from typing import Final

from mqadmin.health.checkup import CheckupFinding, CheckupSeverity
from mqadmin.output.pages.html_page import (
    cell,
    count_text,
    cut_note,
    header,
    nothing,
    page,
    ranking,
    section,
    table,
    tiles,
    time_text,
)
from mqadmin.top.sample import TopRow

BARS_MAX: Final = 25
FINDINGS_MAX: Final = 500


def cluster_page(
    name: str, rows: Sequence[TopRow], findings: Sequence[CheckupFinding], *, made_ms: int
) -> str:
    """Return the page.

    Args:
        name: what the page calls the cluster: the addresses of its name servers.
        rows: what two looks gave.
        findings: what `doctor` found, the worst first.
        made_ms: the time to print as the page's own.
    """
    brokers, topics, groups = (
        [row for row in rows if row.kind == kind] for kind in ("broker", "topic", "group")
    )
    parts = [
        header(f"Cluster {name}", (f"created {time_text(made_ms)}",)),
        tiles(_tiles(brokers, topics, groups, findings)),
        section("Findings", _findings(findings), "findings of `mqadmin doctor`"),
        section("Brokers", _brokers(brokers)),
        section("Messages waiting, by group", _lags(groups)),
        section("Messages sent a second, by topic", _rates(topics)),
    ]
    return page(f"RocketMQ cluster {name}", parts)


def _tiles(
    brokers: Sequence[TopRow],
    topics: Sequence[TopRow],
    groups: Sequence[TopRow],
    findings: Sequence[CheckupFinding],
) -> list[tuple[str, str, str]]:
    errors = sum(finding.severity is CheckupSeverity.ERROR for finding in findings)
    warnings = sum(finding.severity is CheckupSeverity.WARNING for finding in findings)
    unknown = sum(finding.severity is CheckupSeverity.NOT_RUN for finding in findings)
    verdict = "no findings"
    if errors or warnings or unknown:
        verdict = f"{count_text(errors, 'error')}, {count_text(warnings, 'warning')}"
    if unknown:
        verdict += f", {unknown} not run"
    disks = [row.disk_ratio for row in brokers if row.disk_ratio is not None]
    return [
        ("Health", verdict, "bad" if errors or unknown else "good"),
        ("Brokers", f"{len(brokers):,}", ""),
        ("Topics", f"{len(topics):,}", ""),
        ("Groups", f"{len(groups):,}", ""),
        ("Messages waiting", f"{sum(row.lag or 0 for row in groups):,}", ""),
        ("Stored a second", f"{sum(row.in_tps or 0 for row in brokers):,.1f}", ""),
        ("Read a second", f"{sum(row.out_tps or 0 for row in brokers):,.1f}", ""),
        ("Fullest disk", f"{max(disks):.0%}" if disks else "–", ""),
    ]


def _findings(findings: Sequence[CheckupFinding]) -> str:
    if not findings:
        return nothing("none: every check passed")
    rows = [
        [
            cell(finding.severity.value, f"{finding.severity.value}-text"),
            cell(finding.check.value),
            cell(finding.subject),
            cell(finding.found),
            cell(finding.hint),
        ]
        for finding in findings[:FINDINGS_MAX]
    ]
    head = ("", "check", "where", "found", "what to do")
    return table(head, rows) + cut_note(len(findings), FINDINGS_MAX, "findings")


def _brokers(brokers: Sequence[TopRow]) -> str:
    has_replicas = any(row.replica is not None for row in brokers)
    rows = [
        [
            cell(row.name),
            cell(_number(row.in_tps)),
            cell(_number(row.out_tps)),
            cell("–" if row.disk_ratio is None else f"{row.disk_ratio:.0%}"),
            cell("–" if row.slave_lag is None else f"{row.slave_lag:,} bytes"),
            *([cell(row.replica or "–")] if has_replicas else []),
            cell(row.error, "error-text") if row.error else cell("answers"),
        ]
        for row in brokers
    ]
    head = ["broker", "stored a second", "read a second", "disk", "behind its master", "state"]
    if has_replicas:
        head.insert(-1, "replica, epoch")
    return table(head, rows)


def _lags(groups: Sequence[TopRow]) -> str:
    if not groups:
        return nothing("no consumer group has offsets")
    entries = [
        (
            row.name,
            row.lag or 0,
            f"{row.lag or 0:,}",
            f"{row.name}: {row.lag or 0:,} waiting, {count_text(row.members or 0, 'member')}, "
            f"{_number(row.out_tps)} read a second",
        )
        for row in groups
    ]
    return ranking("messages waiting", entries, most=BARS_MAX, what="groups")


def _rates(topics: Sequence[TopRow]) -> str:
    if not topics:
        return nothing("there are no topics")
    entries = [
        (
            row.name,
            row.in_tps or 0,
            _number(row.in_tps),
            f"{row.name}: {_number(row.in_tps)} sent and {_number(row.out_tps)} read a second",
        )
        for row in topics
    ]
    return ranking("messages sent a second", entries, most=BARS_MAX, what="topics")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
