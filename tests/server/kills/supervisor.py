"""Starts and kills a broker, ours or the real one, on one store, beside a name server.

    Supervisor ─ start ─> broker, on the port it always has ─ kill ─> SIGKILL
               └ dead ──> a copy of the store, verified

Rule: all files are below one directory. The name server lives through all kills.
"""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from storefmt.offline import StoreDir
from storefmt.offline.verify.findings import Finding, Severity
from storefmt.offline.verify.store import verify
from tests.interop.kit.java_build import class_path
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side
from tests.ports import free_ports
from tests.server.kills.load import DELAYS_MS

TARGETS: Final = ("ours", "java")
NOT_YET_WRITTEN: Final = frozenset({"queue_behind", "queue_missing", "config_fallback"})
"""Findings that a kill causes: entries that were only in memory, which the next start makes from
the log, and a state file whose writer was killed between its two renames, so that its .bak replaces
it. The store of a broker that was stopped properly has none of these."""
RETENTION_UNDER_WAY: Final = "log_start_missing"
"""Log files were deleted, and the queue and index files of the same messages were not yet. A kill
during a deletion leaves this state until the retention of the next broker has run. The checker
decides whether a message was rightly deleted."""


class Supervisor:
    """Starts and kills the broker.

    Args:
        directory: an empty directory, where all files of all programs are written.
        target: ``ours`` or ``java``.
        flush: flushDiskType.
    """

    def __init__(self, directory: Path, *, target: str, flush: str) -> None:
        self.directory = directory
        self.store = directory / "store"
        self.is_java = target == "java"
        self._side: Side = (
            JavaSide(directory / "java", class_path())
            if self.is_java
            else OurSide(directory / "ours")
        )
        self._port = free_ports(4) + 2
        self._flush = flush
        self._namesrv = Namesrv(self._side).await_ready()
        self._broker: Broker | None = None
        self.namesrv = self._namesrv.address
        self.address = f"127.0.0.1:{self._port}"

    def launch(self, settings: Mapping[str, str]) -> None:
        """Start the broker without waiting until it serves."""
        delays = " ".join(f"{delay_ms // 1000}s" for delay_ms in DELAYS_MS.values())
        self._broker = Broker(
            self._side,
            store=self.store,
            namesrv=self.namesrv,
            port=self._port,
            settings={
                "flushDiskType": self._flush,
                "messageDelayLevel": delays,
                # The broker asks often, and never gives up a transaction.
                "transactionTimeOut": "1000",
                "transactionCheckInterval": "1000",
                "transactionCheckMax": "10000",
                # In that hour files would be deleted at any moment, so it is far from now.
                "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
                "deleteCommitLogFilesInterval": "1",
                "deleteConsumeQueueFilesInterval": "1",
                "cleanResourceInterval": "1000",
                **settings,
            },
        )

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start the broker, and return when it serves."""
        self.launch(settings or {})
        self.await_ready()

    def await_ready(self) -> None:
        """Return when the broker serves."""
        self._broker.await_ready()

    def kill(self) -> None:
        """End the broker by SIGKILL."""
        self._broker.kill()

    def dead(self, name: str) -> tuple[Path, list[str]]:
        """Return a copy of the store of a broker that was killed, and what is wrong with it."""
        copy = self.directory / name
        shutil.copytree(self.store, copy)
        # The broker may have been killed before it created its first file.
        found = _findings(copy) if (copy / "commitlog").is_dir() else []
        return copy, [str(one) for one in found if one.kind not in NOT_YET_WRITTEN]

    def stop(self) -> list[str]:
        """Stop the broker properly; return what is wrong with the store then."""
        code = self._broker.stop()
        wrong = [str(one) for one in _findings(self.store)]
        # The real broker ends with 143, as the JVM does after SIGTERM.
        return wrong if code in (0, 143) else [*wrong, f"the broker ended with {code}"]

    def close(self) -> None:
        """End all programs that still run."""
        if self._broker is not None:
            self._broker.kill()
        self._namesrv.stop()


def _findings(store: Path) -> list[Finding]:
    """Return all that is not as a broker leaves a store."""
    return [
        one
        for one in verify(StoreDir.open(store)).findings
        if one.severity is not Severity.INFO and one.kind != RETENTION_UNDER_WAY
    ]
