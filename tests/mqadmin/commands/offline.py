"""Running store commands through the entry of the program, in this process."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

from mqadmin.cli.run import run_line
from mqadmin.session.call import Workplace
from mqadmin.session.console import Console


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line gave."""

    exit_code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict]:
        """Return the rows of ``-o json``."""
        found = json.loads(self.out)
        return found if isinstance(found, list) else [found]


def run(*words: str | Path, output: str = "json") -> Ran:
    """Run ``mqadmin WORDS -o json`` with streams of its own."""
    out, err = io.StringIO(), io.StringIO()
    console = Console(
        stdin=io.StringIO(), out=out, err=err, out_is_tty=False, can_ask=False, env={}
    )
    line = [str(word) for word in words]
    exit_code = run_line([*line, "-o", output], console, Workplace())
    return Ran(exit_code, out.getvalue(), err.getvalue())
