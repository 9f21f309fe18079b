"""Texts in quotes, as fastjson writes them."""

import json

from storefmt.config.quoting import quote


def test_control_characters_are_escaped_as_fastjson_escapes_them() -> None:
    text = quote("\x01\t\n\r\b\f\0\x7f\u2028\x0b\x1f/é😀'\"\\")

    assert text == r'"\u0001\t\n\r\b\f\u0000\u007F\u2028\u000B\u001F/é😀' + "'" + r'\"\\"'


def test_each_character_reads_back_and_has_the_same_form_alone_and_beside_a_rare_one() -> None:
    rare = quote("\x7f")[1:-1]
    for char in map(chr, range(0x2100)):
        assert json.loads(quote(char)) == char
        assert quote(char + "\x7f") == quote(char)[:-1] + rare + '"'
