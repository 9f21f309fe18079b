"""The flags of ``mqnamesrv`` and ``mqbroker``, as RocketMQ's own scripts take them.

    -c FILE  -n HOST:PORT;…  -p print every setting  -m print the important ones  -h
    --version (our own)  --log text|json (our own)

Rule: the priority of settings is defined only here. From lowest to highest: NAMESRV_ADDR (a
default, as in Java), the file, ``ROCKETMQ_<key>`` variables, and flags.

Source: srvutil/ServerUtil.java, broker/BrokerStartup.java, namesrv/NamesrvStartup.java.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from mqserver.runtime.program.logs import LogFormat
from mqserver.runtime.typed_config import Value, read_environment, read_file

DISTRIBUTION: Final = "mqclient"


class Printing(Enum):
    """What the flags ask to print instead of starting the server."""

    NOTHING = "start the server"
    ALL = "every setting"
    IMPORTANT = "the settings that matter most"


class Flags(NamedTuple):
    """The flags of one command line."""

    config_file: Path | None
    namesrv_addr: str | None
    printing: Printing
    registers: bool = True
    log_format: LogFormat = LogFormat.TEXT


def read_flags(
    argv: Sequence[str],
    *,
    program: str,
    about: str,
    registers: bool = True,
    build: Callable[[], str] | None = None,
) -> Flags:
    """Return the flags in ``argv`` (without the program name).

    Args:
        argv: the command line.
        program: the program's name in help and errors.
        about: one sentence for the help.
        registers: whether the program registers with name servers (``-n``).
        build: returns what ``--version`` prints after the version; None for nothing.

    Raises:
        SystemExit: help or the version was printed (0), or a flag is wrong (2).
    """
    parser = _parser(program, about, registers=registers)
    options = parser.parse_args(argv)
    if options.version:
        # argparse's own action would break the line at the width of the terminal.
        print(version_line(program) + (f", {build()}" if build is not None else ""))
        sys.exit(0)
    printing = Printing.NOTHING
    if options.printConfigItem:
        printing = Printing.ALL
    elif options.printImportantConfig:
        printing = Printing.IMPORTANT
    namesrv_addr = getattr(options, "namesrvAddr", None)
    return Flags(options.configFile, namesrv_addr, printing, registers, options.log)


def _parser(program: str, about: str, *, registers: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description=about,
        epilog="Each key may also be set by an environment variable ROCKETMQ_<key>, "
        "as ROCKETMQ_listenPort=10921, which wins over the file."
        + (" NAMESRV_ADDR gives the default of namesrvAddr." if registers else ""),
    )
    parser.add_argument(
        "-c", "--configFile", type=Path, metavar="FILE", help="properties file (or .yml, .yaml)"
    )
    if registers:
        parser.add_argument(
            "-n", "--namesrvAddr", metavar="ADDR", help="name servers, as a:9876,b:9876"
        )
    parser.add_argument(
        "--log",
        type=LogFormat,
        choices=list(LogFormat),
        default=LogFormat.TEXT,
        help="how the log on stderr is written: text, or a JSON object for each event",
    )
    printing = parser.add_mutually_exclusive_group()
    printing.add_argument(
        "-p", "--printConfigItem", action="store_true", help="print all settings and exit"
    )
    printing.add_argument(
        "-m", "--printImportantConfig", action="store_true", help="print important settings, exit"
    )
    printing.add_argument(
        "--version", action="store_true", help="print the version and what is in use, and exit"
    )
    return parser


def version_line(program: str) -> str:
    """Return the version of a program of this distribution, and the RocketMQ that it follows."""
    try:
        version = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        version = "from a checkout that is not installed"
    return f"{program} {version} (RocketMQ 4.9.7)"


def gather(flags: Flags, environment: Mapping[str, str]) -> list[Value]:
    """Return the settings of all sources in order of rising priority.

    Raises:
        SettingsError: the configuration file cannot be read.
    """
    values = []
    if flags.registers and environment.get("NAMESRV_ADDR"):
        source = "environment variable NAMESRV_ADDR"
        values.append(Value("namesrvAddr", environment["NAMESRV_ADDR"], source))
    if flags.config_file is not None:
        values += read_file(flags.config_file)
    values += read_environment(environment)
    if flags.namesrv_addr is not None:
        values.append(Value("namesrvAddr", flags.namesrv_addr, "flag -n"))
    return values
