"""Pictures of rate and latency, ours beside the Java broker's: against load, bodies, connections.

    python -m benchmarks.curves --rounds 2 --seconds 2 --pictures docs

The client is that of ``benchmarks.peers``, and a broker that does nothing else answers it. Each
round starts both brokers anew, one after the other; a point is the median of the rounds.

    load         1 to 1,024 messages on their way, over one connection, 1 KiB each
    bodies       100 B to 64 KiB, 64 on their way: MB of bodies a second
    connections  1 to 1,000, with one message on its way each
"""

import argparse
import math
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.peers import SOURCE, Load, Peer, Result, rocketmq, run
from benchmarks.replay import Frames
from benchmarks.telling import markdown, tell

WINDOWS: Final = (1, 4, 16, 64, 256, 1024)
BODIES: Final = (100, 1 << 10, 16 << 10, 64 << 10)
CONNECTIONS: Final = (1, 10, 100, 1000)
NAMES: Final = ("ours", "java")
WIDTH: Final = 640
HEIGHT: Final = 300
LEFT: Final = 84
LABEL_HEIGHT: Final = 13
BOTTOM: Final = 40
STYLE: Final = """
text{font:12px sans-serif;fill:#444}line{stroke:#bbb}polyline{fill:none;stroke-width:2}
.ours{stroke:#0b6e4f;fill:#0b6e4f}.java{stroke:#b5532a;fill:#b5532a}polyline.ours,polyline.java{fill:none}
text.ours,text.java{stroke:none}.p99,.pulled{stroke-dasharray:6 3}.p999{stroke-dasharray:2 3}
@media(prefers-color-scheme:dark){text{fill:#ccc}line{stroke:#555}.ours{stroke:#4fd1a5;fill:#4fd1a5}
.java{stroke:#f0a070;fill:#f0a070}}
"""


class Line(NamedTuple):
    """A line of a picture: its colour's class, what stands at its end, and its points."""

    kind: str
    label: str
    points: Sequence[tuple[float, float]]


def picture(title: str, across: str, lines: Sequence[Line]) -> str:
    """Return the lines as SVG text; both axes are logarithmic.

    Args:
        across: what the horizontal axis has.
    """
    xs = sorted({x for line in lines for x, _ in line.points})
    ys = [y for line in lines for _, y in line.points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x: float, y: float) -> tuple[float, float]:
        right = math.log(x / xs[0]) / math.log(xs[-1] / xs[0])
        up = (math.log10(y) - low) / (high - low)
        return LEFT + right * (WIDTH - LEFT - 90), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - 40)

    parts = [f'<text x="{LEFT}" y="18">{escape(title)}</text>']
    for power in range(low, high + 1):
        _, y = place(xs[0], 10**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 90}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for one in xs:
        x, _ = place(one, 10**low)
        y = HEIGHT - BOTTOM + 18
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{one:,.0f}</text>')
    middle = (LEFT + WIDTH - 90) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(across)}</text>'
    )
    below = 0.0
    # From the highest end to the lowest, so that no label stands on the one before.
    for line in sorted(lines, key=lambda line: -line.points[-1][1]):
        found = [place(x, y) for x, y in line.points]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in found)
        kind = f"{line.kind} {line.label.split()[-1]}"
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
        x, y = found[-1]
        below = max(y + 4, below + LABEL_HEIGHT)
        text = escape(line.label)
        parts.append(f'<text class="{line.kind}" x="{x + 6:.1f}" y="{below:.1f}">{text}</text>')
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


Points = dict[tuple[str, str, int], Result]
"""By broker, what was varied, and its value."""


def measure(rounds: int, seconds: float, root: Path) -> Points:
    """Return the median of each point."""
    client = root / "light"
    subprocess.run(["cc", "-O2", "-o", client, SOURCE], check=True)
    found: dict[tuple[str, str, int], list[Result]] = defaultdict(list)
    for _ in range(rounds):
        for name in NAMES:
            with rocketmq(name, root) as peer:

                def point(what: str, value: int, at: Peer, load: Load, name: str = name) -> None:
                    result = run(client, at, load, root / "request", seconds)
                    found[name, what, value].append(result)
                    print(f"{name}, {what} {value}: {result.rate:,.0f}/s", flush=True)

                for window in WINDOWS:
                    point("load", window, peer, Load("", 1, window))
                for size in BODIES:
                    sized = peer._replace(single=Frames(size, 8).plain())
                    point("body", size, sized, Load("", 1, 64))
                for count in CONNECTIONS:
                    point("connections", count, peer, Load("", 1, 1, count))
    return {
        place: Result(*(statistics.median(values) for values in zip(*runs, strict=True)))
        for place, runs in found.items()
    }


def lines(
    points: Points, what: str, kinds: dict[str, Callable[[int, Result], float]]
) -> list[Line]:
    """Return a line for each broker and each kind of number."""
    return [
        Line(
            name,
            f"{name} {label}".strip(),
            [(value, of(value, result)) for (who, varied, value), result in points.items()
             if (who, varied) == (name, what)],
        )
        for name in NAMES
        for label, of in kinds.items()
    ]  # fmt: skip


def table(points: Points) -> str:
    """Return all points as a table."""
    rows = []
    for (name, what, value), ours in points.items():
        if name == "ours":
            java = points["java", what, value]
            times = [
                f"{one.p50_us:,.0f} / {one.p99_us:,.0f} / {one.p999_us:,.0f}"
                for one in (ours, java)
            ]
            rates = (f"{one.rate:,.0f}" for one in (ours, java))
            rows.append([what, f"{value:,}", *rates, *times])
    return markdown(("", "", "ours msg/s", "java", "ours p50 / p99 / p999 us", "java"), rows)


def main() -> int:
    """Measure, print the points, and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--pictures", type=Path, help="draw bench-*.svg into this directory")
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        points = measure(options.rounds, options.seconds, Path(made))
    tell(table(points), options.write)
    if options.pictures is not None:
        draw(points, options.pictures)
    return 0


def draw(points: Points, directory: Path) -> None:
    """Draw ``bench-*.svg`` into a directory."""
    drawn = {
        "rate": picture(
            "Messages a second", "messages on their way",
            lines(points, "load", {"": lambda value, result: result.rate}),
        ),
        "latency": picture(
            "Microseconds from a send to its answer", "messages on their way",
            lines(points, "load", {
                "p50": lambda value, result: result.p50_us,
                "p99": lambda value, result: result.p99_us,
                "p999": lambda value, result: result.p999_us,
            }),
        ),
        "bodies": picture(
            "MB of bodies a second, 64 messages on their way", "bytes of a body",
            lines(points, "body", {"": lambda value, result: value * result.rate / 1e6}),
        ),
        "connections": picture(
            "Messages a second, one on its way for each connection", "connections",
            lines(points, "connections", {"": lambda value, result: result.rate}),
        ),
    }  # fmt: skip
    for name, text in drawn.items():
        (directory / f"bench-{name}.svg").write_text(text)


if __name__ == "__main__":
    raise SystemExit(main())
