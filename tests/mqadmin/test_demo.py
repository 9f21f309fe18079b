"""``mqadmin demo``: it runs to its end, and its recording shows the steps that it has."""

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

from docs.recording import DIRECTORY, drawn, take_the_tour
from mqadmin.demo.tour import BROKEN, LIVE, TourStep
from tests.programs import python

STEPS = (*LIVE, *BROKEN)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def in_order(text: str, steps: list[str]) -> bool:
    """Return whether each of the lines stands in a text, behind the one before."""
    place = 0
    for line in steps:
        place = text.find(f"$ mqadmin {line.removesuffix(' {}')}", place) + 1
        if not place:
            return False
    return True


def of_person(step: TourStep) -> str:
    return step.live or step.line


def test_the_tour_runs_to_its_end_without_a_person(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}

    done = python("-m", "mqadmin", "demo", env=env)

    assert "\x1b" not in done.stdout
    assert in_order(done.stdout, [step.line for step in STEPS])
    assert re.search(r"left +\S+@app-3", done.stdout)
    before, after = done.stdout.split("$ mqadmin store repair")
    assert "bad_crc" in before
    assert re.search(r"(?m)^lost .* orders ", after)
    assert re.search(r"(?m)^ok: +true$", after)
    assert list(tmp_path.glob("mqadmin-demo-*")) == []


def test_the_tour_is_recorded() -> None:
    cast, frames = take_the_tour()

    assert len(frames) == len(STEPS)
    assert "app-2" in "\n".join(frames[2])
    check_recording(cast, drawn(frames))


def test_the_recording_of_the_documents_shows_the_steps() -> None:
    check_recording((DIRECTORY / "demo.cast").read_text(), (DIRECTORY / "demo.svg").read_text())


def check_recording(cast: str, picture: str) -> None:
    """Compare a recording with the steps that the tour has."""
    head, *events = map(json.loads, cast.splitlines())
    said = ESCAPES.sub("", "".join(data for _, _, data in events))
    texts = "\n".join(
        text.text or "" for text in ElementTree.fromstring(picture).iter() if text.text
    )

    assert head["version"] == 2
    assert [at_s for at_s, _, _ in events] == sorted(at_s for at_s, _, _ in events)
    assert in_order(said, [of_person(step) for step in STEPS]), "python -m docs.recording"
    # The frame of a live view on the whole screen has no line of its own.
    assert in_order(texts, [step.line for step in STEPS if not step.live])
