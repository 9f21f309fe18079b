"""The steps of the tour, run one after the other on servers of its own.

    EmbeddedServer <── shop: sends orders
          └── billing: app-1 quick, app-2 slow, app-3 is killed on the way
    then: servers stopped, a message overwritten, the store mended

Rule: what is shown is what a user gets: each line runs in the shell of ``mqadmin``. A person goes
on with Enter and looks at live views; without one, each view is taken once and nothing waits.
"""

import io
import subprocess
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from mqadmin.child_processes import module_command, module_environment
from mqadmin.demo.traffic import GROUP, PRODUCER, TOPIC, body_of
from mqadmin.errors import CommandError
from mqadmin.session.call import Call, Workplace
from mqadmin.shell.engine import Shell
from mqadmin.shell.server import EmbeddedServer

PAUSES_MS: Final = {PRODUCER: 40, "app-1": 5, "app-2": 400, "app-3": 5}
DYING: Final = "app-3"
DIES_AFTER_S: Final = 3.0
"""After the start of the step that shows it."""
SETTLED_S_MAX: Final = 60.0
SETTLED_LOOK_S: Final = 0.5
SET_UP: Final = (
    f"topic create {TOPIC} -q 6",
    f"wait topic {TOPIC} --within 60s",
)
READY: Final = (
    f"wait group {GROUP} --members 3 --within 60s",
    f"assert message-count {TOPIC} --min 100 --within 60s",
)
DAMAGED: Final = 7
"""The number of the order whose body is overwritten."""
BEGINNING_SIZE: Final = 1 << 16
"""Bytes of the log in which the first orders are."""
COLUMNS: Final = 78


class TourStep(NamedTuple):
    """One line of the tour.

    Attributes:
        says: what it shows.
        line: what is run.
        live: what is run instead where a person looks on.
        is_settled: it begins when each member holds queues.
        is_death: a member is killed meanwhile.
    """

    says: str
    line: str
    live: str = ""
    is_settled: bool = False
    is_death: bool = False


LIVE: Final = (
    TourStep(
        "A name server and a broker now run on this machine. A shop sends orders, and the three "
        "members of the group billing consume them in order.",
        "cluster list",
    ),
    TourStep(
        "Brokers, topics and groups with their rates, the busiest first. `q` leaves.",
        "top --once --interval 1",
        "top --interval 1",
    ),
    TourStep(
        "app-2 is slow: how far is the group behind, and how long will it take to catch up? "
        "Ctrl-C leaves.",
        f"group lag {GROUP} {TOPIC}",
        f"group lag {GROUP} {TOPIC} --watch 1",
        is_settled=True,
    ),
    TourStep(
        "Members that consume in order lock their queues for 60 seconds at a time. Ctrl-C leaves.",
        f"lock list --group {GROUP}",
        f"lock list --group {GROUP} --watch 1",
    ),
    TourStep(
        f"Now {DYING} is killed (kill -9). The broker notifies the other two, which share its "
        "queues.",
        f"rebalance watch {GROUP} {TOPIC} --interval 1 --for 10s",
        is_death=True,
    ),
    TourStep(
        f"The queues of {DYING} stay locked until its locks expire, and the others wait for them.",
        f"lock list --group {GROUP}",
    ),
    TourStep(
        "What became of one order? This shows where it is, and where the group stands.",
        f"message trace o-{DAMAGED} --topic {TOPIC} --columns step,queue_id,group,detail",
    ),
)
BROKEN: Final = (
    TourStep(
        f"The servers are stopped, and a bad disk has overwritten order {DAMAGED}. The following "
        "commands need no server.",
        "store verify",
    ),
    TourStep(
        "A repair writes a copy that a broker can open, and lists what is lost.",
        "store repair --to {}",
    ),
    TourStep(
        "The copy is healthy. Start a broker on it, ours or Java's.", "store verify --store {}"
    ),
)


