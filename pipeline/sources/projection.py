"""What a user's schema asks of a source: its columns, by name, in this order.

Rule: Spark prunes no columns of a Python source, so ``.schema("topic string, …")`` is the
projection; a type that is not ours is refused here, because Spark would fail on it much later.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pipeline.errors import BadOption


def projected(asked: StructType, schema_of: Callable[[Sequence[str]], Any]) -> tuple[str, ...]:
    """Return the names of the columns that are asked for.

    Args:
        schema_of: gives the Arrow schema of columns; raises BadOption for one that is not there.

    Raises:
        BadOption: a column is not there, or has another type.
    """
    columns = tuple(asked.names)
    ours = from_arrow_schema(schema_of(columns))
    for given, own in zip(asked.fields, ours.fields, strict=True):
        if given.dataType != own.dataType:
            raise BadOption(
                f"column {own.name} is {own.dataType.simpleString()}, "
                f"not {given.dataType.simpleString()}"
            )
    return columns
