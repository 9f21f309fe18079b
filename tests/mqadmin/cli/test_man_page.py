"""Man pages: what they hold, and that man reads them."""

import shutil

import pytest

from mqadmin.cli import man_page
from mqadmin.cli.parse import everything
from mqadmin.errors import CODE_OF_EXIT
from tests.programs import ran


def test_every_command_has_a_page_with_its_usage_and_every_exit_code() -> None:
    made = man_page.pages()

    for one in everything():
        page = made[man_page.file_name(one)]
        assert f"mqadmin {one.name}".replace("-", "\\-") in page
        assert man_page.escape(one.summary) in page
        assert ".B 130" in page
    assert set(CODE_OF_EXIT) <= set(man_page.EXIT_MEANINGS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (".topic", "\\&.topic"),
        ("'quoted'", "\\&'quoted'"),
        ("a\\nb", "a\\enb"),
        ("--dry-run", "\\-\\-dry\\-run"),
    ],
)
def test_what_means_something_to_man_is_escaped(line: str, expected: str) -> None:
    assert man_page.escape(line) == expected


def test_groff_reads_the_pages_without_a_complaint() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed (Debian: apt-get install groff-base)")
    for page in man_page.pages().values():
        done = ran(groff, "-man", "-Tutf8", "-ww", "-z", input=page)
        assert done.stderr == ""
