"""Running store commands through the entry of the program, in this process."""

from pathlib import Path

from mqadmin.session.call import Workplace
from tests.mqadmin.conftest import Result, run_words


def run(*words: str | Path, output: str = "json") -> Result:
    """Run ``mqadmin WORDS -o json`` with streams of its own."""
    return run_words([*map(str, words), "-o", output], {}, Workplace())
