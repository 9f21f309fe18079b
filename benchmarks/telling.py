"""What a benchmark says at its end: on the screen, and into the file of ``--write``."""

from pathlib import Path


def tell(text: str, write: Path | None) -> None:
    """Print the text of a measurement, and append it to a file where one is named."""
    print("\n" + text, flush=True)
    if write is not None:
        with write.open("a") as file:
            file.write("\n" + text)
