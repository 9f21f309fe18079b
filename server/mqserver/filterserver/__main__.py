"""The command line of a filter server: ``python -m mqserver.filterserver``.

Rule: as with the other servers, flags, file and environment go in, and one ready line comes out.

Source: filtersrv/FiltersrvStartup.java (4.2).
"""

import sys
from typing import Final

from mqserver.filterserver.app import FilterServerApp
from mqserver.filterserver.filterserver_config import filter_server_config, printed
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.program.entry_point import EntryPoint
from storefmt.errors import BadCall

MAIN: Final = EntryPoint(
    "mqfiltersrv",
    "Runs a server that filters messages for consumers by modules of their own.",
    configure=filter_server_config,
    printed=printed,
    make=lambda config, restart: FilterServerApp(config, SystemClock()),
    bind=lambda config: (config.bind_address, config.listen_port),
    ready=lambda config, port: f"The Filter Server boot success, {config.connect_which_broker}",
    expected=(BadCall,),
    registers=False,
)
main = MAIN.run


if __name__ == "__main__":
    sys.exit(main())
