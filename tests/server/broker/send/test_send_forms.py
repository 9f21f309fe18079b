"""Sends of a known form say what the general way says."""

import json
import random
from collections.abc import Callable

import pytest

from remoting.fast_path import SendV2, parse_send_v2
from server.broker.send.send_forms import FORMS_MAX, LEARN_AFTER, SendForms, stored
from server.broker.stored_properties import Recoder

SEED = 11
FIXED = {
    "a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000",
    "h": "7", "i": "", "j": "0", "k": "false", "m": "false", "n": "broker-a",
}  # fmt: skip


def header(properties: str, *, opaque: int = 1, flag: int = 0, **changes: str) -> bytes:
    """Return a send header as a Java client writes it."""
    ext = FIXED | {"i": properties} | changes
    command = {
        "code": 310, "extFields": ext, "flag": flag, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": 407,
    }  # fmt: skip
    return json.dumps(command, separators=(",", ":"), ensure_ascii=False).encode()


def parsed(data: bytes) -> SendV2:
    send = parse_send_v2(data)
    assert send is not None
    return send


def teach(forms: SendForms, make: Callable[[int], bytes], *, count: int = LEARN_AFTER) -> None:
    for number in range(count):
        data = make(number)
        forms.learn(data, parsed(data))


def test_a_form_is_learnt_after_some_sends_and_finds_what_changes() -> None:
    forms = SendForms(Recoder("C"))
    first = header("UNIQ_KEY\1A\2WAIT\1true\2TAGS\1a")
    teach(forms, lambda number: first, count=LEARN_AFTER - 1)
    assert forms.find(first) is None

    teach(forms, lambda number: first, count=1)
    found = forms.find(
        header("UNIQ_KEY\1B%s\2WAIT\1False\2TAGS\1b", opaque=99, e="3", g="1700000000001")
    )

    assert found is not None
    form, values = found
    assert (form.topic, form.flag, form.sys_flag) == ("T", 7, 0)
    assert (values[0], values[1], values[-1]) == (b"3", b"1700000000001", b"99")
    general = Recoder("C").recode("UNIQ_KEY\1B%s\2WAIT\1False\2TAGS\1b")
    assert stored(form, values) == general[:4]
    assert not general.waits


def test_any_names_and_values_give_what_the_general_way_gives() -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    letters = "abcXYZ 09-_.%/:@~!#[]{}()"
    for _ in range(40):
        names = [*rng.sample(["UNIQ_KEY", "KEYS", "TAGS", "WAIT"], rng.randrange(5))]
        names += {"".join(rng.choices("nm%.é", k=rng.randrange(1, 5))) for _ in range(3)}
        end = rng.choice(["", "\2"])

        def make(number: int, names: list[str] = names, end: str = end) -> bytes:
            texts = ("".join(rng.choices(letters, k=rng.randrange(1, 20))) for _ in names)
            pairs = zip(names, texts, strict=True)
            return header("\2".join(f"{name}\1{text}" for name, text in pairs) + end)

        recoder = Recoder("cluster%s")
        forms = SendForms(recoder)
        teach(forms, make)
        for number in range(20):
            data = make(number)
            found = forms.find(data)
            assert found is not None, data
            send = parsed(data)
            assert stored(*found) == recoder.recode(send.properties)[:4]
            assert (int(found[1][0]), int(found[1][1])) == (send.queue_id, send.born_timestamp)


KNOWN = "UNIQ_KEY\1A\2WAIT\1true"


@pytest.mark.parametrize(
    "other",
    [
        header('UNIQ_KEY\1a"b\2WAIT\1true'),
        header("UNIQ_KEY\1a\\b\2WAIT\1true"),
        header("UNIQ_KEY\1\xe4\2WAIT\1true"),
        header("UNIQ_KEY\1a\1b\2WAIT\1true"),
        header("UNIQ_KEY\1\2WAIT\1true"),
        header("UNIQ_KEY\1A\2WAIT\1true\2DELAY\0013"),
        header("WAIT\1true\2UNIQ_KEY\1A"),
        header(KNOWN, flag=2),
        header(KNOWN, f="4"),
        header(KNOWN, h="8"),
        header(KNOWN, j="1"),
        header(KNOWN, m="true"),
        header(KNOWN, b="other"),
        header(KNOWN, e="-1"),
        header(KNOWN, e="01"),
        header(KNOWN, e="1234567890"),
        header(KNOWN, g="1" * 19),
        header(KNOWN, opaque=-1),
        header(KNOWN, opaque=12345678901),
        header(KNOWN)[:-1],
        header(KNOWN) + b" ",
        b"{}",
        b"",
    ],
)
def test_what_is_not_the_same_goes_the_general_way(other: bytes) -> None:
    forms = SendForms(Recoder("C"))
    teach(forms, lambda number: header(KNOWN))

    assert forms.find(header(KNOWN)) is not None
    assert forms.find(other) is None


@pytest.mark.parametrize(
    "special",
    [
        header(KNOWN, m="true"),
        header(KNOWN, flag=2),
        header(KNOWN, f="4"),
        header(KNOWN, f="8"),
        header(KNOWN, j="1"),
        header("UNIQ_KEY\1A\2DELAY\0013"),
        header("UNIQ_KEY\1A\2TRAN_MSG\1true"),
        header("UNIQ_KEY\1A\2INNER_MULTI_DISPATCH\1x"),
        header("UNIQ_KEY\1A\2UNIQ_KEY\1B"),
        header("UNIQ_KEY\1\xe4"),
        header(""),
        header(KNOWN + "\2LONG\1" + "x" * 5_000),
    ],
)
def test_sends_that_ask_for_something_are_never_learnt(special: bytes) -> None:
    forms = SendForms(Recoder("C"))

    teach(forms, lambda number: special, count=4 * LEARN_AFTER)

    assert forms.find(special) is None


def test_a_producer_of_ever_new_forms_ends_the_learning() -> None:
    forms = SendForms(Recoder("C"))

    teach(forms, lambda number: header(f"name{number}\1x"), count=100 * LEARN_AFTER)

    known = [
        number for number in range(100 * LEARN_AFTER) if forms.find(header(f"name{number}\1x"))
    ]
    assert len(known) == FORMS_MAX


def test_many_made_up_fronts_take_no_memory() -> None:
    forms = SendForms(Recoder("C"))
    teach(forms, lambda number: header(KNOWN))

    teach(forms, lambda number: header(KNOWN, b=f"topic{number}"), count=3_000)

    assert forms.find(header(KNOWN)) is None
    assert len(forms._missed) <= 1_024
    teach(forms, lambda number: header(KNOWN))
    assert forms.find(header(KNOWN)) is not None
