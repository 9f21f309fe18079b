"""Builds the kernels where Cython is installed and a C compiler works; else nothing.

Everything else about the project is in ``pyproject.toml``. The kernels are optional:
``storefmt.formats.scan`` and ``storefmt.arrow.columns`` do the same without them, slower.
``make kernel`` builds them in place.
"""

from importlib.util import find_spec

from setuptools import Extension, setup

KERNELS = (
    "formats/scan_kernel",
    "arrow/columns_buffers",
    "arrow/columns_properties",
    "arrow/columns_kernel",
)


def kernels() -> list[Extension]:
    """Return what can be compiled here."""
    if find_spec("Cython") is None:
        return []
    from Cython.Build import cythonize

    sources = [
        Extension(f"storefmt.{name.replace('/', '.')}", [f"storefmt/{name}.pyx"])
        for name in KERNELS
    ]
    found: list[Extension] = cythonize(sources, build_dir="build", quiet=True)
    for extension in found:
        # A compiler that is missing or fails must not keep the project from being installed.
        extension.optional = True
    return found


setup(ext_modules=kernels())
