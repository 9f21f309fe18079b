"""The package works with the standard library alone; only the columns need more."""

from pathlib import Path

import storefmt
from tests.golden import REPOSITORY
from tests.programs import python

PROGRAM = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
from storefmt.formats.message import body_crc, crc32
print(crc32.__self__.__name__, body_crc(b"123456789"))
"""


def test_everything_but_the_columns_imports_without_third_parties() -> None:
    folder = Path(storefmt.__file__).parent
    names = [
        f"storefmt.{room}{path.stem}"
        for room in ("", "formats.", "config.")
        for path in (folder / room.rstrip(".")).glob("*.py")
        if path.stem != "__init__"
    ]
    # -S: without site-packages nothing but the standard library can be found.
    done = python("-S", "-c", PROGRAM, str(REPOSITORY), *sorted(names), code=None)

    assert done.stderr == ""
    assert done.stdout == f"zlib {0xCBF43926 & 0x7FFFFFFF}\n"
    assert len(names) > 15
