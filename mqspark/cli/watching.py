"""What can be shown of a running Spark job: its page, its progress, its plan and its errors.

Rule: this is for people; nothing here changes the result of a job. Sessions of Spark Connect have
no status tracker here, so they show no progress.
"""

import contextlib
import io
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from mqspark.sources.store.spread import context_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASK_EVERY_S: Final = 1.0
STARVED_S: Final = 30.0
"""Spark waits for ever for a worker that offers enough; its own warning is one line of its log."""
_OURS: Final = re.compile(r"^(?:mqspark|storefmt|remoting|mqclient)\.[\w.]+: (?P<text>.+)$")
_BUILT_IN: Final = re.compile(r"^\w+(?:Error|Exception): (?P<text>.+)$")


def page_of(spark: "SparkSession") -> str:
    """Return the address of the session's page, or an empty text if it has none."""
    context = context_of(spark)
    return (context.uiWebUrl or "") if context is not None else ""


@contextmanager
def watch_progress(
    spark: "SparkSession",
    tell: Callable[[int, int], None],
    *,
    warn: Callable[[str], None] = lambda text: None,
) -> Iterator[None]:
    """Tell how a job goes on while the block runs.

    Args:
        spark: the session.
        tell: is called now and then with the numbers of done and known tasks.
        warn: is called once with a sentence if no task starts for ``STARVED_S``.
    """
    context = context_of(spark)
    if context is None:
        yield
        return
    over = threading.Event()
    seen: dict[int, tuple[int, int]] = {}

    def ask() -> None:
        tracker, reported = context.statusTracker(), (-1, -1)
        # Seconds for which stages wait without any task; None once a task has started.
        starved_s: float | None = 0.0
        while not over.wait(ASK_EVERY_S):
            stages = tracker.getActiveStageIds()
            if starved_s is not None and stages:
                starved_s += ASK_EVERY_S
            for stage in stages:
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[stage] = info.numCompletedTasks, info.numTasks
                    if info.numActiveTasks or info.numCompletedTasks:
                        starved_s = None
            if starved_s is not None and starved_s >= STARVED_S:
                warn(_starved(context))
                starved_s = None
            running = set(tracker.getActiveStageIds())
            done_count = sum(did if stage in running else of for stage, (did, of) in seen.items())
            now = done_count, sum(of for _, of in seen.values())
            if seen and now != reported:
                tell(*now)
                reported = now

    asker = threading.Thread(target=ask, name="progress", daemon=True)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()


def _starved(context: Any) -> str:
    memory = context._jsc.sc().executorMemory()
    return (
        f"no task has started for {STARVED_S:.0f} s: no free worker of {context.master} offers the "
        f"{memory} MiB and the cores that an executor asks for; ask for less (for example with "
        "SPARK_EXECUTOR_MEMORY=512m in the environment), or look at the page of the master"
    )


def plan_of(frame: "DataFrame") -> str:
    """Return Spark's plan for a frame as text; nothing is run."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain(mode="formatted")
    return text.getvalue().strip()


def cause_of(error: Exception) -> str:
    """Return the one line that says what went wrong.

    Spark returns the traceback of its Python workers as text. The error that was raised there last,
    by a package of ours or by Python itself, names the file, the option or the address; the lines
    behind it, up to Spark's own, are hints.
    """
    lines = str(error).splitlines()
    for pattern in (_OURS, _BUILT_IN):
        raised = [number for number, line in enumerate(lines) if pattern.match(line)]
        if raised:
            match = pattern.match(lines[raised[-1]])
            assert match is not None
            hints = takewhile(lambda line: line and not line[0].isspace(), lines[raised[-1] + 1 :])
            return "; ".join([match["text"], *hints])
    return next((line for line in lines if line), type(error).__name__)
