"""Runs the loop by hand; see the docstring of the package."""

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.server.kills.loop import Loop, Settings
from tests.server.kills.supervisor import TARGETS


def main() -> int:
    """Run the loop; return 1 if a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.server.kills")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no kill after these")
    parser.add_argument("--flush", choices=("ASYNC_FLUSH", "SYNC_FLUSH"), default="ASYNC_FLUSH")
    parser.add_argument("--target", choices=TARGETS, default="ours")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--uptime-max", type=float, default=2.0, help="seconds of the longest life")
    parser.add_argument("--directory", type=Path, help="where everything is written and kept")
    words = parser.parse_args()
    settings = Settings(
        kills=words.kills,
        seed=words.seed,
        target=words.target,
        flush=words.flush,
        seconds=words.seconds,
        uptime_s_max=words.uptime_max,
    )
    directory = words.directory or Path(tempfile.mkdtemp(prefix="kills-"))
    directory.mkdir(parents=True, exist_ok=True)
    totals = Loop(settings, directory).run()
    print(json.dumps(dataclasses.asdict(totals)))
    return int(bool(totals.faults))


if __name__ == "__main__":
    sys.exit(main())
