"""What a wish makes of the entry of an ordered topic."""

import pytest

from mqadmin.changes.topic_order import OrderWish


@pytest.mark.parametrize(
    ("old", "wish", "new"),
    [
        (None, OrderWish("T", add={"a": 4}), "a:4"),
        (None, OrderWish("T", join={"a": 4}), "a:4"),
        (None, OrderWish("T", remove={"a"}), None),
        ("b:2", OrderWish("T", add={"a": 4}), "b:2;a:4"),
        ("a:2;b:2", OrderWish("T", add={"a": 4}), "a:4;b:2"),
        ("a:2;b:2", OrderWish("T", join={"a": 4, "c": 1}), "a:2;b:2;c:1"),
        ("a:2;b:2", OrderWish("T", remove={"a"}), "b:2"),
        ("a:2", OrderWish("T", remove={"a"}), None),
        ("a:2;", OrderWish("T", join={"a": 4}), "a:2;"),
        ("a:2;", OrderWish("T", remove={"b"}), "a:2;"),
    ],
)
def test_a_wish_leaves_what_it_does_not_name(old: str | None, wish: OrderWish, new: str) -> None:
    assert wish.over(old) == new
