"""Recall handles of timer messages; the text was answered by a 5.4.0 broker."""

import base64

import pytest

from remoting.errors import BadHeader
from remoting.recall import RecallHandle, decode_recall

TEXT = "djEgRmlmbzEgYnJva2VyLWEgMTc5NTQ3OTIzNTAwMSBDMDAwMDIwMjRGMDA5MjE0Qzc4Mzc2N0UxOEY4MDAwNg=="
HANDLE = RecallHandle("Fifo1", "broker-a", "1795479235001", "C00002024F009214C783767E18F80006")


def test_a_handle_is_the_text_of_the_broker_both_ways() -> None:
    assert decode_recall(TEXT) == HANDLE
    assert HANDLE.encode() == TEXT


def test_missing_padding_and_further_words_are_no_fault() -> None:
    longer = base64.urlsafe_b64encode(base64.urlsafe_b64decode(TEXT) + b" more").decode()

    assert decode_recall(TEXT.rstrip("=")) == HANDLE
    assert decode_recall(longer) == HANDLE


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("v1 T b 5", "4 words"),
        ("v2 T b 5 k", "v1 first"),
    ],
)
def test_a_handle_of_another_form_is_refused(words: str, why: str) -> None:
    with pytest.raises(BadHeader, match=why):
        decode_recall(base64.urlsafe_b64encode(words.encode()).decode())


@pytest.mark.parametrize("text", ["", "no handle", "????", "/w==", "\u00e9"])
def test_what_is_no_base64_text_is_refused(text: str) -> None:
    with pytest.raises(BadHeader, match="recall handle"):
        decode_recall(text)
