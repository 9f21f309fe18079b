"""Flags are Java's, and the priority of sources is fixed."""

from pathlib import Path

import pytest

from mqserver.runtime.program.commandline import Flags, Printing, gather, read_flags, version_line
from mqserver.runtime.program.logs import LogFormat


def flags(*argv: str, registers: bool = True) -> Flags:
    return read_flags(argv, program="mqbroker", about="Runs a broker.", registers=registers)


def test_flags_have_javas_short_and_long_names() -> None:
    assert flags("-c", "b.conf", "-n", "a:1") == Flags(Path("b.conf"), "a:1", Printing.NOTHING)
    assert flags("--configFile", "b.conf", "--namesrvAddr", "a:1", "-p").printing is Printing.ALL
    assert flags("-m").printing is Printing.IMPORTANT


def test_the_log_is_text_unless_json_is_asked_for() -> None:
    assert flags().log_format is LogFormat.TEXT
    assert flags("--log", "json").log_format is LogFormat.JSON


@pytest.mark.parametrize("argv", [["-x"], ["-c"], ["-p", "-m"], ["extra"], ["--log", "xml"]])
def test_a_wrong_flag_exits_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        flags(*argv)

    assert caught.value.code == 2


def test_help_names_the_environment(capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        flags("-h")

    assert caught.value.code == 0
    assert "ROCKETMQ_<key>" in capsys.readouterr().out


def test_version_prints_one_line_however_long_it_is(capsys) -> None:
    build = "long " * 40

    with pytest.raises(SystemExit) as caught:
        read_flags(["--version"], program="mqbroker", about="Runs a broker.", build=lambda: build)

    assert caught.value.code == 0
    assert capsys.readouterr().out == f"{version_line('mqbroker')}, {build}\n"


def test_sources_come_in_rising_priority(tmp_path: Path) -> None:
    path = tmp_path / "b.conf"
    path.write_text("namesrvAddr=file:1\nlistenPort=1\n")
    environment = {"NAMESRV_ADDR": "default:1", "ROCKETMQ_listenPort": "2"}

    values = gather(flags("-c", str(path), "-n", "flag:1"), environment)

    assert [(value.key, value.text) for value in values] == [
        ("namesrvAddr", "default:1"),
        ("namesrvAddr", "file:1"),
        ("listenPort", "1"),
        ("listenPort", "2"),
        ("namesrvAddr", "flag:1"),
    ]


def test_a_name_server_has_no_name_servers() -> None:
    values = gather(flags(registers=False), {"NAMESRV_ADDR": "a:1"})

    assert values == []
    with pytest.raises(SystemExit):
        flags("-n", "a:1", registers=False)
