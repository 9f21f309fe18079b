"""A store as one HTML page: its contents, when they were stored, and its damage.

    info, tallies, verify ──> pictures (``charts``) ──> one file, no script, nothing loaded

Rule: long lists are cut, and the page says how much is not shown.
"""

from collections.abc import Callable, Sequence
from typing import Final

from mqadmin.output.pages.charts import Bar, FileStrip, bars, cells, columns, file_map, safe
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
from mqadmin.output.terminal.cells import size_text
from storefmt.offline.analyse.record_counts import By, Key, RecordCount, span_of, with_empty_spans
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.verify.findings import Finding, Report, Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.info import FileView, StoreInfo
from storefmt.offline.views.storedir import StoreDir

TOPICS_MAX: Final = 15
GROUPS_MAX: Final = 20
QUEUE_ROWS_MAX: Final = 30
CELLS_MAX: Final = 64
FILES_MAX: Final = 60
MARKS_MAX: Final = 200
FINDINGS_MAX: Final = 500


def html_report(
    store: StoreDir,
    *,
    made_ms: int,
    deep: bool = False,
    progress: Callable[[int, int], None] = lambda done_size, total: None,
) -> tuple[str, Report]:
    """Return the page, and what the verification found.

    Args:
        made_ms: the time of creation to print.
        deep: also verify bodies and every key.
        progress: is called with the processed bytes of log, of three times its size.
    """
    info = store.info()
    size = store.log.end - store.log.min_offset
    topics = count_records(store, By.TOPIC, on_done=lambda done_size: progress(done_size, 3 * size))
    bucket_ms = span_of(store)
    times = count_records(
        store,
        By.TIME,
        bucket_ms=bucket_ms,
        on_done=lambda done_size: progress(size + done_size, 3 * size),
    )
    report = verify(
        store, deep=deep, progress=lambda done_size, _: progress(2 * size + done_size, 3 * size)
    )
    parts = [
        _head(store, info, report, made_ms),
        section("Messages over time", _timeline(times, bucket_ms)),
        section("Topics by bytes", _topics(topics)),
        section("Queues", _queues(info), "each cell is a queue; darker cells hold more"),
        section("Lag of consumer groups", _lag(info)),
        section("Files", _files(store.files(), report.findings), "with the places of findings"),
        section("Findings", _findings(report)),
    ]
    return page(f"RocketMQ store {store.root.resolve().name}", parts), report


def _head(store: StoreDir, info: StoreInfo, report: Report, made_ms: int) -> str:
    counts = {s: sum(f.severity is s for f in report.findings) for s in Severity}
    verdict = "no damage found"
    if not report.ok:
        verdict = f"{count_text(counts[Severity.ERROR], 'error')}, " + count_text(
            counts[Severity.WARNING], "warning"
        )
    state = "running or killed" if info.aborted else "shut down cleanly"
    lag = sum(max(0, group.lag) for group in info.groups)
    shown = [
        ("Health", verdict, "good" if report.ok else "bad"),
        ("Messages", f"{info.message_count:,}", ""),
        ("Log", size_text(info.used_size), ""),
        ("On disk", size_text(info.size), ""),
        ("Topics", f"{info.topic_count:,}", ""),
        ("Groups", f"{len({group.group for group in info.groups}):,}", ""),
        ("Lag", f"{lag:,}", ""),
        ("Broker", f"{info.version}, {state}", ""),
    ]
    notes = "".join(f"<li>{safe(note)}</li>" for note in info.notes)
    lines = (
        str(store.root.resolve()),
        f"{time_text(info.first_ms)} to {time_text(info.last_ms)}; log offsets "
        f"{info.min_log_offset:,} to {info.end_log_offset:,}; {report.records:,} records and "
        f"{report.files:,} files checked; created {time_text(made_ms)}",
    )
    head = header(f"Store {store.root.resolve().name}", lines) + tiles(shown)
    return head + (f"<ul>{notes}</ul>" if notes else "")


