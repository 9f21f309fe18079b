"""The command line of a filter server: ``python -m mqserver.filterserver``.

Rule: as with the other servers, flags, file and environment go in, and one ready line comes out.

Source: filtersrv/FiltersrvStartup.java (4.2).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from mqserver.filterserver.app import FilterServerApp
from mqserver.filterserver.config import filter_server_config, printed
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.program.commandline import Printing, gather, read_flags
from mqserver.runtime.program.process import EXIT_OK, print_settings, refuse_settings, serve
from mqserver.runtime.settings import SettingsError
from storefmt.errors import BadCall

PROGRAM: Final = "mqfiltersrv"


def main(argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run a filter server until a signal arrives, and return its exit code."""
    flags = read_flags(
        sys.argv[1:] if argv is None else argv,
        program=PROGRAM,
        about="Runs a server that filters messages for consumers by modules of their own.",
        registers=False,
    )
    try:
        values = gather(flags, os.environ if environment is None else environment)
        config = filter_server_config(values)
    except SettingsError as error:
        return refuse_settings(PROGRAM, error)
    if flags.printing is not Printing.NOTHING:
        print_settings(printed(config, important_only=flags.printing is Printing.IMPORTANT))
        return EXIT_OK
    return serve(
        lambda: FilterServerApp(config, SystemClock()),
        program=PROGRAM,
        log_format=flags.log_format,
        address=join_address(config.bind_address, config.listen_port),
        ready=lambda port: (
            f"The Filter Server boot success, {config.connect_which_broker}, listening on "
            + join_address(config.bind_address, port)
        ),
        expected=(BadCall,),
    )


if __name__ == "__main__":
    sys.exit(main())
