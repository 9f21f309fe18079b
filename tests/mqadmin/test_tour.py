"""docs/tour.md: what a new user types and sees, made by running it.

    MQ_WRITE_TOUR=1 pytest tests/mqadmin/test_tour.py     writes the page anew

Addresses, ids and times differ from run to run; they are replaced by the same ones each time.
"""

import io
import os
import re
from pathlib import Path

from mqadmin.session.call import Workplace
from mqadmin.shell.engine import Shell
from mqadmin.shell.server import EmbeddedServer
from tests.mqadmin.conftest import console_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tour.md"

HEAD = """\
# A first quarter of an hour

<!-- Made by tests/mqadmin/test_tour.py, which runs every line; do not edit. -->

`make shell` starts a name server and a broker of its own and opens the shell. Tab completes
everything; the bottom line shows the syntax of what you type, and what is wrong with it.
Each line here also works as `mqadmin LINE` in your own shell.
"""

STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
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
        "Mistakes are told with what to do next",
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
            "context add prod 'mq1:9876;mq2:9876' --protected --default-timeout 3",
            "context list",
        ),
    ),
)

SAME: tuple[tuple[str, str], ...] = (
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
    console, out, _ = console_of(env)
    both = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    console = console._replace(err=both)
    exit_code = Shell(console, workplace).run(command)
    console.out.flush()
    text = out.getvalue().decode()
    for pattern, instead in SAME:
        text = re.sub(pattern, instead, text)
    said = [line.rstrip() for line in text.splitlines()]
    return said if exit_code == 0 else [*said, f"(exit code {exit_code})"]


def test_the_tour_is_what_happens(env: dict[str, str]) -> None:
    made = transcript(env)

    if os.environ.get("MQ_WRITE_TOUR"):
        PAGE.write_text(made)
    assert PAGE.read_text() == made, "MQ_WRITE_TOUR=1 writes docs/tour.md anew"
