"""Files that somebody else may have written: each is refused in a few words, and none hangs."""

import json
import os
from pathlib import Path

import pytest

from mqadmin.errors import CommandError
from mqadmin.messages.export_file import ExportState, ExportTarget, begin, state_path
from mqadmin.messages.note_file import write_note
from tests.mqadmin.conftest import Run

NOWHERE = ("--namesrv", "127.0.0.1:1")
DEEP = "[" * 100_000
LINE = {"topic": "T", "body": "x"}
WRONG_LINES = {
    "a deep nest": '{"topic": "T", "body": ' + DEEP,
    "a number that is infinite": '{"topic": "T", "body": "x", "flag": 1e999}',
    "a number of 5,000 digits": '{"topic": "T", "body": "x", "flag": ' + "9" * 5_000 + "}",
    "a flag that is no int32": json.dumps({**LINE, "flag": 1 << 31}),
    "a topic that is a list": json.dumps({**LINE, "topic": ["T"]}),
    "a tag that is a number": json.dumps({**LINE, "tags": 7}),
    "a key that is a list": json.dumps({**LINE, "keys": [["k"]]}),
    "a topic that appears twice": '{"topic": "T", "topic": "U", "body": "x"}',
    "half a pair of surrogates": '{"topic": "T", "body": "\\ud800"}',
    "a list": "[1]",
}


@pytest.mark.parametrize("name", WRONG_LINES)
def test_line_that_is_no_message_is_refused_before_any_is_sent(
    run: Run, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text(json.dumps(LINE) + "\n" + WRONG_LINES[name] + "\n")

    done = run("message", "import", str(file), "-y", *NOWHERE)

    assert (done.exit_code, "line 2" in done.err) == (2, True), done.err
    assert len(done.err) < 1_000
    assert sorted(tmp_path.iterdir()) == [file]


def test_messages_that_are_not_utf8_are_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_bytes(b'{"topic": "T", "body": "\xe9"}\n')

    done = run("message", "import", str(file), "-y", *NOWHERE)

    assert (done.exit_code, "not UTF-8" in done.err) == (2, True), done.err


@pytest.mark.parametrize("note", ["", "x", "-1", "9" * 30, "9" * 100_000, "\0", "\xe9"])
def test_broken_note_of_an_import_is_named(run: Run, tmp_path: Path, note: str) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text(json.dumps(LINE))
    (tmp_path / "messages.jsonl.sent").write_text(note)

    done = run("message", "import", str(file), "--resume", "-y", *NOWHERE)

    assert (done.exit_code, "does not contain a number" in done.err) == (1, True), done.err
    assert len(done.err) < 1_000


def test_import_reads_regular_files_only(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        done = run("message", "import", str(path), "-y", *NOWHERE)
        assert (done.exit_code, "regular file" in done.err) == (2, True), done.err


def test_note_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for name in ("out.jsonl.state", "out.jsonl.state.tmp"):
        (tmp_path / name).symlink_to(mine)

    write_note(tmp_path / "out.jsonl.state", "note")

    assert (mine.read_text(), (tmp_path / "out.jsonl.state").read_text()) == ("mine", "note")
    assert not (tmp_path / "out.jsonl.state").is_symlink()


@pytest.mark.parametrize(
    "command", [("topic", "import"), ("group", "import"), ("offset", "import")]
)
@pytest.mark.parametrize(
    "text",
    [DEEP, '[{"a": 1e999}]', "[" + "9" * 5_000 + "]", "\ud800", '{"group": "g", "group": "h"}', ""],
    ids=["deep", "infinite", "long", "not UTF-8", "twice", "empty"],
)
def test_list_that_is_none_is_refused(
    run: Run, tmp_path: Path, command: tuple[str, ...], text: str
) -> None:
    file = tmp_path / "list.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))

    done = run(*command, str(file), "-y", *NOWHERE)

    assert done.exit_code in (1, 2), done.err
    assert "list.json" in done.err
    assert len(done.err) < 1_000


@pytest.mark.parametrize(
    "command", [("topic", "import"), ("group", "import"), ("offset", "import")]
)
def test_document_without_end_is_cut_off(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("mqadmin.session.console.TEXT_SIZE_MAX", 100_000)

    done = run(*command, "/dev/zero", "-y", *NOWHERE)

    assert (done.exit_code, "longer than" in done.err) == (1, True), done.err


@pytest.mark.parametrize(
    "changed",
    [
        {"size": -1}, {"size": "x"}, {"rows": None}, {"rows": 1.5}, {"asked": []}, {"queue": 1},
        {"begin_ms": "x"}, {"next_log_offset": -2}, {"size": True}, {"other": 1},
    ],
    ids=str,
)  # fmt: skip
def test_state_of_an_export_that_cannot_be_is_refused(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    target = ExportTarget(to=tmp_path / "out.jsonl", format_=None, resume=True)
    state_path(target.to).write_text(json.dumps({"asked": {}, **changed}))

    with pytest.raises(CommandError, match=r"out\.jsonl\.state"):
        begin(target, ExportState(asked={}))


def test_export_is_not_filled_up_to_what_a_state_says(tmp_path: Path) -> None:
    target = ExportTarget(to=tmp_path / "out.jsonl", format_=None, resume=True)
    target.to.write_text("{}\n")
    state_path(target.to).write_text(json.dumps({"asked": {}, "size": 1 << 40}))

    state = begin(target, ExportState(asked={}))
    with pytest.raises(CommandError, match="has 3 bytes"):
        target.writer(state, csv_raw=False)
    assert target.to.read_text() == "{}\n"
