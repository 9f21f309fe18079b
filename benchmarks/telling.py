"""How a benchmark tells what it measured: Markdown tables, on the screen and in a file."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def markdown(titles: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def tell(text: str, write: Path | None) -> None:
    """Print the text of a measurement, and append it to a file where one is named."""
    print("\n" + text, flush=True)
    if write is not None:
        with write.open("a") as file:
            file.write("\n" + text)
