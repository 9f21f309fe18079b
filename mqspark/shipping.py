"""The code of the data sources as a zip file, for clusters that do not have it installed.

    python -m mqspark.shipping code.zip
    spark-submit --py-files code.zip …            or  spark.sparkContext.addPyFile("code.zip")

Rule: planner and executors import the sources from the zip file, so it has every package below
them and nothing else; numpy and pyarrow must be installed there. Python loads no compiled module
from a zip file, so the packages with kernels unpack those beside it, once on each machine. They
are those of this machine: for workers of another system or another Python, make the file there.
"""

import argparse
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = ("storefmt", "remoting", "mqclient", "mqspark")
EXT_SUFFIX: Final = EXTENSION_SUFFIXES[0]
"""How the names of compiled modules end that this Python can load."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNPACKING: Final = b"""
from mqspark.shipping import unpack_kernels

unpack_kernels(__loader__, __path__)
"""


def write_code(path: Path) -> Path:
    """Write the zip file and return its path; the same code gives the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    root = Path(__file__).resolve().parent.parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            files = [*(root / package).rglob("*.py"), *(root / package).rglob(f"*{EXT_SUFFIX}")]
            with_kernels = {file.parent for file in files if file.suffix != ".py"}
            for file in sorted(files):
                item = zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH)
                item.compress_type = zipfile.ZIP_DEFLATED
                data = file.read_bytes()
                if file.name == "__init__.py" and file.parent in with_kernels:
                    data += _UNPACKING
                archive.writestr(item, data)
    return path


def unpack_kernels(loader: object, path: list[str]) -> None:
    """Add to the path of a package a directory with the kernels of the zip file that it is in.

    Args:
        loader: what loaded the package; nothing is done for one that is in no zip file.
        path: the path of the package.
    """
    archive = getattr(loader, "archive", None)
    if archive is None:
        return
    unpacked = Path(f"{archive}.kernels")
    if not unpacked.is_dir():
        try:
            draft = Path(tempfile.mkdtemp(prefix="kernels-", dir=unpacked.parent))
        except OSError:
            # Nobody may write beside the file: the plain ways work, and the job says so.
            return
        with zipfile.ZipFile(archive) as code:
            code.extractall(draft, [name for name in code.namelist() if not name.endswith(".py")])
        try:
            draft.rename(unpacked)
        except OSError:
            # Another worker of this machine was first.
            shutil.rmtree(draft)
    path += [str(unpacked / Path(each).relative_to(archive)) for each in path]


def with_code(kind: type, state: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what ``__reduce__`` of a source, its readers and writers returns: where its code is.

    Spark plans a stream in a process of its own beside the driver. It passes the names of shipped
    files to that process, but with a directory in which they are not (4.1 to 4.3). The planner
    that made the data source ran on the same machine and had the code, so the pickle has the path
    from which that was imported. Under Spark Connect the tasks of a stream lack shipped files as
    well, wherever they run, so the pickle also has the zip file itself, if that was shipped.

    Args:
        kind: the class of the data source.
        state: its attributes.
    """
    # Not above: whoever only writes the zip file needs no Spark.
    from pyspark import cloudpickle

    root = Path(__file__).parent.parent
    archive = root.read_bytes() if root.is_file() else b""
    # A subclass made in a function, a notebook or a test has no name to import it by, so Spark's
    # pickle takes such a class by value.
    pickled = cloudpickle.dumps((kind, dict(state)))  # type: ignore[no-untyped-call]
    return _restoring(), (str(root), archive, pickled)


def _restoring() -> Callable[[str, bytes, bytes], Any]:
    """Return the function that unpickles a source.

    Spark pickles a function inside another one by value, so it runs where our code is missing.
    """

    def restore(root: str, archive: bytes, pickled: bytes) -> Any:
        import hashlib
        import os
        import pickle
        import platform
        import sys

        def code() -> str:
            if os.path.exists(root):
                return root
            if not archive:
                raise ModuleNotFoundError(
                    f"{platform.node()} does not have the package mqspark, which the driver has "
                    f"in {root}: install mqadmin on the executors"
                )
            # Where Spark itself puts shipped files: the directory of this application.
            path = os.path.abspath(f"mqspark-{hashlib.sha256(archive).hexdigest()[:16]}.zip")
            if not os.path.exists(path):
                draft = f"{path}.{os.getpid()}"
                with open(draft, "wb") as file:
                    file.write(archive)
                os.replace(draft, path)
            return path

        # As everything that Spark sends between its processes.
        try:
            kind, state = pickle.loads(pickled)  # noqa: S301
        except ModuleNotFoundError as error:
            # A package that a user's own class needs is not ours to bring.
            if (error.name or "").partition(".")[0] not in ("mqspark", "storefmt"):
                raise
            sys.path.insert(1, code())
            kind, state = pickle.loads(pickled)  # noqa: S301
        restored = kind.__new__(kind)
        restored.__dict__.update(state)
        return restored

    return restore


def without_kernels(hosts: Sequence[str]) -> str:
    """Return the sentence for machines that decode without the compiled kernels."""
    return (
        f"{', '.join(hosts)} decodes without the compiled kernels, about four times slower: "
        "install mqadmin there from a wheel for its system and Python, or ship a file that was "
        "made on such a machine (python -m mqspark.shipping)"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file that is named and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mqspark.shipping", description=__doc__)
    parser.add_argument("path", type=Path)
    print(write_code(parser.parse_args(argv).path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
