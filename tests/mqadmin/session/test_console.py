"""Lines for people on standard error: broken between words, and only on a terminal."""

import io

from tests.mqadmin.conftest import Terminal, console_on

SENTENCE = "error: no name server given; use -n HOST:PORT, NAMESRV_ADDR or `context use`, " * 2


def told(err: io.StringIO, text: str, *, as_is: bool = False) -> list[str]:
    console_on(err).warn(text, as_is=as_is)
    return err.getvalue().splitlines()


def test_a_terminal_gets_whole_words_in_each_line() -> None:
    lines = told(Terminal(), SENTENCE)

    assert " ".join(line.strip() for line in lines) == SENTENCE.strip()
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) > 1


def test_a_word_that_is_wider_than_the_terminal_stays_whole() -> None:
    assert told(Terminal(), f"no topic {'x' * 100}")[1].strip() == "x" * 100


def test_a_pipe_gets_one_line() -> None:
    assert told(io.StringIO(), SENTENCE) == [SENTENCE.strip()]


def test_what_is_for_a_program_is_one_line_on_a_terminal_too() -> None:
    assert told(Terminal(), SENTENCE, as_is=True) == [SENTENCE.strip()]


def asked(err: io.StringIO, question: str) -> str:
    assert console_on(err, stdin="y\n").confirm(question)
    return err.getvalue()


def test_a_question_with_a_hostile_name_steers_no_terminal() -> None:
    told = asked(Terminal(), "delete topic T, while group \x1b[2Jg is online?")

    assert told == "delete topic T, while group \\x1b[2Jg is online? [y/N] "


def test_a_long_question_breaks_between_words() -> None:
    lines = asked(Terminal(), f"delete topic {'with a word more ' * 8}?").splitlines()

    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)


HELP = f"""\
{SENTENCE.strip()}

Options:
  -x, --exact  {"only those words, " * 8}
      --kind normal|retry
               {"a kind of topics; " * 6}
"""


def help_on(out: io.StringIO) -> str:
    console_on(io.StringIO(), out=out).print_text(HELP)
    return out.getvalue()


def test_a_help_text_goes_on_below_where_it_began() -> None:
    lines = help_on(Terminal()).splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(HELP.split())
    at = next(number for number, line in enumerate(lines) if "--exact" in line)
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) == len("  -x, --exact  ")


def test_a_help_text_in_a_pipe_is_as_it_was_written() -> None:
    assert help_on(io.StringIO()) == HELP
