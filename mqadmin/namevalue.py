"""``NAME=VALUE`` as it is typed for a property."""


def parse_name_value(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``.

    Raises:
        ValueError: there is no name, or no equals sign.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError(f"{text!r} is no NAME=VALUE")
    return name, value