def _timeline(times: dict[Key, RecordCount], bucket_ms: int) -> str:
    by_start = {start: tally for (start, *_), tally in times.items() if isinstance(start, int)}
    spans = with_empty_spans(by_start, bucket_ms)
    if not spans:
        return nothing("the log has no messages")
    values = [
        (tally.count, f"{time_text(start)}: {tally.count:,} messages, {size_text(tally.size)}")
        for start, tally in spans
    ]
    middle = spans[len(spans) // 2][0]
    labels = [time_text(time_ms) for time_ms in (spans[0][0], middle, spans[-1][0] + bucket_ms)]
    return columns("messages over time", values, labels)


def _topics(topics: dict[Key, RecordCount]) -> str:
    order = sorted(topics.items(), key=lambda pair: (-pair[1].size, str(pair[0])))
    if not order:
        return nothing("the log has no messages")
    largest = order[0][1].size or 1
    rows = [_topic_bar(str(key[0]), tally, largest) for key, tally in order[:TOPICS_MAX]]
    rest = RecordCount()
    for _, tally in order[TOPICS_MAX:]:
        rest.add(tally.count, tally.size, tally.first_ms, tally.last_ms)
    if rest.count:
        rows.append(_topic_bar(f"{len(order) - TOPICS_MAX} more topics", rest, largest))
    return bars("topics by bytes", rows)


def _topic_bar(name: str, tally: RecordCount, largest: int) -> Bar:
    hint = f"{name}: {tally.count:,} messages, {tally.size:,} bytes"
    return Bar(name, tally.size / largest, size_text(tally.size), hint)


def _queues(info: StoreInfo) -> str:
    topics: dict[str, list[tuple[int, int, int]]] = {}
    for queue in info.queues:
        place = (queue.queue_id, queue.min_offset, queue.max_offset)
        topics.setdefault(queue.topic, []).append(place)
    sums = {name: sum(high - low for _, low, high in queues) for name, queues in topics.items()}
    order = sorted(topics, key=lambda name: (-sums[name], name))
    if not order:
        return nothing("there are no consume queues")
    rows = []
    for name in order[:QUEUE_ROWS_MAX]:
        largest = max(high - low for _, low, high in topics[name]) or 1
        queues = [
            ((high - low) / largest, f"{name} {number}: {low:,} to {high:,}, {high - low:,} held")
            for number, low, high in sorted(topics[name])[:CELLS_MAX]
        ]
        rows.append((name, queues, f"{sums[name]:,}"))
    return cells("queues", rows) + cut_note(len(order), QUEUE_ROWS_MAX, "topics")


def _lag(info: StoreInfo) -> str:
    lags: dict[str, int] = {}
    for group in info.groups:
        lags[group.group] = lags.get(group.group, 0) + max(0, group.lag)
    if not lags:
        return nothing("no consumer group has offsets in this store")
    entries = [(name, lag, f"{lag:,}", "") for name, lag in lags.items()]
    return ranking("lag of consumer groups", entries, most=GROUPS_MAX, what="groups")


def _files(files: Sequence[FileView], findings: Sequence[Finding]) -> str:
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.file, []).append(finding)
    shown = [file for file in files if file.kind == "commitlog" or file.name in by_file]
    shown.sort(key=lambda file: (file.name not in by_file, file.kind != "commitlog", file.name))
    names = {file.name for file in files}
    strips = [_strip(file, by_file.get(file.name, [])) for file in shown[:FILES_MAX]]
    strips += [
        FileStrip(name, 0.0, ((0.0, 1.0, of_file[0].severity.value),), of_file[0].kind)
        for name, of_file in sorted(by_file.items())
        if name not in names
    ][:FILES_MAX]
    if not strips:
        return nothing("there are no log files")
    return file_map("files and findings", strips) + cut_note(len(shown), FILES_MAX, "files")


def _strip(file: FileView, findings: Sequence[Finding]) -> FileStrip:
    size = max(1, file.size)
    marks = tuple(
        (finding.pos / size, finding.size / size, finding.severity.value)
        for finding in findings[:MARKS_MAX]
    )
    return FileStrip(file.name, file.fill_size / size, marks, size_text(file.size))


def _findings(report: Report) -> str:
    if not report.findings:
        return nothing("none: every record, entry and file is intact")
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    findings = sorted(report.findings, key=lambda item: order[item.severity])[:FINDINGS_MAX]
    rows = [
        [
            cell(item.severity.value, f"{item.severity.value}-text"),
            cell(item.kind),
            f"<td>{safe(item.file)}<br><small>byte {item.pos:,}"
            f"{', ' + safe(item.field) if item.field else ''}</small></td>",
            cell(item.found[:200]),
            cell(item.expected[:200]),
            cell(item.hint),
        ]
        for item in findings
    ]
    head = ("", "kind", "where", "found", "expected", "what to do")
    return table(head, rows) + cut_note(len(report.findings), FINDINGS_MAX, "findings")
