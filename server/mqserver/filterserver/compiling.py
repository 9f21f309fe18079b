"""Compiles a consumer's module in a separate process that can be killed.

    server ─ module on stdin ─> python -m mqserver.filterserver.compiling ─ stdout ─> machine code
                                 │ CPU time     RLIMIT_CPU: the kernel ends it with SIGXCPU
                                 │ memory       RLIMIT_AS: the compiler aborts
                                 └ wall clock   the server kills it

Rule: a compilation cannot be interrupted from inside its process, and a small module can make it
take minutes and gigabytes (with many locals that live through many loops). So the server itself
never compiles: it only loads the result of the child process. A module for which the child
exceeds its limits is refused.

Source: our own.
"""

import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import wasmtime

EXIT_REFUSED: Final = 3
"""Exit code of the child if the module is at fault; the last line of stderr says why."""
_BINARY: Final = b"\0asm"
_NO_MEMORY: Final = (b"memory allocation of", b"MemoryError", b"Cannot allocate memory")


class BadModule(Exception):
    """A module cannot be a filter, or does not behave like one; the text says why."""


class CompileLimits(NamedTuple):
    """Limits of one compilation, including the start of the process (some 0.1 s)."""

    cpu_s: int = 3
    memory_size: int = 512 << 20
    """Bytes of address space; Python and wasmtime alone take some 45 MB."""
    timeout_ms: int = 10_000
    """Wall clock; it is longer than the CPU time because the machine may be busy."""


def make_engine() -> "wasmtime.Engine":
    """Return a new engine; machine code fits only an engine with the same settings."""
    # wasmtime is large and optional; if it is missing, the filter server says what to install.
    import wasmtime

    config = wasmtime.Config()
    config.consume_fuel = True
    # One module may use one processor, and no memory for stacks of further threads.
    config.parallel_compilation = False
    for feature in ("threads", "memory64", "multi_memory", "gc", "exceptions"):
        # The limits of a filter do not cover these features, or a filter does not need them.
        setattr(config, f"wasm_{feature}", False)
    return wasmtime.Engine(config)


def compile_apart(source: bytes, limits: CompileLimits) -> bytes:
    """Return the serialized machine code of a module, compiled in a child process.

    Raises:
        BadModule: the module cannot be compiled, or not within the limits.
    """
    arguments = [str(limits.cpu_s), str(limits.memory_size)]
    try:
        child = subprocess.run(
            [sys.executable, "-m", "mqserver.filterserver.compiling", *arguments],
            input=source,
            capture_output=True,
            timeout=limits.timeout_ms / 1000,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BadModule(
            f"compiling the module takes longer than {limits.timeout_ms} ms "
            "(filterCompileTimeoutMillis)"
        ) from error
    except OSError as error:
        raise BadModule(f"the compiler of modules does not start: {error}") from error
    if child.returncode:
        raise BadModule(_reason(child.returncode, child.stderr, limits))
    return child.stdout


def _reason(code: int, errors: bytes, limits: CompileLimits) -> str:
    """Return why a child process ended without machine code."""
    if code == -signal.SIGXCPU:
        return (
            f"compiling the module takes more than {limits.cpu_s} s of CPU time "
            "(filterCompileCpuSeconds)"
        )
    if any(text in errors for text in _NO_MEMORY):
        return (
            f"compiling the module takes more than {limits.memory_size} bytes of memory "
            "(filterCompileMemorySize)"
        )
    last_line = errors.decode(errors="replace").strip().rpartition("\n")[2]
    if code == EXIT_REFUSED:
        return f"not a WebAssembly module: {last_line}"
    return f"the compiler of modules ended with code {code}: {last_line}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its type if it has no text."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _limit(kind: int, soft: int, hard: int) -> None:
    """Lower a limit of this process; a limit that is already lower stays."""
    allowed = resource.getrlimit(kind)[1]
    if allowed != resource.RLIM_INFINITY:
        soft, hard = min(soft, allowed), min(hard, allowed)
    resource.setrlimit(kind, (soft, hard))


def main() -> int:
    """Compile the module on stdin (binary or text) to stdout; argv has seconds and bytes."""
    import wasmtime

    cpu_s, memory_size = map(int, sys.argv[1:])
    source = sys.stdin.buffer.read()
    _limit(resource.RLIMIT_CORE, 0, 0)
    # At the hard limit the kernel would send SIGKILL, which might also come from others.
    _limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _limit(resource.RLIMIT_AS, memory_size, memory_size)
    try:
        binary = source if source.startswith(_BINARY) else bytes(wasmtime.wat2wasm(source))
        code = wasmtime.Module(make_engine(), binary).serialize()
    except (wasmtime.WasmtimeError, UnicodeDecodeError) as error:
        print(first_line(error), file=sys.stderr)
        return EXIT_REFUSED
    sys.stdout.buffer.write(code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
