"""Commands that write a file: ``--to FILE``, where ``-`` is standard output."""

import json
from pathlib import Path

import pytest
import yaml

from tests.mqadmin.conftest import Run


@pytest.fixture
def sent(at: Run, topic: str) -> str:
    """Return a topic with three messages."""
    for number in range(3):
        at("message", "send", topic, f"m{number}", "--queue", "0")
    return topic


def test_messages_go_to_standard_output_as_json_lines(at: Run, sent: str) -> None:
    done = at("message", "export", sent, "--to", "-")

    assert [json.loads(line)["body"] for line in done.out.splitlines()] == ["m0", "m1", "m2"]


def test_messages_go_to_standard_output_as_csv_with_the_columns_that_are_named(
    at: Run, sent: str
) -> None:
    done = at("message", "export", sent, "--to", "-", "--format", "csv", "--columns", "body")

    assert done.out.splitlines() == ["body", "m0", "m1", "m2"]


def test_an_export_of_nothing_has_the_columns_of_messages(at: Run, topic: str) -> None:
    done = at("message", "export", topic, "--to", "-", "--format", "csv")

    assert done.out.startswith("topic,queue_id,queue_offset,")


@pytest.mark.parametrize("more", [("--resume",), ("--format", "parquet")])
def test_what_needs_a_file_is_refused(at: Run, topic: str, more: tuple[str, ...]) -> None:
    done = at("message", "export", topic, "--to", "-", *more)

    assert done.exit_code == 2
    assert "need a file" in done.err


def test_what_one_line_exports_another_imports(at: Run, sent: str) -> None:
    exported = at("message", "export", sent, "--to", "-").out

    dry = at.row("message", "import", "-", "--dry-run", stdin=exported)
    done = at.row("message", "import", "-", "-y", stdin=exported)

    assert dry["sent"] == done["sent"] == 3
    assert at.row("assert", "message-count", sent, "6")["holds"]
    assert at("message", "import", "-", "--resume", "-y", stdin="").exit_code == 2


def test_a_document_is_written_whole_and_once(at: Run, sent: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"

    row = at.row("export", "--to", str(path), "--columns", "file,topics,groups,accounts")
    again = at("export", "--to", str(path))
    replaced = at("export", "--to", str(path), "--replace")

    document = yaml.safe_load(path.read_text())
    assert sent in document["topics"]
    assert (row["file"], row["topics"]) == (str(path), len(document["topics"]))
    assert (again.exit_code, replaced.exit_code) == (2, 0)
    assert "--replace" in again.err
    assert yaml.safe_load(at("export", "--to", "-").out)["topics"].keys() >= {sent}
    assert at("apply", "-", "--dry-run", stdin=path.read_text()).exit_code == 0


def test_documents_of_java_may_go_elsewhere(at: Run, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"

    row = at.row("export", "configs", "--to", str(path))
    shown = at("export", "metadata", "--to", "-")

    assert row["path"] == str(path)
    assert "brokerConfigs" in json.loads(path.read_text())
    assert "topicConfigTable" in json.loads(shown.out)
