"""Builds the kernels where Cython is installed and a C compiler works; else nothing.

Everything else about the project is in ``pyproject.toml``. The kernels are optional: the
modules beside them do the same in plain Python, slower (``storefmt.kernels``).
``make kernel`` builds them in place. ``MQ_PURE`` in the environment leaves them out, which makes
a wheel for any machine.
"""

import os
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup

PACKAGES = ("remoting", "storefmt", "server/mqserver")
PROCESSES = os.cpu_count() or 1
# What a debugger needs, which Python's own flags ask for, takes the compiler long to write.
FLAGS = [] if "CFLAGS" in os.environ else ["-g0"]


def kernels() -> list[Extension]:
    """Return what can be compiled here."""
    if os.environ.get("MQ_PURE") or find_spec("Cython") is None:
        return []
    from Cython.Build import cythonize

    sources = [
        Extension(module_name(path), [str(path)], extra_compile_args=FLAGS)
        for package in PACKAGES
        for path in sorted(Path(package).rglob("*.pyx"))
    ]
    found: list[Extension] = cythonize(sources, build_dir="build", nthreads=PROCESSES, quiet=True)
    for extension in found:
        # A compiler that is missing or fails must not keep the project from being installed.
        extension.optional = True
    return found


def module_name(path: Path) -> str:
    """Return the name by which the module of a kernel is imported."""
    return ".".join(path.with_suffix("").parts).removeprefix("server.")


# The processes that cythonize starts may import this file.
if __name__ == "__main__":
    setup(ext_modules=kernels(), options={"build_ext": {"parallel": PROCESSES}})
