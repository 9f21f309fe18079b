"""What a wish makes of the entry of an ordered topic."""

import pytest

from mqadmin.changes.topic_order import OrderUpdate


@pytest.mark.parametrize(
    ("old", "wish", "new"),
    [
        (None, OrderUpdate("T", add={"a": 4}), "a:4"),
        (None, OrderUpdate("T", join={"a": 4}), "a:4"),
        (None, OrderUpdate("T", remove={"a"}), None),
        ("b:2", OrderUpdate("T", add={"a": 4}), "b:2;a:4"),
        ("a:2;b:2", OrderUpdate("T", add={"a": 4}), "a:4;b:2"),
        ("a:2;b:2", OrderUpdate("T", join={"a": 4, "c": 1}), "a:2;b:2;c:1"),
        ("a:2;b:2", OrderUpdate("T", remove={"a"}), "b:2"),
        ("a:2", OrderUpdate("T", remove={"a"}), None),
        ("a:2;", OrderUpdate("T", join={"a": 4}), "a:2;"),
        ("a:2;", OrderUpdate("T", remove={"b"}), "a:2;"),
    ],
)
def test_a_wish_leaves_what_it_does_not_name(old: str | None, wish: OrderUpdate, new: str) -> None:
    assert wish.apply_to(old) == new
