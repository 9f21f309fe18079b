"""``--jobs``: how many processes share the files of a large store.

Rule: the rows are the same for every number; small stores never start another process.
"""

from typing import Final

from mqadmin.errors import Usage
from mqadmin.parameters import option

JOBS: Final = option(
    "processes for a large log; if left out, 1 below 4 cores, else the cores, up to 8"
)


def jobs_of(number: int | None) -> int | None:
    """Return the value of the option.

    Raises:
        Usage: it is below 1.
    """
    if number is not None and number < 1:
        raise Usage(f"{number} jobs; at least 1 does the work")
    return number
