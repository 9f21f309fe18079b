"""One filter of a consumer: a WebAssembly module that decides which messages are wanted.

    (memory (export "memory") …)
    allocate(size i32) -> position i32         room for one message
    matches(properties i32, size i32, body i32, size i32) -> i32      0: not wanted

    message ─ properties as stored, then the body ─> memory at allocate's position
            ─ matches ─ 0 ──────────────────────────── removed
                      └ anything else ──────────────── kept
                      └ trap, out of fuel or memory ── kept, and logged once

Rule: a module sees one message and nothing else. It gets a new instance for each message, so no
result depends on another message. It imports nothing, so it has no clock, files or network. Fuel
ends an endless loop, the memory is limited, and ``compiling`` limits the cost of compiling it. If
a module fails on a message, the message is kept: the consumer can check an unwanted message
itself, but would never see one that is removed.

Source: our own; in 4.2 (filtersrv/FilterClassInfo.java) this was a Java class without limits.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from mqserver.filterserver.compiling import (
    BadModule,
    CompileLimits,
    compile_apart,
    first_line,
    make_engine,
)
from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats.message import Record, decode_records
from storefmt.formats.sysflag import inflate

if TYPE_CHECKING:
    import wasmtime
    from wasmtime._exportable import AsExtern

LOG = logging.getLogger(__name__)

BODY_SIZE_MAX: Final = 32 << 20
"""Largest body that is decompressed for a module."""
TABLE_ELEMENTS_MAX: Final = 10_000
_I32: Final = "i32"
_EXPORTS: Final[Mapping[str, object]] = {
    "memory": "MemoryType",
    "allocate": ((_I32,), (_I32,)),
    "matches": ((_I32,) * 4, (_I32,)),
}


class FilterLimits(NamedTuple):
    """What a module may use for one message, and for its compilation."""

    fuel: int
    """Units of work; an instruction takes about one."""
    memory_size: int
    """Bytes of memory."""
    compiling: CompileLimits = CompileLimits()


class FilterEngine:
    """Compiles modules.

    Raises:
        BadCall: wasmtime is not installed.
    """

    def __init__(self, limits: FilterLimits) -> None:
        try:
            # wasmtime is large and optional, and only a filter server needs it.
            import wasmtime
        except ImportError as error:
            raise BadCall(
                "filters need wasmtime, which is not installed; install the extra `filters`"
            ) from error
        self.wasmtime = wasmtime
        self.limits = limits
        self.engine = make_engine()

    def compile(self, source: bytes) -> "FilterModule":
        """Return the filter compiled from ``source``, a module in binary or text form.

        Raises:
            BadModule: the module cannot be compiled within the limits, has an import, lacks an
                export, or does not start.
        """
        wasmtime = self.wasmtime
        code = compile_apart(source, self.limits.compiling)
        try:
            module = wasmtime.Module.deserialize(self.engine, code)
        except wasmtime.WasmtimeError as error:
            # wasmtime was replaced while the server runs, so the child used another version.
            raise BadModule(
                f"the compiled module does not load: {first_line(error)}; restart the filter server"
            ) from error
        self._check(module)
        filter_module = FilterModule(self, module)
        try:
            filter_module.instance()
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            raise BadModule(f"the module does not start: {first_line(error)}") from error
        return filter_module

    def _check(self, module: "wasmtime.Module") -> None:
        """Check that a module looks like a filter.

        Raises:
            BadModule: it has an import, or lacks an export.
        """
        for imported in module.imports:
            raise BadModule(
                f"the module imports {imported.module}.{imported.name}; a filter has no imports"
            )
        exports = {export.name: self._shape(export.type) for export in module.exports}
        for name, shape in _EXPORTS.items():
            if exports.get(name) != shape:
                raise BadModule(
                    f"the module does not export {name} in the form that docs/filters.md gives"
                )

    def _shape(self, kind: object) -> object:
        """Return a function's parameters and results, or the name of any other type."""
        if isinstance(kind, self.wasmtime.FuncType):
            return tuple(map(str, kind.params)), tuple(map(str, kind.results))
        return type(kind).__name__


class FilterModule:
    """A compiled filter."""

    def __init__(self, engine: FilterEngine, module: "wasmtime.Module") -> None:
        self._engine = engine
        self._module = module
        self._has_failed = False

    def instance(self) -> "tuple[wasmtime.Store, Mapping[str, AsExtern]]":
        """Return a new instance with its full fuel."""
        engine, wasmtime = self._engine, self._engine.wasmtime
        store = wasmtime.Store(engine.engine)
        store.set_limits(
            memory_size=engine.limits.memory_size,
            table_elements=TABLE_ELEMENTS_MAX,
            instances=1,
            tables=1,
            memories=1,
        )
        store.set_fuel(engine.limits.fuel)
        return store, wasmtime.Instance(store, self._module, []).exports(store)

    def filter_records(self, records: bytes) -> bytes:
        """Return those of the records that the filter accepts, unchanged.

        Raises:
            RecordDamaged: the bytes are not records.
        """
        kept, pos = [], 0
        for record in decode_records(records, check_crc=False):
            if self.accepts(record):
                kept.append(records[pos : pos + record.size])
            pos += record.size
        return b"".join(kept)

    def accepts(self, record: Record) -> bool:
        """Return whether the filter accepts a message; True if the module fails on it."""
        wasmtime = self._engine.wasmtime
        try:
            body = inflate(record.body, record.sys_flag, size_max=BODY_SIZE_MAX)
            return self._ask(record.properties_raw, body)
        except (RecordDamaged, BadModule, wasmtime.WasmtimeError, wasmtime.Trap) as error:
            if not self._has_failed:
                self._has_failed = True
                LOG.warning(
                    "a filter of topic %s fails; messages on which it fails are passed on: %s",
                    record.topic,
                    " ".join(str(error).split()),
                )
            return True

    def _ask(self, properties: bytes, body: bytes) -> bool:
        store, exports = self.instance()
        memory = cast("wasmtime.Memory", exports["memory"])
        allocate = cast("wasmtime.Func", exports["allocate"])
        matches = cast("wasmtime.Func", exports["matches"])
        size = len(properties) + len(body)
        position = cast(int, allocate(store, size))
        if position < 0 or position + size > memory.data_len(store):
            raise BadModule(f"allocate returned {position} for {size} bytes, outside the memory")
        memory.write(store, properties + body, position)
        body_at = position + len(properties)
        return bool(matches(store, position, len(properties), body_at, len(body)))
