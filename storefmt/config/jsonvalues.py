"""Reads typed values out of parsed fastjson, as leniently as Java does.

Rule: a missing key or a null gives Java's default, numbers and booleans may be text, and anything
else is a ``ConfigDamaged`` that names the value. ``unknown`` returns the items that a reader did
not use, and ``merged`` puts them back where Java's alphabetical writer has them, so that a file of
a later release loses nothing when it is written again.

Source: com.alibaba.fastjson util/TypeUtils (1.2.69), serializer order by field name.
"""

from collections.abc import Container, Mapping

from storefmt.config.fastjson import Json, Key
from storefmt.errors import ConfigDamaged

Object = Mapping[Key, Json]


def as_object(value: Json, what: str) -> Object:
    """Return ``value`` as an object, empty for null; ConfigDamaged for another kind."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigDamaged(f"{what} is {type(value).__name__}, expected a json object")
    return value


def table_of(fields: Object, name: str) -> list[tuple[Key, Json]]:
    """Return the items of the object ``name``, without those that are null."""
    # Java's maps do not accept null values.
    return [item for item in as_object(fields.get(name), name).items() if item[1] is not None]


def as_number(value: Json, what: str) -> int:
    """Return a number that may be text; ConfigDamaged for anything else."""
    # Java also reads numbers from text.
    if isinstance(value, int | float | str):
        try:
            return int(value)
        except (ValueError, OverflowError) as error:
            raise ConfigDamaged(f"{what} is {value!r:.40}, expected a number") from error
    raise ConfigDamaged(f"{what} is {value!r:.40}, expected a number")


def as_numbers(value: Json, what: str) -> dict[int, int]:
    """Return an object of numbers by integer keys, which may be text."""
    numbers = as_object(value, what)
    return {
        as_number(key if isinstance(key, int) else str(key), f"key of {what}"): as_number(
            item, what
        )
        for key, item in numbers.items()
        if item is not None
    }


def as_counts(value: Json, what: str) -> dict[Key, int]:
    """Return an object of numbers by keys of any kind."""
    return {
        key: as_number(item, what)
        for key, item in as_object(value, what).items()
        if item is not None
    }


def int_of(fields: Object, name: str, default: int) -> int:
    """Return the number ``name``, ``default`` when it is missing or null."""
    value = fields.get(name)
    return default if value is None else as_number(value, name)


def str_of(fields: Object, name: str, default: str) -> str:
    """Return the text ``name``, ``default`` when it is missing or null."""
    value = fields.get(name)
    return default if value is None else str(value)


def bool_of(fields: Object, name: str, default: bool) -> bool:
    """Return the boolean ``name``, which may be text or a number."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, str):
        return value.lower() in ("true", "1")
    if isinstance(value, int):
        return value != 0
    raise ConfigDamaged(f"{name} is {value!r:.40}, expected true or false")


def unknown_items(fields: Object, names: Container[object]) -> dict[Key, Json]:
    """Return the items of ``fields`` whose names are not in ``names``, without nulls."""
    return {
        name: value for name, value in fields.items() if name not in names and value is not None
    }


def merge_items(items: dict[Key, Json], extra: Object) -> dict[Key, Json]:
    """Return ``items`` and ``extra`` in the order in which Java writes names."""
    if not extra:
        return items
    return dict(sorted({**extra, **items}.items(), key=lambda item: str(item[0])))
