"""The page of the pipeline names every option and table that there is."""

from pathlib import Path

import pytest

from pipeline.cli.registry import JOBS
from pipeline.sources.live.options import Use
from pipeline.sources.live.write import SINK_COLUMNS
from pipeline.sources.store import source as store
from pipeline.sources.store.reading import Layout
from pipeline.sources.store.tables import table_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md").read_text()
OF_SPARK = {"path", "checkpointLocation"}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(store._OPTIONS, id="rocketmq_store"),
        pytest.param([name for use in Use for name in use.value], id="rocketmq"),
        pytest.param(table_names(), id="tables"),
        pytest.param(
            [layout.value for layout in Layout if layout is not Layout.AUTO], id="layouts"
        ),
        pytest.param([name.replace("-", " ") for name in JOBS], id="jobs"),
    ],
)
def test_every_name_is_on_the_page(names: list[str]) -> None:
    assert [name for name in names if name not in OF_SPARK and f"`{name}`" not in PAGE] == []


def test_every_column_of_the_sink_is_on_the_page() -> None:
    text = PAGE.partition("The **sink** takes the columns")[2].partition(".")[0]

    assert [name for name in SINK_COLUMNS if name not in text] == []
