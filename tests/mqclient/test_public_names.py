"""The package exports its public names, and imports only the modules that are used."""

import pytest

import mqclient
from docs.apipage import INTERNAL, OPTIONAL, api
from tests.programs import python


def test_every_public_name_is_there() -> None:
    for name in mqclient.__all__:
        assert getattr(mqclient, name).__name__.split(".")[-1] == name


def test_names_that_need_an_extra_are_public_and_not_imported_by_a_star() -> None:
    for name in OPTIONAL:
        assert getattr(mqclient, name).__name__ == name
        assert name not in mqclient.__all__
    shown = python(
        "-c", "import sys; from mqclient import *; print('opentelemetry' in sys.modules)"
    )
    assert shown.stdout.strip() == "False"


def test_the_page_of_the_api_says_how_each_method_is_called() -> None:
    page = api("")

    for line in (
        "**`async def send(message, *,",
        "**`def send_async(message, *,",
        "**`async for … in messages(*,",
        "**`async with consuming(message, *,",
        "**`for … in messages(*,",
        "**`with consuming(message, *,",
        "**`with push_consumer(group, listener, topics, *,",
        "**`def from_json(body, kind)`**",
    ):
        assert line in page
    assert "\n- topics: the expression to subscribe with, by topic.\n" in page
    assert "PosixPath" not in page
    for name in ("deliver", "request_handlers", "consumer_data", "invoke", "wire_properties"):
        assert f" {name}(" not in page


def test_every_internal_name_is_one_of_a_public_class() -> None:
    names = {name for each in mqclient.__all__ for name in dir(getattr(mqclient, each))}

    assert names >= INTERNAL


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no Consumer"):
        mqclient.Consumer  # noqa: B018


def test_importing_the_package_loads_nothing_of_it() -> None:
    probe = "import mqclient, sys; print(sorted(n for n in sys.modules if n.startswith('mqcl')))"

    shown = python("-c", probe)

    assert shown.stdout.strip() == "['mqclient']"
