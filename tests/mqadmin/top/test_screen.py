"""The screen, with keys from a pipe and nothing to draw on."""

from concurrent.futures import Future

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mqadmin.top.sample import ClusterSnapshot, GroupSnapshot
from mqadmin.top.screen import Screen
from mqadmin.top.view import InputMode


def screen(*, fails: bool = False) -> Screen:
    """Return a screen whose later looks find a group, or fail."""

    def again() -> "Future[ClusterSnapshot]":
        future: Future[ClusterSnapshot] = Future()
        if fails:
            future.set_exception(ConnectionError("gone"))
        else:
            future.set_result(ClusterSnapshot(1000, [], {}, {"G": GroupSnapshot(lag=7)}))
        return future

    return Screen(look=again, first=ClusterSnapshot(0, [], {}, {}), title="top", seconds=0.01)


def shown(made: Screen, keys: str) -> int:
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        return made.show_until_quit(source=pipe, output=DummyOutput())


def test_keys_reach_the_view_and_q_ends_it() -> None:
    made = screen()

    assert shown(made, "s\t/ab\rq") == 0
    assert (made.view.sort, made.view.section, made.view.text) == ("lag", "broker", "ab")
    assert made.view.mode is InputMode.BROWSING


def test_ctrl_c_ends_with_130() -> None:
    assert shown(screen(), "\x03") == 130


def test_a_filter_takes_letters_that_are_keys_elsewhere() -> None:
    made = screen()

    assert shown(made, "/qs\x7f\rq") == 0
    assert made.view.text == "q"
