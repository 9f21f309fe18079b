"""Packages whose names are loaded when they are first asked for.

    remoting.headers.SendMessage --__getattr__--> remoting.headers.message --> kept in the package

Rule: only what takes time to load, and is public below its package's name, is worth it.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; it raises AttributeError for other names.

    Args:
        package: its ``__name__``.
        places: module -> the names that it has, with spaces between them.
    """
    place_of = {name: place for place, names in places.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in place_of:
            raise AttributeError(f"module {package} has no {name}")
        found: object = getattr(import_module(place_of[name]), name)
        # The next one who asks does not come here again.
        setattr(sys.modules[package], name, found)
        return found

    return load
