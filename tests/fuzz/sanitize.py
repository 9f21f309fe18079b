"""Runs the tests of the kernels under AddressSanitizer and UBSan, in a copy of the tree.

    python -m tests.fuzz.sanitize [test files …]
    python -m tests.fuzz.sanitize --fuzz SECONDS [targets …]     the fuzzer's input instead

A kernel is C that reads bytes of strangers. Its tests feed it random, cut and flipped input and
compare what comes out with Python; here they also fail on any access outside of a buffer and on
undefined arithmetic. `make sanitize` runs it; so does the full tier, where gcc has the sanitizers.
`make soak` lets atheris, too, find input for the fuzz targets that a kernel reads.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]
FLAGS: Final = "-fsanitize=address,undefined -fno-omit-frame-pointer -g -O1"
TESTS: Final = (
    "tests/fuzz/test_fuzz.py::test_seeds_are_read_whole_and_cut[answer]",
    "tests/fuzz/test_fuzz.py::test_seeds_are_read_whole_and_cut[send_frame]",
    "tests/fuzz/test_fuzz.py::test_seeds_are_read_whole_and_cut[sends]",
    "tests/fuzz/test_fuzz.py::test_seeds_are_read_whole_and_cut[sent]",
    "tests/remoting/test_acl_kernel.py",
    "tests/remoting/test_fast_path_kernel.py",
    "tests/server/broker/send/test_send_kernel.py",
    "tests/server/broker/pull/test_pull_header.py",
    "tests/server/proxy/http2/test_hpack_kernel.py",
    "tests/server/proxy/test_drafts.py",
    "tests/server/proxy/test_protobuf_kernel.py",
    "tests/server/store/commitlog/test_dispatcher.py",
    "tests/server/store/commitlog/test_picking.py",
    "tests/server/store/disk/test_mapped.py",
    "tests/storefmt/dispatch/test_index_kernel.py",
    "tests/storefmt/formats/test_javahash.py",
    "tests/storefmt/formats/test_message_kernel.py",
    "tests/storefmt/formats/test_scan_kernel.py",
)
TARGETS: Final = (
    "sends", "sent", "send_frame", "answer", "frames", "log", "record", "index", "header_blocks",
    "grpc_message", "plain_send",
)  # fmt: skip
"""The fuzz targets whose bytes a kernel reads."""
FAULT: Final = re.compile(r"runtime error: .*|ERROR: AddressSanitizer: .*")


def library(name: str) -> str | None:
    """Return the path of gcc's sanitizer library ``name``; None where there is none."""
    if shutil.which("gcc") is None:
        return None
    asked = ["gcc", f"-print-file-name={name}"]
    path = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else None


def libraries() -> list[str]:
    """Return the libraries to load before Python; empty where they are not all there."""
    found = [library("libasan.so"), library("libubsan.so")]
    return [path for path in found if path is not None] if all(found) else []


def sanitize(tests: tuple[str, ...] = TESTS) -> tuple[int, str, list[str]]:
    """Run tests of the kernels; return exit code, output and faults."""
    return _sanitized("pytest", "-q", "-p", "no:cacheprovider", "-m", "not soak", *tests)


def fuzz(seconds: int, targets: tuple[str, ...] = TARGETS) -> tuple[int, str, list[str]]:
    """Fuzz targets for some seconds each; return exit code, output and faults."""
    return _sanitized("tests.fuzz.run", "--seconds", str(seconds), *targets)


def _sanitized(*module: str) -> tuple[int, str, list[str]]:
    """Build the kernels with the sanitizers, and run a module of Python with them."""
    with tempfile.TemporaryDirectory(prefix="sanitized-") as scratch:
        tree = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(
            ".git", ".venv", "build", "*.so", "__pycache__", "target", "*.egg-info", ".*_cache"
        )
        shutil.copytree(REPOSITORY, tree, ignore=ignored, symlinks=True)
        env = {**os.environ, "CFLAGS": FLAGS, "LDFLAGS": "-fsanitize=address,undefined"}
        build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        subprocess.run(build, cwd=tree, env=env, check=True)
        env |= {
            "LD_PRELOAD": " ".join(libraries()),
            # Python itself leaves memory behind, and its own allocator would hide faults.
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'server'}",
        }
        run = [sys.executable, "-m", *module]
        done = subprocess.run(run, cwd=tree, env=env, capture_output=True, text=True)
    output = done.stdout + done.stderr
    return done.returncode, output, FAULT.findall(output)


def main() -> int:
    """Print what the tests said; return 1 if one failed or a sanitizer spoke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.sanitize", description=__doc__)
    parser.add_argument("names", nargs="*", help="test files, or fuzz targets")
    parser.add_argument("--fuzz", type=int, metavar="SECONDS", help="for each target")
    options = parser.parse_args()
    if not libraries():
        print("gcc has no AddressSanitizer or UBSan here")
        return 1
    names = tuple(options.names)
    if options.fuzz is None:
        code, output, faults = sanitize(names or TESTS)
    else:
        code, output, faults = fuzz(options.fuzz, names or TARGETS)
    print(output)
    print(f"{len(faults)} faults", *faults, sep="\n")
    return 1 if code or faults else 0


if __name__ == "__main__":
    sys.exit(main())
