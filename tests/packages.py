"""The packages of this project, and the folder of each in the checkout."""

from pathlib import Path
from typing import Final

from tests.golden import REPOSITORY

PACKAGES: Final = {
    name: REPOSITORY / folder
    for name, folder in {
        "storefmt": "storefmt",
        "remoting": "remoting",
        "mqclient": "mqclient",
        "mqserver": "server/mqserver",
        "mqspark": "mqspark",
        "mqadmin": "mqadmin",
    }.items()
}


def module_parts(path: Path) -> tuple[str, ...]:
    """Return the parts of a file's name from its package on; () for a file of no package."""
    for folder in PACKAGES.values():
        if path.is_relative_to(folder):
            return path.relative_to(folder.parent).with_suffix("").parts
    return ()
