"""Long names in the middle, never two alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqadmin.output.shorten import cell_width, cut, narrowest_width, shorten_all


def test_ids_that_differ_at_their_end_keep_their_end() -> None:
    names = [f"AC1100020B6B18B4AAC2064ED6A3{number:04X}" for number in range(300)]

    made = shorten_all(names, 12)

    assert made[0] == "AC1100…A0000".replace("A0000", made[0][-5:])
    assert len(set(made)) == 300


def test_names_that_differ_in_the_middle_move_the_cut_or_stay_wide() -> None:
    names = ["orders-eu-invoices", "orders-us-invoices"]

    assert shorten_all(names, 8) is None
    width = narrowest_width(names, low=6, high=18)
    assert len(set(shorten_all(names, width) or ())) == 2
    assert width < 18


@pytest.mark.parametrize(("text", "width"), [("日志日志日志日志", 7), ("abcdefgh", 7)])
def test_wide_characters_count_as_two_cells(text: str, width: int) -> None:
    made = shorten_all([text], width)

    assert cell_width(made[0]) <= width
    assert cell_width(cut(text, width)) <= width


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=0x3FF), max_size=40)))
def test_no_two_different_names_look_alike(names: list[str]) -> None:
    width = narrowest_width(
        names, low=6, high=max((cell_width(name) for name in names), default=6) + 1
    )
    made = shorten_all(names, width)

    assert len(set(made)) == len(set(names))
    assert all(cell_width(text) <= max(width, 6) for text in made)