class Tour:
    """Shows steps: the text, the line, and what the line prints."""

    def __init__(self, call: Call, workplace: Workplace) -> None:
        self._console = call.console
        self._bold, self._plain = ("\x1b[1m", "\x1b[0m") if call.has_color else ("", "")
        self._workplace = workplace
        self._shell = Shell(self._console, workplace)
        self._is_watched = self._console.can_ask and self._console.out_is_tty

    def prepare(self, *lines: str) -> None:
        """Run lines of which nothing is shown.

        Raises:
            CommandError: one failed.
        """
        err = io.StringIO()
        console = self._console._replace(out=io.StringIO(), err=err, out_is_tty=False)
        for line in lines:
            if Shell(console, self._workplace).run_text(line):
                raise CommandError(f"the demo stopped at `{line}`: {err.getvalue().strip()}")

    def settle(self) -> None:
        """Wait until each member holds queues, but not for ever.

        Who asks for a lock that another member has not given back yet asks again 20 s later.
        """
        until_s = time.monotonic() + SETTLED_S_MAX
        members = PAUSES_MS.keys() - {PRODUCER}
        while time.monotonic() < until_s:
            out = io.StringIO()
            console = self._console._replace(out=out, out_is_tty=False)
            line = f"lock list --group {GROUP} --no-waiting --columns client_id -o csv"
            Shell(console, self._workplace).run_text(line)
            holders = {client_id.rpartition("@")[2] for client_id in out.getvalue().split()}
            if members <= holders:
                return
            self._workplace.pause(SETTLED_LOOK_S)

    def show(self, step: TourStep, *, path: str = "") -> None:
        """Show one step, and wait for Enter if a person is watching."""
        line = (step.live if self._is_watched and step.live else step.line).format(path)
        out = self._console.out
        text = textwrap.fill(step.says, COLUMNS)
        out.write(f"\n{text}\n\n{self._bold}$ mqadmin {line}{self._plain}\n")
        out.flush()
        if self._is_watched:
            self._console.err.write("press Enter to run it ")
            self._console.err.flush()
            self._console.stdin.readline()
        self._shell.run_text(line)


class Traffic:
    """The processes that send and read."""

    def __init__(self, namesrv: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._children = {
                name: subprocess.Popen(
                    module_command("mqadmin.demo.traffic", namesrv, name, str(pause)),
                    stdin=subprocess.PIPE,
                    stderr=errors,
                    process_group=0,
                    env=module_environment(),
                )
                for name, pause in PAUSES_MS.items()
            }

    def kill(self, name: str) -> None:
        """End a process as a crash would."""
        self._children.pop(name).kill()

    def stop(self) -> None:
        """Let every process end in order.

        Raises:
            CommandError: one ended before, or in another way.
        """
        for child in self._children.values():
            child.communicate()
        codes = {name: child.returncode for name, child in self._children.items()}
        if any(codes.values()):
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise CommandError(f"exit codes {codes}: {' | '.join(lines[-3:])}")


@contextmanager
def traffic(namesrv: str, log: Path) -> Iterator[Traffic]:
    """Run the processes for a block."""
    running = Traffic(namesrv, log)
    try:
        yield running
    finally:
        running.stop()


def later(wait_s: float, do: Callable[[], None]) -> threading.Timer:
    """Call a function after a while, in a thread."""
    timer = threading.Timer(wait_s, do)
    timer.start()
    return timer


def run_tour(call: Call) -> None:
    """Run the tour.

    Raises:
        CommandError: servers or traffic did not start.
    """
    # Of its own, so that a shell in which the tour is taken stays where it was.
    workplace = Workplace()
    tour = Tour(call, workplace)
    with TemporaryDirectory(prefix="mqadmin-demo-") as directory:
        store, mended = Path(directory, "store"), Path(directory, "mended")
        with ExitStack() as stack:
            server = stack.enter_context(EmbeddedServer(store=str(store)))
            workplace.namesrv = server.addresses.namesrv
            stack.callback(workplace.link.close)
            tour.prepare(*SET_UP)
            members = stack.enter_context(traffic(workplace.namesrv, Path(directory, "log")))
            tour.prepare(*READY)
            for step in LIVE:
                if step.is_settled:
                    tour.settle()
                if step.is_death:
                    timer = later(DIES_AFTER_S, lambda: members.kill(DYING))
                    stack.callback(timer.join)
                tour.show(step)
        damage(store)
        workplace.store = str(store)
        for step in BROKEN:
            tour.show(step, path=str(mended))


def damage(store: Path) -> None:
    """Overwrite the body of one order in the commit log."""
    path = min((store / "commitlog").iterdir())
    with path.open("r+b") as file:
        body = body_of(DAMAGED)
        file.seek(file.read(BEGINNING_SIZE).index(body))
        file.write(bytes(len(body)))
