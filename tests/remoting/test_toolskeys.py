"""The keys in conf/tools.yml."""

import pytest

from remoting.toolskeys import tools_keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("accessKey: one\nsecretKey: two\n", ("one", "two")),
        ("# keys\n  secretKey : 'two' # old\naccessKey: \"one\"\n", ("one", "two")),
        ("accessKey: one\n", ("one", None)),
        ("#accessKey: one\n", (None, None)),
        ("", (None, None)),
    ],
)
def test_two_lines_of_the_file_are_the_keys(text: str, keys: tuple[str | None, str | None]) -> None:
    assert tools_keys(text) == keys
