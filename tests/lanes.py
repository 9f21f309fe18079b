"""Which tests stay together when the suite runs in several processes at once, as `make test` does.

    tests/mqspark     one lane: its Spark starts once
    SHORT_JAVA        one lane: in the short tier the real servers and their clients start once
    any other file    a lane of its own: the process that is free takes the next one

Rule: tests of a lane run in one process and in the order of a run without lanes. What other files
share (the real servers and the JVM of clients of tests/interop) is started once in each process.
Lanes begin in the order of their names, not of how many tests they have: one test may take
longer than a thousand.
"""

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

SPARK: Final = "tests/mqspark/"
SHORT_JAVA: Final = (
    "tests/interop/test_java_clients.py",
    "tests/interop/test_our_client.py",
    "tests/interop/test_toolbox.py",
)


def lane_of(node_id: str) -> str:
    """Return the name of the lane of a test."""
    if node_id.startswith(SPARK):
        return SPARK
    file = node_id.partition("::")[0]
    return SHORT_JAVA[0] if file in SHORT_JAVA else file


def scheduler(config: pytest.Config, log: object) -> "LoadScopeScheduling":
    """Return what gives lanes to processes."""
    # Only a run in several processes needs the plugin.
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return lane_of(nodeid)

    config.option.loadscopereorder = False
    return Lanes(config, log)
