"""Our mqadmin in the process of the test, on servers of either side.

ask = OurMqadmin(servers.namesrv.address, {"HOME": str(tmp_path)})
ask("topic", "list")                               its rows
ask.text("topic", "list", "--output", "yaml")      what it printed
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mqadmin.session.call import Workplace
from tests.mqadmin.conftest import run_words

Row = dict[str, Any]


@dataclass
class OurMqadmin:
    """Runs one line at a time, each with connections of its own."""

    namesrv: str
    env: Mapping[str, str]
    err: str = ""
    """What the last line said on the stream for errors."""

    def __call__(self, *words: str, exit_code: int = 0, stdin: str = "") -> list[Row]:
        """Run a line and return its rows."""
        said = self.text(*words, "--output", "json", exit_code=exit_code, stdin=stdin)
        made = json.loads(said or "[]")
        return made if isinstance(made, list) else [made]

    def text(self, *words: str, exit_code: int = 0, stdin: str = "") -> str:
        """Run a line and return what it printed."""
        workplace = Workplace()
        line = (*words, "--namesrv", self.namesrv, "--timeout", "20")
        done = run_words(line, dict(self.env), workplace, stdin=stdin)
        workplace.link.close()
        self.err = done.err
        assert done.exit_code == exit_code, (words, done.out, self.err)
        return done.out
