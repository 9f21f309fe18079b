"""Runs the targets under atheris, each in a process of its own, for some seconds each.

    python -m tests.fuzz.run [--seconds N] [--keep DIR] [target ...]

What is found is told with its bytes; it becomes a test of its module, and a line of
``corpus/<target>.hex``. ``--keep`` names a directory in which the inputs that reached new code
stay from run to run, and ``--collect`` puts the short ones of them, one for each piece of code,
into the corpus that is checked in.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.target import Target

TraceFunction = Callable[[FrameType, str, object], object]
REPOSITORY = Path(__file__).resolve().parents[2]
FUZZED = ("storefmt", "remoting", "mqserver.proxy")
"""The packages whose lines lead the fuzzer."""
INPUT_SIZE_MAX = 8192
INPUT_SECONDS_MAX = 5
MEMORY_MIB_MAX = 640
SANITIZED_MEMORY_MIB_MAX = 2560
"""A sanitizer keeps what was freed, and surrounds what was not."""
ALLOCATION_MIB_MAX = 96
COLLECT_SIZE_MAX = 400


def main() -> int:
    """Fuzz the named targets, or all; return 1 when one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=10, help="seconds for each target")
    parser.add_argument("--keep", type=Path, help="directory for the inputs found")
    parser.add_argument("--collect", action="store_true", help="add to the corpus, fuzz nothing")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return _fuzz(options.targets[0], options.keep, options.seconds)
    names = options.targets or _names()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        keep = options.keep or Path(scratch)
        if options.collect:
            for name in names:
                collect(name, keep=keep)
            return 0
        failed = [name for name in names if not fuzz(name, keep=keep, seconds=options.seconds)]
    sys.stdout.write(f"{len(names)} targets, {len(failed)} with faults {' '.join(failed)}\n")
    return 1 if failed else 0


def fuzz(name: str, *, keep: Path, seconds: int) -> bool:
    """Fuzz one target in a process of its own; return whether it kept its rule."""
    done = _run(name, "--seconds", str(seconds), "--keep", str(keep / name))
    told = [line for line in done.stderr.splitlines() if not line.startswith("INFO: Instr")]
    last = [line for line in told if " cov: " in line or line.startswith("Done ")]
    sys.stdout.write(f"{name}: {' | '.join(line.strip() for line in last[-2:])}\n")
    if done.returncode:
        found = sorted(keep.glob(f"{name}-*-*"), key=lambda path: path.stat().st_mtime)
        told = [line for line in told if " cov: " not in line]
        sys.stdout.write("\n".join([*done.stdout.splitlines()[-40:], *told[-30:]]) + "\n")
        sys.stdout.write(f"in hex: {found[-1].read_bytes().hex() if found else 'not written'}\n")
    sys.stdout.flush()
    return done.returncode == 0


def collect(name: str, *, keep: Path) -> None:
    """Add the short inputs of ``keep`` that reach lines of their own to the corpus."""
    from tests.fuzz.corpus_file import add_to_corpus, read_corpus
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    found = [*target.seed_inputs(), *(path.read_bytes() for path in (keep / name).iterdir())]
    short = sorted(set(found), key=lambda data: (len(data), data))
    reached: set[tuple[str, int, int]] = set()
    for data in read_corpus(name):
        reached |= _lines_of(target, data)
    for data in short:
        lines = _lines_of(target, data) if len(data) <= COLLECT_SIZE_MAX else set()
        if not lines <= reached:
            reached |= lines
            add_to_corpus(name, [data])


def _lines_of(target: "Target", data: bytes) -> set[tuple[str, int, int]]:
    """Return the lines of the packages that an input reaches, each with the one before it."""
    lines: set[tuple[str, int, int]] = set()
    before = 0

    def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        nonlocal before
        file = frame.f_code.co_filename
        if not any(f"/{package.replace('.', '/')}/" in file for package in FUZZED):
            return None
        lines.add((file, before, frame.f_lineno))
        before = frame.f_lineno
        return trace

    sys.settrace(trace)
    try:
        target.feed(data)
    finally:
        sys.settrace(None)
    return lines


def _run(name: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.run", "--inside", *options, name],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _names() -> list[str]:
    from tests.fuzz.targets import TARGETS

    return list(TARGETS)


def _fuzz(name: str, keep: Path, seconds: int) -> int:
    import atheris

    # What is imported here is instrumented, so nothing of it may be imported before.
    with atheris.instrument_imports(include=list(FUZZED)):
        from tests.fuzz.targets import TARGETS
    from tests.fuzz.corpus_file import read_corpus

    target = TARGETS[name]
    keep.mkdir(parents=True, exist_ok=True)
    seeds = keep.with_name(f"{name}.seeds")
    seeds.mkdir(exist_ok=True)
    for number, data in enumerate([*target.seed_inputs(), *read_corpus(name)]):
        (seeds / f"{number:04d}").write_bytes(data)
    is_sanitized = "libasan" in os.environ.get("LD_PRELOAD", "")
    arguments = [
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_SIZE_MAX}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={SANITIZED_MEMORY_MIB_MAX if is_sanitized else MEMORY_MIB_MAX}",
        f"-malloc_limit_mb={ALLOCATION_MIB_MAX}",
        f"-artifact_prefix={keep.with_name(name)}-",
    ]
    if target.words:
        words = keep.with_name(f"{name}.dict")
        words.write_text("".join(f'"{_quoted(word)}"\n' for word in target.words))
        arguments.append(f"-dict={words}")
    atheris.Setup([f"tests.fuzz.run {name}", *arguments, str(keep), str(seeds)], target.feed)
    atheris.Fuzz()
    return 0


def _quoted(word: str) -> str:
    # \xNN is the dictionary's own; every other backslash and quote is escaped.
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    return plain.replace("\\\\x", "\\x") if word.startswith("\\x") else plain


if __name__ == "__main__":
    sys.exit(main())
