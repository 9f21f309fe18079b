"""docs/tour.md and its translation say what happens; `make tour` writes both."""

import pytest

from docs.tourpage import COMMAND, PAGE, SAME, TRANSLATION, transcript, with_blocks_of
from tests.golden import REPOSITORY

__all__ = ["SAME"]


def test_the_tour_is_what_happens_in_both_languages(env: dict[str, str]) -> None:
    made = transcript(env)

    translated = with_blocks_of(made, TRANSLATION.read_text())
    assert PAGE.read_text() == made, f"`{COMMAND}` writes {PAGE.name} anew, in both languages"
    assert TRANSLATION.read_text() == translated, f"`{COMMAND}` writes {TRANSLATION.name} anew"


def test_the_command_that_writes_the_tour_is_a_target_of_make() -> None:
    assert f"\n{COMMAND.removeprefix('make ')}:" in (REPOSITORY / "Makefile").read_text()


def test_a_translation_gets_the_blocks_of_its_page() -> None:
    page, translation = "one\n```\n> new\n```\n", "eins\n```sh\n> old\n```\nEnde\n"

    assert with_blocks_of(page, translation) == "eins\n```\n> new\n```\nEnde\n"
    with pytest.raises(ValueError, match="translate the new section"):
        with_blocks_of(page, "eins\n")
