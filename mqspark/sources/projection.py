"""The columns that a user's schema asks of a source, by name and in this order.

Rule: Spark does not prune the columns of a Python source, so ``.schema("topic string, …")`` chooses
them. A type that differs from ours is refused here, because Spark would fail on it much later.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import StructType

from mqspark.errors import BadOption
from mqspark.schemas import struct_of


def projected_columns(
    asked: StructType, schema_of: Callable[[Sequence[str]], Any]
) -> tuple[str, ...]:
    """Return the names of the columns that are asked for.

    Args:
        asked: the schema of the user.
        schema_of: returns the Arrow schema of columns; raises BadOption for an unknown one.

    Raises:
        BadOption: a column does not exist, or has another type.
    """
    columns = tuple(asked.names)
    ours = struct_of(schema_of(columns))
    for given, own in zip(asked.fields, ours.fields, strict=True):
        if given.dataType != own.dataType:
            raise BadOption(
                f"column {own.name} is {own.dataType.simpleString()}, "
                f"not {given.dataType.simpleString()}"
            )
    return columns
