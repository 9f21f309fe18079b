"""Builds the scan kernel where Cython is installed and a C compiler works; else nothing.

Everything else about the project is in ``pyproject.toml``. The kernel is optional:
``storefmt.scan`` does the same without it, slower. ``make kernel`` builds it in place.
"""

from importlib.util import find_spec

from setuptools import Extension, setup


def kernels() -> list[Extension]:
    """Return what can be compiled here."""
    if find_spec("Cython") is None:
        return []
    from Cython.Build import cythonize

    source = Extension("storefmt.scan_kernel", ["storefmt/scan_kernel.pyx"])
    found: list[Extension] = cythonize([source], build_dir="build", quiet=True)
    for extension in found:
        # A compiler that is missing or fails must not keep the project from being installed.
        extension.optional = True
    return found


setup(ext_modules=kernels())
