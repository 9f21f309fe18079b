"""The findings of a verification: each names a file, a byte and what to do next.

    error     a message is lost, wrong or unreachable, or a broker would not start    ok: no
    warning   not the state a broker leaves, but every message can be read            ok: no
    info      worth knowing, and normal: abort file, strangers, an open tail          ok: yes

Rule: ``ok`` is false if any finding is an error or a warning. The findings of one kind in one
file are only counted after the first ``SAME_KIND_MAX``, so that the report about a file of garbage
stays readable.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

SAME_KIND_MAX: Final = 100


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One deviation from a sound store.

    Attributes:
        kind: what is wrong, as a word for programs (``bad_crc``, ``queue_hole`` …).
        file: path relative to the store; a missing file has the name that it should have.
        pos: position in that file, bytes.
        field: the field of the layout that is wrong; empty for none.
        found, expected: values as text; empty if there is no value to show.
        hint: what to do next.
        size: affected bytes from ``pos`` on; 0 if unknown.
        count: affected records, entries or files.
    """

    kind: str
    severity: Severity
    file: str
    pos: int = 0
    field: str = ""
    found: str = ""
    expected: str = ""
    hint: str = ""
    size: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification.

    Attributes:
        files: files that were read; ``records``: whole records; ``bytes``: bytes that hold
            data, without holes and preallocated zeros.
        seconds: how long it took.
    """

    ok: bool
    files: int
    records: int
    bytes: int
    seconds: float
    findings: list[Finding]


@dataclass(slots=True)
class Findings:
    """Collects findings while a store is read."""

    found: list[Finding] = field(default_factory=list)
    _counts: Counter[tuple[str, str, Severity]] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Keep ``finding``, or only count it when its file has many of its kind."""
        key = (finding.file, finding.kind, finding.severity)
        self._counts[key] += 1
        if self._counts[key] <= SAME_KIND_MAX:
            self.found.append(finding)

    def error(
        self,
        kind: str,
        file: str,
        *,
        pos: int = 0,
        field: str = "",
        found: int | str = "",
        expected: int | str = "",
        hint: str = "",
        size: int = 0,
        count: int = 1,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a finding; an error unless ``severity`` says otherwise."""
        self.add(
            Finding(
                kind=kind,
                severity=severity,
                file=file,
                pos=pos,
                field=field,
                found=str(found),
                expected=str(expected),
                hint=hint,
                size=size,
                count=count,
            )
        )

    def merge(self, other: "Findings") -> None:
        """Add the findings of another collection, which are about other files."""
        self.found += other.found
        self._counts.update(other._counts)

    @property
    def ok(self) -> bool:
        """Return whether nothing worse than ``info`` was found."""
        return all(finding.severity is Severity.INFO for finding in self.found)

    def all(self) -> list[Finding]:
        """Return the findings, and a summary for each kind that was too frequent to list."""
        rest = [
            Finding(
                kind=kind,
                severity=severity,
                file=file,
                found=f"{count - SAME_KIND_MAX} more findings of this kind",
                hint="only the first ones are listed",
                count=count - SAME_KIND_MAX,
            )
            for (file, kind, severity), count in self._counts.items()
            if count > SAME_KIND_MAX
        ]
        return [*self.found, *rest]
