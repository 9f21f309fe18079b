"""The golden stores as the tests of this package look at them: read once, never changed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.golden import Golden

STORES = ("basic", "kinds", "kinds-lmq", "retention", "ipv6", "v5", "default-geometry")
CONFIG_STORES = (*STORES[:5], "default-geometry")


@dataclass(frozen=True)
class Corpus:
    """One golden store: its directory and what Java says of it."""

    golden: Golden
    name: str
    root: Path

    @cached_property
    def rows(self) -> list[dict]:
        """Every line of records.jsonl."""
        return list(self.golden.jsonl(self.name, "records"))

    @cached_property
    def messages(self) -> list[tuple[dict, bytes]]:
        """Every message: its line of records.jsonl and its bytes."""
        found = []
        for row in self.rows:
            if row["kind"] == "msg":
                with (self.root / "commitlog" / row["file"]).open("rb") as file:
                    file.seek(row["pos"])
                    found.append((row, file.read(row["size"])))
        return found

    @cached_property
    def expected(self) -> dict:
        """What the Java code said of the store."""
        return self.golden.expected(self.name)

    def log_files(self) -> list[Path]:
        """The commit log files in order."""
        return sorted((self.root / "commitlog").iterdir())
