"""Writes docs/tour.md and the blocks of its translation: the first commands of a new user.

    make tour        python -m docs.tourpage

Addresses, ids and times differ from run to run; they are replaced by the same ones each time.
"""

import io
import re
import tempfile
from pathlib import Path
from typing import Final

from mqadmin.session.call import Workplace
from mqadmin.session.console import Console
from mqadmin.shell.engine import Shell
from mqadmin.shell.server import EmbeddedServer

COMMAND: Final = "make tour"
DIRECTORY: Final = Path(__file__).resolve().parent
PAGE: Final = DIRECTORY / "tour.md"
TRANSLATION: Final = DIRECTORY / "zh" / "quick-start.md"
FENCE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

HEAD: Final = """\
# A fifteen-minute tour

<!-- Made by `make tour`, which runs every line; do not edit. -->

`make shell` starts a name server and a broker and opens the shell. Tab completes everything; the
bottom line shows the syntax of the command that you type, and any error in it. Each line here also
works as `mqadmin LINE` in your own shell.
"""

STEPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "Make a topic, send, and look",
        (
            "topic create orders -q 1",
            "message send orders 'first order' --tag new --key o-1",
            "message send orders 'second order' --tag paid --key o-2",
            "topic show orders --columns topic,broker,queue_id,min_offset,max_offset",
            "message query key orders o-1 --columns topic,tags,keys,body",
        ),
    ),
    (
        "Errors say what to do next",
        ("topic shwo orders", "topic show ordres", "topic list --kind nrml"),
    ),
    (
        "A default topic, pipes and formats",
        (
            "use topic orders",
            "message query key o-2 -o json | json [0].body",
            "topic list --kind normal | count",
            "topic list --kind normal -o json",
        ),
    ),
    (
        "See what would change, then change it",
        (
            "offset reset billing orders --to earliest --dry-run",
            "offset reset billing orders --to earliest -y",
            "group lag billing --columns topic,queue_id,broker_offset,consumer_offset,lag",
        ),
    ),
    (
        "Name a cluster, and protect it",
        (
            "context add prod mq1:9876,mq2:9876 --protected --default-timeout 3",
            "context list",
        ),
    ),
)

SAME: Final[tuple[tuple[str, str], ...]] = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:9876"),
    (r"\b[0-9A-F]{32}\b", "7F00000100002A9F0000000000000000"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)", "2026-11-21T10:00:00.000Z"),
    (r"\b1[5-9]\d{11}\b", "1700000000000"),
)


def transcript(env: dict[str, str]) -> str:
    """Run every step and return the page."""
    lines = [HEAD]
    with EmbeddedServer() as server:
        workplace = Workplace(namesrv=server.addresses.namesrv)
        try:
            for title, commands in STEPS:
                lines += [f"## {title}", "", "```"]
                for command in commands:
                    lines += [f"> {command}", *shown(command, env, workplace)]
                lines += ["```", ""]
        finally:
            workplace.link.close()
    return "\n".join(lines)


def shown(command: str, env: dict[str, str], workplace: Workplace) -> list[str]:
    """Return what a line prints, the same in every run."""
    out = io.BytesIO()
    both = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    console = Console(
        stdin=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
        out=both,
        err=both,
        env=env,
        out_is_tty=False,
        can_ask=False,
    )
    exit_code = Shell(console, workplace).run_text(command)
    console.out.flush()
    text = out.getvalue().decode()
    for pattern, instead in SAME:
        text = re.sub(pattern, instead, text)
    said = [line.rstrip() for line in text.splitlines()]
    return said if exit_code == 0 else [*said, f"(exit code {exit_code})"]


def with_blocks_of(page: str, translation: str) -> str:
    """Return a translation with the blocks of the page that it translates, in their order.

    Raises:
        ValueError: it has another number of blocks; its own text has to be written first.
    """
    blocks, places = FENCE.findall(page), FENCE.findall(translation)
    if len(blocks) != len(places):
        raise ValueError(
            f"{TRANSLATION.name} has {len(places)} blocks of code and {PAGE.name} has "
            f"{len(blocks)}; translate the new section, then run `{COMMAND}` again"
        )
    fresh = iter(blocks)
    return FENCE.sub(lambda _: next(fresh), translation)


def main() -> None:
    """Write both pages."""
    with tempfile.TemporaryDirectory() as home:
        page = transcript({"HOME": home, "XDG_CONFIG_HOME": home})
    PAGE.write_text(page)
    TRANSLATION.write_text(with_blocks_of(page, TRANSLATION.read_text()))


if __name__ == "__main__":
    main()
