"""Verification, part 5: the log against the checksums of ``store seal``.

Rule: a segment that has changed since it was sealed is one finding. If a single flipped bit
explains the change, the finding names its byte and field, because a CRC-32 shows which bit of a
record was flipped. Records that a broker wrote after the seal are checked as in any store.

Source: ours, see ``storefmt.offline.verify.seal``.
"""

from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from storefmt.errors import StoreError
from storefmt.formats import layout
from storefmt.formats.message import MAGIC_BLANK, Record, layout_of
from storefmt.offline.parallel import map_files
from storefmt.offline.verify.findings import SAME_KIND_MAX, Findings, Severity
from storefmt.offline.verify.seal import (
    SealedFile,
    SealedSegment,
    changed_segments,
    flipped_bit,
    read_sealed,
)
from storefmt.offline.views.log_scan import Blank, End, walk_file
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan
from storefmt.paths import parse_log_file_name
from storefmt.store_file import StoreFile

_MAGIC: Final = slice(4, 8)
_HINT: Final = "take the record from a slave or a backup, or flip the bit back in a copy"


def check_seal(
    store: StoreView, findings: Findings, directory: Path, *, worker_count: int = 1
) -> None:
    """Compare every log file with its checksums in ``directory``, if there are any.

    Args:
        store: the opened store.
        findings: receives what is wrong.
        directory: the directory with the checksums.
        worker_count: number of processes that share the files.
    """
    if not directory.is_dir():
        return
    log_spans = {span.path.name: span for span in store.log.spans}
    checksum_files = map_files(
        _check_one,
        ((span, directory / name) for name, span in log_spans.items()),
        make=partial(StoreView, store.tree),
        worker_count=min(worker_count, len(log_spans)),
    )
    with closing(checksum_files):
        for of_file in checksum_files:
            findings.merge(of_file)
    _check_missing(store, findings, directory, log_spans)


def _check_one(store: StoreView, task: tuple[FileSpan, Path]) -> Findings:
    span, path = task
    findings = Findings()
    if path.is_file():
        _check_file(store, findings, span, path)
    elif store.log.open(span).first_data() is not None:
        findings.error(
            "not_sealed",
            store.span_name(span),
            found="no checksums",
            expected=f"checksums/{path.name}",
            severity=Severity.INFO,
            hint="run `store seal` again to cover newer records",
        )
    return findings


def _check_missing(
    store: StoreView, findings: Findings, directory: Path, known: dict[str, FileSpan]
) -> None:
    for path in sorted(directory.iterdir()):
        start = parse_log_file_name(path.name)
        # Files before the first one were deleted by age.
        if start is None or path.name in known or start < store.log.min_offset:
            continue
        findings.error(
            "missing_file",
            f"commitlog/{path.name}",
            found="no file",
            expected="a file: it was sealed",
            hint="take it from a slave or a backup; its messages are lost otherwise",
        )


def _check_file(store: StoreView, findings: Findings, span: FileSpan, path: Path) -> None:
    file, name = store.log.open(span), store.span_name(span)
    try:
        sealed = read_sealed(path)
    except StoreError as error:
        findings.error(
            "seal_damaged",
            f"checksums/{path.name}",
            found=str(error),
            expected="checksums of the log file",
            severity=Severity.WARNING,
            hint="the log itself may be good; delete the file and run `store seal` again",
        )
        return
    for number, (part, found) in enumerate(changed_segments(file, sealed)):
        _tell(findings, name, file, part, found, search=number < SAME_KIND_MAX)
    _check_behind(store, findings, span, sealed)


def _tell(
    findings: Findings, name: str, file: StoreFile, part: SealedSegment, found: int, *, search: bool
) -> None:
    bit = flipped_bit(found, part.crc, part.size) if search else None
    if bit is None or part.pos + part.size > file.size:
        findings.error(
            "not_as_sealed",
            name,
            pos=part.pos,
            found=f"crc {found:08x}",
            expected=f"crc {part.crc:08x}",
            size=part.size,
            hint="more than one bit differs; take the record from a slave or a backup",
        )
        return
    data = bytearray(file.read(part.pos, part.size))
    now = data[bit // 8]
    data[bit // 8] ^= 0x80 >> bit % 8
    findings.error(
        "flipped_bit",
        name,
        pos=part.pos + bit // 8,
        field=_field(bytes(data), bit // 8),
        found=f"{now:#04x}",
        expected=f"{data[bit // 8]:#04x}",
        size=1,
        hint=_HINT,
    )


def _field(data: bytes, pos: int) -> str:
    """Return the name of the field that contains a byte of a good record or blank."""
    magic = int.from_bytes(data[_MAGIC], "big", signed=True)
    declared = layout_of(magic)
    if magic == MAGIC_BLANK:
        declared, data = layout.BLANK, data[:8]
    with suppress(StoreError):
        for span in declared.spans(data):
            if span.pos <= pos < span.pos + span.size:
                return span.field.name
    return ""


def _check_behind(store: StoreView, findings: Findings, span: FileSpan, sealed: SealedFile) -> None:
    """Check that a later record, or nothing, follows the sealed part."""
    file = store.log.open(span)
    base = span.start
    item = next(walk_file(file, base=base, start=sealed.size), (0, None))[1]
    if item is None or isinstance(item, Record | Blank):
        return
    first = file.first_data(sealed.size)
    if isinstance(item, End) and first is None:
        return
    pos = sealed.size if first is None else first
    findings.error(
        "not_as_sealed",
        store.span_name(span),
        pos=pos,
        found="bytes that are not a record",
        expected="zeros, as when it was sealed, or a new record",
        size=max(1, file.data_end(sealed.size) - pos),
        hint="nothing is lost if a broker was writing there; otherwise inspect it with "
        "`store hexdump`",
    )
