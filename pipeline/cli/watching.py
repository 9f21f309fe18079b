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
from typing import TYPE_CHECKING, Final

from pipeline.sources.store.spread import context_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASK_EVERY_S: Final = 1.0
_OURS: Final = re.compile(r"^(?:pipeline|storefmt|remoting|mqclient)\.[\w.]+: (?P<text>.+)$")
_BUILT_IN: Final = re.compile(r"^\w+(?:Error|Exception): (?P<text>.+)$")


def page_of(spark: "SparkSession") -> str:
    """Return the address of the session's page, or an empty text if it has none."""
    context = context_of(spark)
    return (context.uiWebUrl or "") if context is not None else ""


@contextmanager
def watched(spark: "SparkSession", tell: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``tell`` now and then with the numbers of done and known tasks, while the block runs."""
    context = context_of(spark)
    if context is None:
        yield
        return
    over = threading.Event()
    seen: dict[int, tuple[int, int]] = {}

    def ask() -> None:
        tracker, told = context.statusTracker(), (-1, -1)
        while not over.wait(ASK_EVERY_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[stage] = info.numCompletedTasks, info.numTasks
            running = set(tracker.getActiveStageIds())
            done = sum(did if stage in running else of for stage, (did, of) in seen.items())
            now = done, sum(of for _, of in seen.values())
            if seen and now != told:
                tell(*now)
                told = now

    asker = threading.Thread(target=ask, name="progress", daemon=True)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()


def plan_of(frame: "DataFrame") -> str:
    """Return Spark's plan for a frame as text; nothing is run."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain(mode="formatted")
    return text.getvalue().strip()


def cause_of(error: Exception) -> str:
    """Return the one line that says what went wrong.

    Spark returns the traceback of its Python workers as text. The error that was raised there last,
    by a package of ours or by Python itself, names the file, the option or the address.
    """
    lines = str(error).splitlines()
    for pattern in (_OURS, _BUILT_IN):
        raised = [found["text"] for line in lines if (found := pattern.match(line))]
        if raised:
            return raised[-1]
    return next((line for line in lines if line), type(error).__name__)
