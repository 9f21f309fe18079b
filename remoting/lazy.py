"""Packages whose names are loaded when they are first used.

    remoting.headers.SendMessage --__getattr__--> remoting.headers.message --> kept in the package

Rule: use this only for public names of a package that take time to load.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; it raises AttributeError for other names.

    Args:
        package: its ``__name__``.
        places: module -> the names that it defines, separated by spaces.
    """
    place_of = {name: place for place, names in places.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in place_of:
            raise AttributeError(f"module {package} has no {name}")
        value: object = getattr(import_module(place_of[name]), name)
        # The next access finds the name in the module and does not call this function.
        setattr(sys.modules[package], name, value)
        return value

    return load
