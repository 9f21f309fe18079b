"""The short way to tag and keys gives what the whole parser gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.dispatch.record_entries import _READER, texts_of
from storefmt.formats.properties import parse_properties

NAMES = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "XTAGS", "MYKEYS", "K", "", "CLUSTER"])
VALUES = st.sampled_from(["", "a", "a b", "  k1  k2 ", "x\x01y", "TAGS\x01z", "schlüssel", "KEYS"])
ENDS = st.sampled_from(["\x02", "", "\x02\x02"])


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(st.tuples(NAMES, VALUES, ENDS), max_size=6))
def test_tag_and_keys_are_those_of_the_parser(parts: list[tuple[str, str, str]]) -> None:
    raw = "".join(f"{name}\x01{value}{end}" for name, value, end in parts).encode()
    parsed = parse_properties(raw)
    unique = parsed.get("UNIQ_KEY")
    users = [key for key in parsed.get("KEYS", "").split(" ") if key]

    keys = ([] if unique is None else [unique]) + users
    assert texts_of(raw) == (parsed.get("TAGS"), tuple(keys))


def test_names_that_are_made_up_fill_no_memory() -> None:
    for number in range(200):
        raw = f"N{number}\x01v\x02TAGS\x01t{number}\x02KEYS\x01a b".encode()
        for properties in (raw, raw + b"\x02"):
            assert texts_of(properties) == (f"t{number}", ("a", "b"))

    assert len(_READER._layouts) <= 64
