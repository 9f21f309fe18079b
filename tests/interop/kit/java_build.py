"""The Java side, ready to run: jars in ``java/lib``, our programs in ``java/target/classes``.

    java/pom.xml  --mvn-->  java/lib/*.jar
    java/src/*.java  --javac-->  java/target/classes

Rule: built once per checkout. ``java/target/stamp`` holds a digest of everything that went
in; when it still fits, nothing runs. A file lock keeps two test runs from building at once.
"""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.programs import absent

JAVA = Path(__file__).resolve().parent.parent / "java"
JAVA_FIVE = JAVA.with_name("java5")
_BUILD_TIMEOUT_S = 600


def need_java() -> None:
    """Skip the test where Java or Maven is missing; under CI that is a failure instead."""
    missing = [name for name in ("java", "javac", "mvn") if shutil.which(name) is None]
    if not missing:
        return
    absent(f"{', '.join(missing)} not on the path: install a JDK 17 and Maven")


def class_path(home: Path = JAVA) -> str:
    """Return the class path of RocketMQ and of our programs, building what is out of date.

    Args:
        home: has ``pom.xml`` and ``src``; another RocketMQ has another folder.

    Raises:
        RuntimeError: Maven or javac ended with an error; its output is in the text.
    """
    target = home / "target"
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build(home, target)
    return f"{target / 'classes'}:{home / 'lib'}/*"


def jars_of(version: str) -> str:
    """Return the class path of another version of RocketMQ 5, without programs of ours.

    Its jars are kept in a folder of their own beside those of ``JAVA_FIVE``.

    Raises:
        RuntimeError: Maven ended with an error; its output is in the text.
    """
    target = JAVA_FIVE / "target"
    target.mkdir(exist_ok=True)
    jars, part = target / f"lib-{version}", target / f"lib-{version}.part"
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.exists():
            shutil.rmtree(part, ignore_errors=True)
            options = (f"-Drocketmq.version={version}", f"-DoutputDirectory={part}")
            copy = "dependency:copy-dependencies"
            _run(JAVA_FIVE, "mvn", "-q", "-B", copy, *options, "-DincludeScope=runtime")
            part.rename(jars)
    return f"{jars}/*"


def _build(home: Path, target: Path) -> None:
    jars, classes = _digest([home / "pom.xml"]), _digest(sorted((home / "src").glob("*.java")))
    stamp = target / "stamp"
    built = stamp.read_text().split() if stamp.exists() else []
    if built == [jars, classes]:
        return
    if jars not in built:
        shutil.rmtree(home / "lib", ignore_errors=True)
        copy = "dependency:copy-dependencies"
        _run(home, "mvn", "-q", "-B", copy, "-DoutputDirectory=lib", "-DincludeScope=runtime")
    shutil.rmtree(target / "classes", ignore_errors=True)
    (target / "classes").mkdir()
    sources = sorted(str(path) for path in (home / "src").glob("*.java"))
    _run(home, "javac", "-nowarn", "-cp", "lib/*", "-d", "target/classes", *sources)
    stamp.write_text(f"{jars} {classes}\n")


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _run(home: Path, *words: str) -> None:
    done = subprocess.run(
        words, cwd=home, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
