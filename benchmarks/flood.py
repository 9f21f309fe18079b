"""How long a send waits while a stranger opens and closes connections as fast as it can be asked.

    python -m benchmarks.flood --rounds 4 --seconds 5

    broker ─┬── sender: 300 messages a second, each answer timed
            └── flood: 1,600 connections a second, opened and reset at once
    another broker of ours ── the same flood, beside the same sender

A round has a run of each kind with each broker, in turn. Told are medians over the rounds, and
what the p99 is to that of the run without a flood in the same round. The flood of another broker
shows what the flood costs the sender because both need the machine's few cores: only what a
flood costs beyond that is due to the broker that gets it.
"""

import argparse
import socket
import statistics
import struct
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.coldread import send_all, warm
from benchmarks.servers import Side, side
from benchmarks.telling import tell

CONNECTIONS_A_SECOND: Final = 1_600
RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: close with a reset, so that no port stays in TIME_WAIT."""
KINDS: Final = ("no flood", "flood", "flood elsewhere")


def flood(port: int, until: float) -> int:
    """Open connections at a steady pace; for a process of its own; return how many."""
    begin, count = time.perf_counter(), 0
    while (now := time.perf_counter()) < until:
        due = int((now - begin) * CONNECTIONS_A_SECOND)
        for _ in range(due - count):
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                sock.connect(("127.0.0.1", port))
        count = max(count, due)
        time.sleep(0.001)
    return count


def run(
    pool: ProcessPoolExecutor, sends: Side, flooded: Side | None, *, seconds: float
) -> tuple[float, float, float]:
    """Return p50 and p99 of the sends in ms, and the connections a second."""
    until = time.perf_counter() + seconds
    sending = pool.submit(send_all, sends.broker_port, until)
    flooding = pool.submit(flood, flooded.broker_port, until) if flooded is not None else None
    cuts = statistics.quantiles(sending.result(), n=100)
    return cuts[49], cuts[98], (flooding.result() if flooding is not None else 0) / seconds


def main() -> None:
    """Print a line for each broker and kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--brokers", nargs="+", default=["ours", "java"])
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool = stack.enter_context(ProcessPoolExecutor(2))
        brokers = {
            name: stack.enter_context(side(name, scratch, settings={})) for name in options.brokers
        }
        other = stack.enter_context(side("ours", scratch, settings={}))
        for broker in brokers.values():
            warm(broker.broker_port, pulls=False)
        for number in range(options.rounds):
            # Whoever is first has no advantage of it.
            for kind in KINDS[number % 3 :] + KINDS[: number % 3]:
                for name, broker in brokers.items():
                    flooded = {"no flood": None, "flood": broker}.get(kind, other)
                    found[name, kind].append(run(pool, broker, flooded, seconds=options.seconds))
    lines = []
    for (name, kind), runs in found.items():
        base = found[name, KINDS[0]]
        ratio = statistics.median(one[1] / none[1] for one, none in zip(runs, base, strict=True))
        p50, p99, rate = (statistics.median(column) for column in zip(*runs, strict=True))
        lines.append(
            f"{name:5s} {kind:16s} p50 {p50:6.2f}  p99 {p99:7.2f} ms"
            f"  p99 to none {ratio:5.2f}  {rate:5.0f} connections/s"
        )
    tell("\n".join(sorted(lines)), options.write)


if __name__ == "__main__":
    main()
