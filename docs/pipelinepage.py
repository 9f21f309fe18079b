"""docs/pipeline-tables.md: the tables, columns and options of the pipeline as declared."""

from collections.abc import Iterable
from typing import Any

from mqspark.cli.registry import JOBS
from mqspark.options import Option
from mqspark.schemas import LIVE, ORIGIN, STORE, struct_of
from mqspark.sources.live.options import Use
from mqspark.sources.store.options import OPTIONS


def pipeline(printed: str) -> str:
    """Return the page; ``printed`` says that it is not written by hand."""
    lines = [
        "# Tables and options of the pipeline",
        "",
        printed,
        "[pipeline.md](pipeline.md) says how they are used. In Python `mqspark.schemas` has the",
        "columns of each table. Every column may be null; times are UTC.",
        "",
        "## Tables of `rocketmq_store`",
        "",
        "| `table` | columns |",
        "| --- | --- |",
    ]
    lines += [f"| `{name}` | {_columns(schema)} |" for name, schema in STORE.items()]
    lines += [
        "",
        "A load of a list or a pattern has `store` string in front, the store of a row; a",
        "load of one path has it if it is named.",
        "",
        "## Columns of `rocketmq`",
        "",
        f"Those of `commitlog` without `file`, and {_names(ORIGIN)}:",
        "",
        _columns(LIVE),
        "",
        "## Options of `rocketmq_store`",
        "",
        table_of(OPTIONS),
        "",
        "## Options of `rocketmq`",
        "",
        table_of(_distinct(Use.SCHEMA.value, Use.SINK.value)),
        "",
        "A batch does not know "
        f"{_names(_without(Use.STREAM, Use.BATCH))}, a stream not "
        f"{_names(_without(Use.BATCH, Use.STREAM))}, and the sink has those of access and "
        f"{_names(_without(Use.SINK, Use.SCHEMA))}.",
        "",
        "## Options of the jobs",
        "",
        "Each is a parameter of the job's function, and `--option NAME=VALUE` of `python -m "
        "pipeline JOB`;",
        "`mqadmin pipeline JOB` has options of its own for them (docs/cli.md).",
    ]
    for name, job in JOBS.items():
        if job.options:
            lines += ["", f"### {name}", "", table_of(job.options)]
    return "\n".join(lines) + "\n"


def table_of(options: Iterable[Option]) -> str:
    """Return options as a table."""
    lines = ["| option | default | what it does |", "| --- | --- | --- |"]
    for option in options:
        default = (option.shown or option.default or "").replace("|", "\\|")
        lines.append(f"| `{option.name}` | {default} | {option.doc} |".replace("|  |", "| |"))
    return "\n".join(lines)


def _distinct(*groups: Iterable[Option]) -> Iterable[Option]:
    return {option.name: option for group in groups for option in group}.values()


def _without(one: Use, other: Use) -> list[str]:
    there = {option.name for option in other.value}
    return [option.name for option in one.value if option.name not in there]


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _columns(schema: Any) -> str:
    return ", ".join(
        f"`{field.name}` {field.dataType.simpleString()}" for field in struct_of(schema).fields
    )
