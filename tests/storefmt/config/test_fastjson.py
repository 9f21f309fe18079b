"""fastjson's text: what the real fastjson wrote and read, and what nobody should send."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.config.fastjson import (
    DEPTH_MAX,
    ObjectKey,
    dialect_of,
    dumps,
    java_double,
    loads,
    object_key,
)
from storefmt.config.tables import MEANINGS
from storefmt.errors import ConfigDamaged
from tests.storefmt.corpus import STORES
from tests.storefmt.vectors import DATA

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=8),
)
KEYS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda key: key != "$ref"),
    st.integers(-(2**63), 2**63 - 1),
    st.builds(lambda number: ObjectKey((("brokerName", "b"), ("queueId", number))), st.integers()),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)
QUEUE = ObjectKey((("brokerName", "b"), ("queueId", 1), ("topic", "T")))


@pytest.fixture(scope="module")
def experiments(fact_tables) -> list[dict]:
    bodies = json.loads((fact_tables / "bodies.json").read_text())
    return bodies["_fastjson"]["experiments"]


def test_what_fastjson_wrote_is_written_again(experiments) -> None:
    # References, dropped nulls and one escaping mode are choices of the writing side.
    other = ("$ref", "escape non-ASCII", "double NaN", "double Infinity")
    written = [e for e in experiments if e["kind"] == "write"]
    assert len(written) > 15

    for experiment in written:
        if not any(word in experiment["what"] for word in other):
            text = experiment["out"]
            assert dumps(loads(text), pretty="pretty" in experiment["what"]) == text


def test_what_fastjson_read_is_read(experiments) -> None:
    read = [e["in"].partition("<-")[2].strip() for e in experiments if e["kind"] == "read"]
    assert len(read) > 25

    for text in read:
        if text == "xx":
            with pytest.raises(ConfigDamaged, match="line 1, column 1"):
                loads(text)
        else:
            loads(text)


@settings(derandomize=True, max_examples=300)
@given(VALUES)
def test_value_comes_back_from_both_layouts(value) -> None:
    assert loads(dumps(value)) == without_none(value)
    assert loads(dumps(value, pretty=True)) == without_none(value)


def without_none(value):
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


@settings(derandomize=True, max_examples=200)
@given(VALUES)
def test_strict_json_is_read_as_the_standard_library_reads_it(value) -> None:
    text = json.dumps(json.loads(json.dumps(standard(value))))

    assert loads(text) == json.loads(text)
    # The comment sends it the long way, which must give the same.
    assert loads("/**/" + text) == json.loads(text)


def standard(value):
    if isinstance(value, dict):
        return {str(key): standard(item) for key, item in value.items()}
    return [standard(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        (" \n", None),
        ("\ufeff{}", {}),
        (b'{"\xc3\xa9":1}', {"é": 1}),
        ("{0:5,-1:6}", {0: 5, -1: 6}),
        ("{'a':'b\\'c'}", {"a": "b'c"}),
        ("{a_$1:1,b-c.d:2}", {"a_$1": 1, "b-c.d": 2}),
        ("[1,2,,]", [1, 2]),
        ('{,"a":1,,}', {"a": 1}),
        ("{/* c */ a : // d\n 1}", {"a": 1}),
        ("[NaN,undefined,null,true,false]", [None, None, None, True, False]),
        ("[1.5,-2e3,+4,7.]", [1.5, -2000.0, 4, 7.0]),
        (r"'\x41\u00e9\0\v\F\/'", "Aé\0\v\f/"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83d"', "�"),
        ('"tab\tand\nline"', "tab\tand\nline"),
        ("{{'queueId':1,brokerName:'b','topic':\"T\"}:7}", {QUEUE: 7}),
        ("1" * 100, int("1" * 100)),
    ],
)
def test_what_fastjson_takes_is_taken(text: str | bytes, value) -> None:
    assert loads(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "{", "[", '{"a"', '{"a":', '{"a":1', "[1", "'a", '"a\\', "{a 1}", "{a:1 b:2}", "[1 2]",
        "}", "]", "1 2", "{}{}", "tru", "Infinity", "-Infinity", "1e999", "--1", "{:1}",
        r'"\q"', r'"\u12"', "/*", "{[1]:2}", "{{a:{}}:1}", "{{a:[]}:1}", "9" * 5000,
        b"\xff", b'"\xed\xa0\x80"',
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ConfigDamaged):
        loads(text)


def test_error_says_where() -> None:
    with pytest.raises(ConfigDamaged, match=r"line 2, column 7: expected , or \}, found '\"b\""):
        loads('{\n"a":1 "b":2}')


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}"), ("{a:", "}")])
def test_depth_is_limited_and_never_exhausts_the_stack(opened: str, closed: str) -> None:
    def nested(depth: int) -> str:
        return opened * depth + "1" + closed * depth

    assert loads(nested(DEPTH_MAX)) is not None
    for depth in (DEPTH_MAX + 1, 1000, 100_000):
        with pytest.raises(ConfigDamaged, match="deep"):
            loads(nested(depth))
        with pytest.raises(ConfigDamaged):
            loads(opened * depth)


def test_object_keys_nest_no_deeper_either() -> None:
    with pytest.raises(ConfigDamaged):
        loads("{" * 100_000)


@settings(derandomize=True, max_examples=300)
@given(st.one_of(st.text("{}[]:,'\"\\a0-1. $ref/*u", max_size=60), st.binary(max_size=40)))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        value = loads(text)
    except ConfigDamaged:
        return
    assert loads(dumps(value)) == without_none(value)


@pytest.mark.parametrize("text", ['{"offsetTable":{"T@G":{0:5,1:[6]}},a:\'x\'}'])
def test_cut_text_is_refused_at_every_character(text: str) -> None:
    loads(text)

    for size in range(1, len(text)):
        with pytest.raises(ConfigDamaged):
            loads(text[:size])


def test_references_are_followed() -> None:
    text = '{"a":[{"x":1},{"$ref":"$.a[0]"}],"b":{0:{"$ref":"$.a"}}}'

    assert loads(text) == {"a": [{"x": 1}] * 2, "b": {0: [{"x": 1}] * 2}}


def test_reference_to_a_reference_is_refused() -> None:
    # fastjson always writes the path of the first occurrence.
    with pytest.raises(ConfigDamaged, match="names nothing"):
        loads('{"a":[1],"b":{"$ref":"$.a"},"c":{"$ref":"$.b"}}')


@pytest.mark.parametrize(
    ("path", "value"),
    [("$.m[7]", "seven"), ("$.m.k\\\\_1", "text"), ("$.l[1]", 20), ("$['m']", None)],
)
def test_every_form_of_reference_is_followed(path: str, value) -> None:
    text = '{"m":{7:"seven","k_1":"text"},"l":[10,20],"r":{"$ref":"%s"}}'

    found = loads(text % path)

    assert found["r"] == (found["m"] if value is None else value)


@pytest.mark.parametrize(
    "text",
    [
        '{"$ref":"$"}',
        '{"a":{"$ref":"$"}}',
        '{"a":{"$ref":".."}}',
        '{"a":{"$ref":"@"}}',
        '{"a":{"$ref":"$.b"}}',
        '{"a":[{"$ref":"$.a[9]"}]}',
        '{"a":[{"$ref":"$.a"}]}',
        '{"a":{"x":{"$ref":"$.b"}},"b":{"y":{"$ref":"$.a"}}}',
        '{"a":{"$ref":"$.a[0"}}',
        '{"a":{"$ref":"nonsense"}}',
    ],
)
def test_reference_to_nothing_or_in_a_circle_is_refused(text: str) -> None:
    with pytest.raises(ConfigDamaged, match="reference"):
        loads(text)


def test_references_cannot_blow_a_text_up() -> None:
    rows = ['"a0":[1,1,1,1,1,1,1,1,1,1]']
    rows += [f'"a{n}":[' + ",".join([f'{{"$ref":"$.a{n - 1}"}}'] * 10) + "]" for n in range(1, 12)]

    with pytest.raises(ConfigDamaged, match="more than 1000000 values"):
        loads("{" + ",".join(rows) + "}")


def test_references_cannot_nest_without_limit() -> None:
    rows = ['"a0":[1]'] + [f'"a{n}":[{{"$ref":"$.a{n - 1}"}}]' for n in range(1, 3000)]

    for order in (rows, rows[::-1]):
        with pytest.raises(ConfigDamaged, match="deep"):
            loads("{" + ",".join(order) + "}")


def test_object_key_may_be_text_that_holds_the_object() -> None:
    text = '{"brokerName":"b","queueId":1,"topic":"T"}'

    assert object_key(text) == object_key(QUEUE) == QUEUE
    assert QUEUE.get("queueId") == 1
    assert QUEUE.get("nothing") is None
    for wrong in ("5", "no", 5):
        with pytest.raises(ConfigDamaged):
            object_key(wrong)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1e-3, "0.001"), (9.99e-4, "9.99E-4"), (1e7, "1.0E7"),
        (9999999.0, "9999999.0"), (1.5e10, "1.5E10"), (123456789.125, "1.23456789125E8"),
        (1e21, "1.0E21"), (-2.5e8, "-2.5E8"), (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, "null"), (math.inf, "null"), (-math.inf, "null"),
    ],
)  # fmt: skip
def test_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert java_double(value) == text


@settings(derandomize=True, max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_comes_back_from_its_text(value: float) -> None:
    assert float(java_double(value)) == value


def test_pretty_layout_is_that_of_the_config_files() -> None:
    value = {"offsetTable": {"T@G": {0: 5, 1: 6}}, "bits": [1, 2], "names": ["a"], "none": {}}

    assert dumps(value, pretty=True) == (
        '{\n\t"offsetTable":{\n\t\t"T@G":{0:5,1:6\n\t\t}\n\t},\n\t"bits":[1,2],'
        '\n\t"names":[\n\t\t"a"\n\t],\n\t"none":{}\n}'
    )


def test_null_is_left_out_of_objects_and_kept_in_lists() -> None:
    assert dumps({"a": None, "b": [None]}) == '{"b":[null]}'


@pytest.mark.parametrize("name", STORES)
def test_every_golden_file_comes_back_character_for_character(corpus, name: str) -> None:
    for file_name, text in corpus(name).expected["configText"].items():
        if not file_name.startswith("timercheck"):
            assert written_again(text) == text, file_name
        assert file_name.removesuffix(".bak") in MEANINGS


def test_every_text_of_the_real_managers_comes_back_character_for_character() -> None:
    paths = sorted((DATA / "config5").iterdir())
    assert len(paths) == 6

    for path in paths:
        assert written_again(path.read_text()) == path.read_text()


def written_again(text: str) -> str:
    """Return the text of the same value in the layout of the library that wrote ``text``."""
    return dumps(loads(text), pretty="\n" in text, dialect=dialect_of(text))
