"""The notebook in examples/ runs from a broken store to a picture, cell after cell."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.golden import REPOSITORY, Golden
from tests.programs import python

pytestmark = pytest.mark.spark
NOTEBOOK = REPOSITORY / "examples" / "pipeline.ipynb"


def test_a_broken_store_becomes_a_picture(golden: Golden, tmp_path: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    picture = tmp_path / "timeline.svg"
    env = {
        **os.environ,
        "STORE": str(golden.damaged("33-magic-wrong")),
        "PICTURE": str(picture),
        "PYTHONPATH": str(REPOSITORY),
    }

    done = python("-c", code, cwd=tmp_path, env=env)

    assert "bad_magic" in done.stdout
    assert "1419 messages can be read, 1 places cannot" in done.stdout
    bars = ElementTree.parse(picture).getroot()
    assert len(bars) > 3
