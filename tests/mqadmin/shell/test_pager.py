"""A long result goes to the pager, a short one does not."""

import io
import sys
from pathlib import Path

import pytest

from mqadmin.shell.pager import PagedText, paged, pager_command
from tests.mqadmin.conftest import console_of


def text_of(tmp_path: Path, *, height: int) -> tuple[PagedText, io.StringIO]:
    """Return a text whose pager writes it into the file ``paged``, and what is printed instead."""
    source = f"import sys; open({str(tmp_path / 'paged')!r}, 'w').write(sys.stdin.read())"
    out = io.StringIO()
    return PagedText(out, [sys.executable, "-c", source], height=height), out


def test_what_fits_is_printed_as_it_is(tmp_path: Path) -> None:
    text, out = text_of(tmp_path, height=3)

    text.write("a\nb\nc\n")
    text.finish()

    assert out.getvalue() == "a\nb\nc\n"
    assert not (tmp_path / "paged").exists()


def test_what_is_longer_goes_to_the_pager_whole(tmp_path: Path) -> None:
    text, out = text_of(tmp_path, height=3)

    for number in range(100):
        text.write(f"{number}\n")
    text.finish()

    assert out.getvalue() == ""
    assert (tmp_path / "paged").read_text().splitlines() == [str(n) for n in range(100)]


def test_what_is_followed_is_never_paged(tmp_path: Path) -> None:
    text, out = text_of(tmp_path, height=1)

    text.write("first\n")
    text.flush()
    for _ in range(10):
        text.write("more\n")
    text.finish()

    assert out.getvalue().count("\n") == 11


def test_leaving_the_pager_early_ends_the_command_quietly(env: dict[str, str]) -> None:
    env["PAGER"] = "true"
    console = console_of(env)[0]._replace(out_is_tty=True)

    with paged(console) as shown:
        for number in range(200_000):
            shown.out.write(f"row {number}\n")
        raise AssertionError("the reader has gone, and nobody noticed")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PAGER": "cat -u"}, ["cat", "-u"]),
        ({"PAGER": ""}, None),
        ({"PAGER": "no-such-pager"}, None),
    ],
)
def test_the_pager_is_the_users(env: dict[str, str], expected: list[str] | None) -> None:
    assert pager_command(env) == expected
