"""The code of the data sources as a zip file, for clusters that do not have it installed.

    python -m pipeline.shipping code.zip
    spark-submit --py-files code.zip …            or  spark.sparkContext.addPyFile("code.zip")

Rule: planner and executors import the sources from the zip file, so it has every package below
them and nothing else; numpy and pyarrow must be installed there. Compiled kernels cannot be
loaded from it: the plain ones give the same rows.
"""

import argparse
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PACKAGES: Final = ("storefmt", "remoting", "mqclient", "pipeline")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def write_code(path: Path) -> Path:
    """Write the zip file and return its path; the same code gives the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    root = Path(__file__).resolve().parent.parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for file in sorted((root / package).rglob("*.py")):
                item = zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH)
                item.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(item, file.read_bytes())
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file that is named and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.shipping", description=__doc__)
    parser.add_argument("path", type=Path)
    print(write_code(parser.parse_args(argv).path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
