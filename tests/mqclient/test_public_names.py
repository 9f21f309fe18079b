"""The package exports its public names, and imports only the modules that are used."""

import pytest

import mqclient
from tests.programs import python


def test_every_public_name_is_there() -> None:
    for name in mqclient.__all__:
        assert getattr(mqclient, name).__name__.split(".")[-1] == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no Consumer"):
        mqclient.Consumer  # noqa: B018


def test_importing_the_package_loads_nothing_of_it() -> None:
    probe = "import mqclient, sys; print(sorted(n for n in sys.modules if n.startswith('mqcl')))"

    shown = python("-c", probe)

    assert shown.stdout.strip() == "['mqclient']"
