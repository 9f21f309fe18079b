"""docs/pipeline.md names every table and job, and the tables of options are generated."""

from pathlib import Path

import pytest

from docs.pipelinepage import pipeline
from mqspark import schemas
from mqspark.cli.registry import JOBS
from mqspark.sources.live.options import Use
from mqspark.sources.live.write import SINK_COLUMNS
from mqspark.sources.store.options import OPTIONS
from mqspark.sources.store.reading import StoreLayout
from mqspark.sources.store.tables import table_names

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "pipeline.md").read_text()
TABLES = pipeline("")
LAYOUTS = [layout.value for layout in StoreLayout if layout is not StoreLayout.AUTO]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(table_names(), id="tables"),
        pytest.param([name.replace("-", " ") for name in JOBS], id="jobs"),
    ],
)
def test_every_name_is_on_the_page(names: list[str]) -> None:
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_option_and_column_is_in_the_printed_tables() -> None:
    names = [option.name for option in OPTIONS] + [one.name for use in Use for one in use.value]
    names += [option.name for job in JOBS.values() for option in job.options]
    names += [name for schema in schemas.STORE.values() for name in schema.names]

    assert [name for name in (*names, *LAYOUTS) if f"`{name}`" not in TABLES] == []


def test_the_words_of_columns_are_one_vocabulary() -> None:
    for schema in (*schemas.STORE.values(), schemas.LIVE):
        names = set(schema.names)

        assert not names & {"offset", "commit_log_offset", "uniq_key"}
        times = [field.name for field in schemas.struct_of(schema) if "timestamp" in field.name]
        kinds = {schemas.struct_of(schema)[name].dataType.simpleString() for name in times}
        assert kinds <= {"timestamp"}


def test_every_column_of_the_sink_is_on_the_page() -> None:
    text = PAGE.partition("The **sink** takes the columns")[2].partition(".")[0]

    assert [name for name in SINK_COLUMNS if name not in text] == []
