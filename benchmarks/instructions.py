"""How many instructions a message costs inside broker and client, counted by valgrind's cachegrind.

    python -m benchmarks.instructions              every load, beside the baseline
    python -m benchmarks.instructions send batch

Times depend on the machine and its other work, instructions much less. A load is replayed
(``benchmarks.replay``; ``async`` and ``push`` by ``benchmarks.client_replay``) with few and with
many messages, and the difference is divided by the difference of the messages, so that start and
stop do not count. The process also makes the frames, stores what ``tail`` reads, and answers the
client, so a count is that of all this together. A test of the full tier holds the counts against
``BASELINE`` with a margin.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

CLIENT: Final = {"async": 134_000, "push": 34_000}
BASELINE: Final = {"send": 51_500, "keyed": 57_100, "batch": 30_200, "tail": 61_300, **CLIENT}
"""Instructions a message, with kernels; lower a number when the code becomes cheaper."""
MARGIN: Final = 1.3
"""The timers of a broker make counts differ by a tenth, and by more on a busy machine."""
FEW: Final = 2_048
MANY: Final = 8_192
_TOTAL: Final = re.compile(r"I\s+refs:\s+([0-9,]+)")
# Valgrind counts `rep movsb`, by which memcpy moves long bodies, once for each byte.
_TUNABLES: Final = (
    "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824"
)


def counted(load: str, messages: int) -> int:
    """Return the instructions of one replay.

    Raises:
        RuntimeError: valgrind or the replay failed.
    """
    with tempfile.TemporaryDirectory(prefix="mq-instructions-") as scratch:
        replay = ["benchmarks.replay", "--dir", scratch]
        if load in CLIENT:
            replay = ["benchmarks.client_replay"]
        done = subprocess.run(
            [
                "valgrind", "--tool=cachegrind", "--cache-sim=no",
                f"--cachegrind-out-file={scratch}/out", sys.executable, "-m", *replay, load,
                "--rounds", "1", "--messages", str(messages),
            ],
            cwd=Path(__file__).resolve().parents[1],
            env={**os.environ, "GLIBC_TUNABLES": _TUNABLES, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
        )  # fmt: skip
    found = _TOTAL.search(done.stderr)
    if done.returncode or found is None:
        raise RuntimeError(f"valgrind counted nothing: {done.stderr[-2_000:]}")
    return int(found[1].replace(",", ""))


def per_message(load: str) -> float:
    """Return the instructions of one message of a load."""
    return (counted(load, MANY) - counted(load, FEW)) / (MANY - FEW)


def main() -> int:
    """Print a line for every load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("loads", nargs="*", default=list(BASELINE))
    for load in parser.parse_args().loads:
        found = per_message(load)
        print(f"{load:6} {found:9,.0f} instructions a message, baseline {BASELINE[load]:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
