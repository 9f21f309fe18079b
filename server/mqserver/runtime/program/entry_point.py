"""The ``main`` of every server: read flags, files and variables, then run until a signal comes.

Rule: nothing starts before all settings were checked, so that a typing error never leaves a server
after that runs with half of its configuration.

Source: broker/BrokerStartup.java, namesrv/NamesrvStartup.java, controller/ControllerStartup.java.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Generic, TypeVar

from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.program.commandline import Printing, gather, read_flags
from mqserver.runtime.program.process import EXIT_OK, Server, print_settings, refuse_settings, serve
from mqserver.runtime.typed_config import SettingsError, Value, format_settings

Config = TypeVar("Config")


@dataclass(frozen=True, slots=True)
class EntryPoint(Generic[Config]):
    """How one kind of server is configured, made and announced."""

    program: str
    """Name at the beginning of error lines."""
    about: str
    """One sentence for the help."""
    _: KW_ONLY
    configure: Callable[[list[Value]], Config]
    """Makes the configuration from raw settings; raises SettingsError."""
    make: Callable[[Config, Callable[[], None]], Server]
    """Makes a server in its event loop. Its second argument stops that server and makes another."""
    bind: Callable[[Config], tuple[str, int]]
    """Returns host and port on which the server listens."""
    ready: Callable[[Config, int], str]
    """Returns what is printed once the port is open, without the address."""
    set_file: Callable[[Config, Path], None] | None = None
    """Gives the configuration the path of the -c file; None for servers that do not use it."""
    printed: Callable[..., Iterable[tuple[str, str]]] = format_settings
    """Returns key and text of the settings that -p and -m print."""
    expected: tuple[type[Exception], ...] = ()
    """Errors of a start that are printed in one line, without a traceback."""
    registers: bool = True
    """Whether the server registers with name servers (-n)."""
    build: Callable[[], str] | None = None
    """Returns what ``--version`` prints after the version; None for nothing."""

    def run(
        self, argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
    ) -> int:
        """Run the server until a signal arrives, and return the exit code of the process.

        Args:
            argv: the flags; None for those of the process.
            environment: the environment variables; None for those of the process.
        """
        flags = read_flags(
            sys.argv[1:] if argv is None else argv,
            program=self.program,
            about=self.about,
            registers=self.registers,
            build=self.build,
        )
        try:
            values = gather(flags, os.environ if environment is None else environment)
            config = self.configure(values)
        except SettingsError as error:
            return refuse_settings(self.program, error)
        if self.set_file is not None and flags.config_file is not None:
            self.set_file(config, flags.config_file)
        if flags.printing is not Printing.NOTHING:
            important_only = flags.printing is Printing.IMPORTANT
            print_settings(self.printed(config, important_only=important_only))
            return EXIT_OK
        host, listen_port = self.bind(config)
        again = asyncio.Event()
        return serve(
            lambda: self.make(config, again.set),
            program=self.program,
            log_format=flags.log_format,
            again=again,
            address=join_address(host, listen_port),
            ready=lambda port: (
                f"{self.ready(config, port)}, listening on {join_address(host, port)}"
            ),
            expected=self.expected,
        )
