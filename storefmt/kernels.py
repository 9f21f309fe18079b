"""Compiled kernels: optional, each beside the plain Python whose results it must give.

    load("storefmt.formats.scan_kernel", "scan_compiled", pure=scan_pure)
         ├─ MQ_PURE is set, or the kernel was not built ──> scan_pure
         └─ else ─────────────────────────────────────────> scan_compiled

Rule: a kernel is imported through ``load`` alone, so that everything works without it. ``KERNELS``
lists them all: ``mqadmin --version`` looks for their files, and a server names those that it
loaded. Tests get both forms of a function from ``forms`` and compare them.
"""

import os
from importlib import import_module
from typing import Any, Final, TypeVar

PURE: Final = "MQ_PURE"
"""Environment variable: when set, nothing that is compiled is used; servers do without uvloop."""
KERNELS: Final = (
    "mqserver.broker.pull.pull_header_kernel",
    "mqserver.broker.send.send_kernel",
    "mqserver.broker.serving.flusher_kernel",
    "mqserver.proxy.http2.hpack_kernel",
    "mqserver.proxy.plain_send_kernel",
    "mqserver.proxy.protocol.protobuf_kernel",
    "mqserver.store.commitlog.dispatch_kernel",
    "mqserver.store.commitlog.picking_kernel",
    "mqserver.store.disk.mapped_kernel",
    "remoting.acl_kernel",
    "remoting.fast_path_kernel",
    "storefmt.arrow.columns_kernel",
    "storefmt.dispatch.index_kernel",
    "storefmt.formats.javahash_kernel",
    "storefmt.formats.message_kernel",
    "storefmt.formats.scan_kernel",
)
"""The modules, by the names under which they are imported where they were built."""

FormT = TypeVar("FormT")
_LOADED: Final[dict[str, tuple[str, Any]]] = {}


def load(module: str, name: str, *, pure: FormT) -> FormT:
    """Return the compiled form of a function or class, or ``pure`` where there is none.

    Args:
        module: the kernel, or a module that imports one.
        name: the compiled form in it; unique among all kernels.
        pure: the form in plain Python; None if the caller can do without.
    """
    _LOADED[name] = module, pure
    form: FormT | None = None if os.environ.get(PURE) else _compiled(module, name)
    return pure if form is None else form


def forms(name: str) -> dict[str, Any]:
    """Return what ``load`` chose from: ``pure``, and ``compiled`` if it was built.

    The environment makes no difference, so that tests can compare both forms in any process.
    """
    module, pure = _LOADED[name]
    compiled = _compiled(module, name)
    return {"pure": pure} if compiled is None else {"pure": pure, "compiled": compiled}


def _compiled(module: str, name: str) -> Any | None:
    try:
        # A kernel that was built from other sources may lack the form.
        return getattr(import_module(module), name, None)
    except ImportError:
        return None
