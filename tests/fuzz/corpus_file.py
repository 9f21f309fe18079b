"""The corpus that is checked in: one file a target, one input a line, in hex.

Rule: an input is here because a fuzzer or a test needed it: it reaches code that no other one
does, or it once broke something.
"""

from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def read_corpus(name: str) -> list[bytes]:
    """Return the inputs of one target; none where it has no file yet."""
    path = CORPUS / f"{name}.hex"
    lines = path.read_text().splitlines() if path.exists() else []
    return [bytes.fromhex(line) for line in lines]


def add_to_corpus(name: str, inputs: list[bytes]) -> None:
    """Write more inputs into the file of one target, each once, the shortest first."""
    known = dict.fromkeys([*read_corpus(name), *inputs])
    lines = [data.hex() for data in sorted(known, key=lambda data: (len(data), data)) if data]
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{name}.hex").write_text("\n".join(lines) + "\n")
