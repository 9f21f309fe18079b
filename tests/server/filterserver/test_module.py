"""Filters of consumers: what they see, and which resources they may use."""

import logging
import re
import sys
import zlib

import pytest

from mqserver.filterserver.compiling import BadModule, CompileLimits
from mqserver.filterserver.module import FilterEngine, FilterLimits
from storefmt.errors import BadCall
from storefmt.formats.message import Record, decode_record
from tests.records import record_bytes
from tests.server.filterserver import wat

LIMITS = FilterLimits(fuel=100_000, memory_size=1 << 20)


@pytest.fixture(scope="module")
def engine() -> FilterEngine:
    return FilterEngine(LIMITS)


def message(body: bytes, **fields: object) -> Record:
    return decode_record(record_bytes(body=body, **fields))


def test_records_that_match_are_kept_as_they_came(engine: FilterEngine) -> None:
    records = [record_bytes(body=body) for body in (b"abcd", b"bbbb", b"a", b"cccc")]

    kept = engine.compile(wat.module(wat.FIRST_IS_A)).filter_records(b"".join(records))

    assert kept == records[0] + records[2]


def test_module_sees_the_properties_and_behind_them_the_body(engine: FilterEngine) -> None:
    # Wanted when the last byte of the properties is V and the byte behind them begins the body.
    text = """(i32.and
      (i32.eq (i32.load8_u (i32.sub (i32.add (local.get 0) (local.get 1)) (i32.const 1)))
              (i32.const 86))
      (i32.eq (local.get 2) (i32.add (local.get 0) (local.get 1))))"""
    module = engine.compile(wat.module(text))

    assert module.accepts(message(b"x", properties=b"K\x01V"))
    assert not module.accepts(message(b"x", properties=b"K\x01W"))


def test_body_is_decompressed_for_the_module(engine: FilterEngine) -> None:
    module = engine.compile(wat.module(wat.FIRST_IS_A))

    assert module.accepts(message(zlib.compress(b"abc"), sys_flag=1))
    assert not module.accepts(message(zlib.compress(b"xbc"), sys_flag=1))


def test_no_answer_depends_on_another_message(engine: FilterEngine) -> None:
    counting = wat.module(
        "(global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.eq (global.get $n)"
        " (i32.const 1))",
        more="(global $n (mut i32) (i32.const 0))",
    )
    module = engine.compile(counting)

    assert [module.accepts(message(b"x")) for _ in range(3)] == [True, True, True]


def test_binary_form_is_taken_as_well_as_text(engine: FilterEngine) -> None:
    binary = bytes(engine.wasmtime.wat2wasm(wat.module("(i32.const 0)")))

    assert not engine.compile(binary).accepts(message(b"x"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(wat.module(wat.LOOP), "fuel", id="endless loop"),
        pytest.param(wat.module(wat.TRAP), "unreachable", id="trap"),
        pytest.param(wat.module(wat.RECURSION), "stack|fuel", id="recursion"),
        pytest.param(
            wat.module("(i32.const 0)", allocate="(i32.const -5)"),
            "allocate returned -5",
            id="below",
        ),
        pytest.param(
            wat.module("(i32.const 0)", allocate="(i32.const 65535)"), "outside", id="beyond"
        ),
        pytest.param(wat.module("(i32.const 0)", allocate=wat.LOOP), "fuel", id="allocate loops"),
    ],
)
def test_message_on_which_a_module_fails_is_kept_and_told_once(
    engine: FilterEngine, source: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    module = engine.compile(source)

    with caplog.at_level(logging.WARNING):
        kept = [module.accepts(message(b"hello")) for _ in range(3)]

    assert kept == [True] * 3
    assert len(caplog.records) == 1
    assert re.search(reason, caplog.text)


def test_body_that_cannot_be_decompressed_is_kept(engine: FilterEngine) -> None:
    assert engine.compile(wat.module("(i32.const 0)")).accepts(message(b"no zlib", sys_flag=1))


def test_memory_beyond_the_limit_is_not_given(engine: FilterEngine) -> None:
    # The module keeps what comes while it has less than 64 MiB.
    assert engine.compile(wat.module(wat.BOMB)).accepts(message(b"x"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"", "not a WebAssembly module"),
        (b"\0asm\x01\0\0\0\xff", "not a WebAssembly module"),
        (b"\xff\xfe", "not a WebAssembly module"),
        (b"(" * 100_000, "not a WebAssembly module"),
        (b"(module)", "not export memory"),
        (b'(module (memory (export "memory") 1))', "not export allocate"),
        (b'(module (import "env" "now" (func)))', "imports env.now"),
        (b'(module (import "wasi_snapshot_preview1" "fd_write" (func)))', "imports wasi"),
        (wat.module(wat.TAKES_ALL).replace(b'memory") 1', b'memory") 17'), "does not start"),
        (
            wat.module(wat.TAKES_ALL, more=f"(func $s (local i32) {wat.LOOP} drop) (start $s)"),
            "does not start",
        ),
        (wat.module(wat.TAKES_ALL, more="(table 20000 funcref)"), "does not start"),
        (
            wat.module(wat.TAKES_ALL).replace(b"(param i32) (result i32)", b"(result i32)"),
            "not export allocate",
        ),
    ],
)
def test_module_that_cannot_be_a_filter_is_refused(
    engine: FilterEngine, source: bytes, reason: str
) -> None:
    with pytest.raises(BadModule, match=reason):
        engine.compile(source)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (CompileLimits(cpu_s=1, timeout_ms=600_000), r"more than 1 s .*filterCompileCpuSeconds"),
        (
            CompileLimits(memory_size=96 << 20, timeout_ms=600_000),
            r"more than 100663296 bytes .*filterCompileMemorySize",
        ),
        (CompileLimits(timeout_ms=1), r"longer than 1 ms .*filterCompileTimeoutMillis"),
    ],
)
def test_module_that_costs_too_much_to_compile_is_refused_by_the_limit_it_passes(
    limits: CompileLimits, reason: str
) -> None:
    engine = FilterEngine(LIMITS._replace(compiling=limits))

    with pytest.raises(BadModule, match=reason):
        engine.compile(wat.module(wat.TAKES_ALL, more=wat.COSTLY))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("/bin/false", "ended with code 1"),
        # This program ends well and writes nothing.
        ("/bin/true", "does not load"),
        ("/nowhere/python", "does not start"),
    ],
)
def test_compiler_that_fails_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)

    with pytest.raises(BadModule, match=reason):
        FilterEngine(LIMITS).compile(wat.module(wat.TAKES_ALL))


def test_server_without_wasmtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)

    with pytest.raises(BadCall, match="install the extra `filters`"):
        FilterEngine(LIMITS)
