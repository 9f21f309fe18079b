"""A store as one page of HTML: what is in it, when it came, what is wrong with it.

    info, tallies, verify ──> pictures (``charts``) ──> one file, no script, nothing loaded

Rule: the page loads nothing from elsewhere, and its headers tell the browser so. Every text from
the store is escaped. Long lists are cut, and the page says how much was left out.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from mqadmin.output.cells import size_text
from mqadmin.output.charts import Bar, FileStrip, bars, cells, columns, file_map, safe
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.tally import By, Key, Tally, filled, span_of
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
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_MS_MAX: Final = 253_402_300_799_999


def html_report(
    store: StoreDir,
    *,
    made_ms: int,
    deep: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[str, Report]:
    """Return the page, and what the verification found.

    Args:
        made_ms: the time to print as the page's own.
        deep: verify bodies and every key, too.
        progress: told the bytes of log that are done, of three times its size.
    """
    info = store.info()
    size = store.log.end - store.log.min_offset
    topics = count_records(store, By.TOPIC, on_done=lambda done: progress(done, 3 * size))
    bucket_ms = span_of(store)
    times = count_records(
        store,
        By.TIME,
        bucket_ms=bucket_ms,
        on_done=lambda done: progress(size + done, 3 * size),
    )
    report = verify(store, deep=deep, progress=lambda done, _: progress(2 * size + done, 3 * size))
    parts = [
        _head(store, info, report, made_ms),
        _section("Messages over time", _timeline(times, bucket_ms)),
        _section("Topics by bytes", _topics(topics)),
        _section("Queues", _queues(info), "a cell is a queue, the stronger the more it holds"),
        _section("Lag of consumer groups", _lag(info)),
        _section("Files", _files(store.files(), report.findings), "where findings lie"),
        _section("Findings", _findings(report)),
    ]
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>RocketMQ store {safe(store.root.resolve().name)}</title>"
        f"<style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )
    return page, report


def _head(store: StoreDir, info: StoreInfo, report: Report, made_ms: int) -> str:
    counts = {s: sum(f.severity is s for f in report.findings) for s in Severity}
    verdict = "no damage found"
    if not report.ok:
        verdict = f"{_count(counts[Severity.ERROR], 'error')}, " + _count(
            counts[Severity.WARNING], "warning"
        )
    state = "running or killed" if info.aborted else "stopped in order"
    lag = sum(max(0, group.lag) for group in info.groups)
    tiles = [
        ("Health", verdict, "good" if report.ok else "bad"),
        ("Messages", f"{info.message_count:,}", ""),
        ("Log", size_text(info.used_size), ""),
        ("On disk", size_text(info.size), ""),
        ("Topics", f"{info.topic_count:,}", ""),
        ("Groups", f"{len({group.group for group in info.groups}):,}", ""),
        ("Lag", f"{lag:,}", ""),
        ("Broker", f"{info.version}, {state}", ""),
    ]
    cards = "".join(
        f'<div class="tile {kind}"><span>{safe(name)}</span><b>{safe(value)}</b></div>'
        for name, value, kind in tiles
    )
    notes = "".join(f"<li>{safe(note)}</li>" for note in info.notes)
    return (
        f"<header><h1>Store {safe(store.root.resolve().name)}</h1>"
        f"<p>{safe(store.root.resolve())}</p>"
        f"<p>{safe(time_text(info.first_ms))} to {safe(time_text(info.last_ms))}; "
        f"log offsets {info.min_log_offset:,} to {info.end_log_offset:,}; "
        f"{report.records:,} records and {report.files:,} files looked at; "
        f"made {safe(time_text(made_ms))}</p></header>"
        f'<div class="tiles">{cards}</div>{f"<ul>{notes}</ul>" if notes else ""}'
    )


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def _section(title: str, content: str, hint: str = "") -> str:
    told = f" <small>{safe(hint)}</small>" if hint else ""
    return f"<section><h2>{safe(title)}{told}</h2>{content}</section>"


def _nothing(text: str) -> str:
    return f'<p class="nothing">{safe(text)}</p>'


def _timeline(times: dict[Key, Tally], bucket_ms: int) -> str:
    by_start = {start: tally for (start, *_), tally in times.items() if isinstance(start, int)}
    spans = filled(by_start, bucket_ms)
    if not spans:
        return _nothing("the log holds no message")
    values = [
        (
            tally.count,
            f"{time_text(start)}: {tally.count:,} messages, {size_text(tally.size)}",
        )
        for start, tally in spans
    ]
    middle = spans[len(spans) // 2][0]
    labels = [time_text(at) for at in (spans[0][0], middle, spans[-1][0] + bucket_ms)]
    return columns("messages over time", values, labels)


def _topics(topics: dict[Key, Tally]) -> str:
    order = sorted(topics.items(), key=lambda pair: (-pair[1].size, str(pair[0])))
    if not order:
        return _nothing("the log holds no message")
    largest = order[0][1].size or 1
    rows = [_topic_bar(str(key[0]), tally, largest) for key, tally in order[:TOPICS_MAX]]
    rest = Tally()
    for _, tally in order[TOPICS_MAX:]:
        rest.add(tally.count, tally.size, tally.first_ms, tally.last_ms)
    if rest.count:
        rows.append(_topic_bar(f"{len(order) - TOPICS_MAX} more topics", rest, largest))
    return bars("topics by bytes", rows)


def _topic_bar(name: str, tally: Tally, largest: int) -> Bar:
    hint = f"{name}: {tally.count:,} messages, {tally.size:,} bytes"
    return Bar(name, tally.size / largest, size_text(tally.size), hint)


def _queues(info: StoreInfo) -> str:
    topics: dict[str, list[tuple[int, int, int]]] = {}
    for queue in info.queues:
        place = (queue.queue_id, queue.min_offset, queue.max_offset)
        topics.setdefault(queue.topic, []).append(place)
    sums = {name: sum(high - low for _, low, high in found) for name, found in topics.items()}
    order = sorted(topics, key=lambda name: (-sums[name], name))
    if not order:
        return _nothing("there is no consume queue")
    rows = []
    for name in order[:QUEUE_ROWS_MAX]:
        largest = max(high - low for _, low, high in topics[name]) or 1
        found = [
            ((high - low) / largest, f"{name} {number}: {low:,} to {high:,}, {high - low:,} held")
            for number, low, high in sorted(topics[name])[:CELLS_MAX]
        ]
        rows.append((name, found, f"{sums[name]:,}"))
    return cells("queues", rows) + _cut_note(len(order), QUEUE_ROWS_MAX, "topics")


def _lag(info: StoreInfo) -> str:
    lags: dict[str, int] = {}
    for group in info.groups:
        lags[group.group] = lags.get(group.group, 0) + max(0, group.lag)
    if not lags:
        return _nothing("no consumer group has an offset here")
    order = sorted(lags.items(), key=lambda pair: (-pair[1], pair[0]))
    largest = order[0][1] or 1
    rows = [Bar(name, lag / largest, f"{lag:,}") for name, lag in order[:GROUPS_MAX]]
    return bars("lag of consumer groups", rows) + _cut_note(len(order), GROUPS_MAX, "groups")


def _files(files: Sequence[FileView], findings: Sequence[Finding]) -> str:
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.file, []).append(finding)
    shown = [file for file in files if file.kind == "commitlog" or file.name in by_file]
    shown.sort(key=lambda file: (file.name not in by_file, file.kind != "commitlog", file.name))
    known = {file.name for file in files}
    strips = [_strip(file, by_file.get(file.name, [])) for file in shown[:FILES_MAX]]
    strips += [
        FileStrip(name, 0.0, ((0.0, 1.0, found[0].severity.value),), found[0].kind)
        for name, found in sorted(by_file.items())
        if name not in known
    ][:FILES_MAX]
    if not strips:
        return _nothing("there is no file of the log")
    return file_map("files and findings", strips) + _cut_note(len(shown), FILES_MAX, "files")


def _strip(file: FileView, findings: Sequence[Finding]) -> FileStrip:
    size = max(1, file.size)
    marks = tuple(
        (finding.pos / size, finding.size / size, finding.severity.value)
        for finding in findings[:MARKS_MAX]
    )
    return FileStrip(file.name, file.fill_size / size, marks, size_text(file.size))


def _findings(report: Report) -> str:
    if not report.findings:
        return _nothing("nothing: every record, entry and file is as it should be")
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    found = sorted(report.findings, key=lambda item: order[item.severity])[:FINDINGS_MAX]
    rows = "".join(
        f'<tr><td class="{item.severity.value}-text">{item.severity.value}</td>'
        f"<td>{safe(item.kind)}</td><td>{safe(item.file)}<br><small>byte {item.pos:,}"
        f"{', ' + safe(item.field) if item.field else ''}</small></td>"
        f"<td>{safe(item.found[:200])}</td><td>{safe(item.expected[:200])}</td>"
        f"<td>{safe(item.hint)}</td></tr>"
        for item in found
    )
    head = "".join(
        f"<th>{name}</th>" for name in ("", "kind", "where", "found", "expected", "what to do")
    )
    table = f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
    return table + _cut_note(len(report.findings), FINDINGS_MAX, "findings")


def _cut_note(count: int, shown: int, what: str) -> str:
    return _nothing(f"and {count - shown:,} more {what}") if count > shown else ""


def time_text(epoch_ms: int) -> str:
    """Return a time in UTC; a dash for none, the number for one that no calendar has."""
    if epoch_ms <= 0:
        return "–"
    if epoch_ms > _MS_MAX:
        return str(epoch_ms)
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


STYLE: Final = """
:root{--page:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5d6b7c;--line:#e3e7ec;--bar:#2f6fd6;
--used:#9db8e2;--track:#edf0f4;--error:#d03b3b;--warning:#d98a00;--info:#7a8797;--good:#1c8a4b}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1b212a;--ink:#e6ebf1;
--soft:#94a2b3;--line:#2b333e;--bar:#6aa1f4;--used:#3d5a86;--track:#252d37;--error:#f06a6a;
--warning:#f0b04a;--info:#8793a3;--good:#4cc582}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0 0 14px}
h2 small{font-weight:400;color:var(--soft);margin-left:8px}
header p{margin:2px 0;color:var(--soft);overflow-wrap:anywhere}
section,.tile{background:var(--card);border:1px solid var(--line);border-radius:10px}
section{padding:18px 22px;margin-top:18px}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(225px,1fr));gap:12px;
margin-top:20px}
.tile{padding:12px 16px}
.tile span{display:block;color:var(--soft);font-size:13px}
.tile b{font-size:18px;overflow-wrap:anywhere}
.tile.good b{color:var(--good)}
.tile.bad b{color:var(--error)}
ul{color:var(--soft);margin:16px 0 0;padding-left:20px}
svg{display:block;width:100%;height:auto}
svg text{font-size:12.5px;fill:var(--ink)}
svg .value{fill:var(--soft);font-variant-numeric:tabular-nums}
.bar{fill:var(--bar)}.track{fill:var(--track)}.used{fill:var(--used)}
.error{fill:var(--error)}.warning{fill:var(--warning)}.info{fill:var(--info)}
.axis{stroke:var(--soft)}.grid{stroke:var(--line)}
.nothing{color:var(--soft);margin:6px 0 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;white-space:nowrap;color:var(--soft);font-weight:500}
th,td{padding:7px 10px 7px 0;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:anywhere;min-width:64px}
td:nth-child(2){white-space:nowrap}
.error-text{color:var(--error);font-weight:600}
.warning-text{color:var(--warning);font-weight:600}
.info-text{color:var(--info)}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
"""
