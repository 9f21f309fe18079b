"""The shell at a terminal: prompt, completion, history, hints.

    prompt        dev/DefaultCluster [3]>      context, cluster, last exit code if not 0
    bottom line   the syntax of what is typed, or what is wrong with it

Rule: a key press never waits for a server, because completion reads names that a task in the loop
thread keeps fresh. This is the only module that imports prompt_toolkit.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    PathCompleter,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from mqadmin.cli import tree
from mqadmin.cli.help import usage_of
from mqadmin.cli.java.table import native_of
from mqadmin.cli.mistakes import unknown_command
from mqadmin.cli.parse import load
from mqadmin.errors import CommandError
from mqadmin.session.call import Call
from mqadmin.session.global_options import GlobalOptions
from mqadmin.shell.complete import OWN_WORDS, spot_of, suggestions
from mqadmin.shell.engine import Shell, ShellExit
from mqadmin.shell.lines import commands, is_unfinished, split
from mqadmin.shell.names import LiveNames
from mqadmin.shell.pager import paged
from mqadmin.shell.validity import problem

WELCOME: Final = "mqadmin shell: `help` lists the commands, Tab completes, Ctrl-D leaves"
SECRET: Final = "secret-key"
NAMES_SHOWN: Final = 6
NAMES_WAIT_S: Final = 3.0
"""How long the first prompt waits for the cluster's name; typing never waits."""
REDRAW_S: Final = 1.0
"""How soon the prompt notices that a server answers again."""

STYLE: Final = Style.from_dict(
    {
        "place": "ansicyan",
        "protected": "ansired",
        "failed": "ansired bold",
        "known": "ansigreen",
        "unknown": "ansired",
        "option": "ansicyan",
        "text": "ansiyellow",
        "operator": "bold",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)
NO_STYLE: Final = Style.from_dict({"bottom-toolbar": "noreverse"})


class ShellHistory(FileHistory):
    """A history file for its user only; lines with a secret are not kept."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.fchmod(handle, 0o600)
        os.close(handle)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Keep one line, unless it holds a secret."""
        if SECRET not in string.lower():
            super().store_string(string)


class ShellCompleter(Completer):
    """Suggestions of ``mqadmin.shell.complete``, and paths where one could stand."""

    def __init__(self, names: LiveNames, refresh: Callable[[], None]) -> None:
        self._names = names
        self._refresh = refresh
        self._paths = {
            "file": PathCompleter(expanduser=True),
            "dir": PathCompleter(expanduser=True, only_directories=True),
        }

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield what could stand at the cursor; nothing is waited for."""
        self._refresh()
        text = document.text_before_cursor
        suggested, path = suggestions(text, self._names.known)
        for suggestion in suggested:
            yield Completion(
                suggestion.text,
                start_position=suggestion.start - len(text),
                display_meta=suggestion.meaning,
            )
        if path:
            typed = spot_of(text).partial
            paths = self._paths[path].get_completions(Document(typed, len(typed)), complete_event)
            yield from paths


class ShellLexer(Lexer):
    """Colours: commands green, unknown words red, options and quoted text apart."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return the coloured parts of each line."""
        lines = [styled_parts(line) for line in document.lines]
        return lambda number: lines[number] if number < len(lines) else []


def styled_parts(text: str) -> StyleAndTextTuples:
    """Return the parts of a line with their styles."""
    parts: StyleAndTextTuples = []
    made = split(text)
    command_words = _command_word_count([word.text for word in made.words])
    is_command = command_words > 0
    pos = 0
    for spot, word in enumerate(made.words):
        end = made.words[spot + 1].start if spot + 1 < len(made.words) else len(text)
        parts.append(("", text[pos : word.start]))
        shown = text[word.start : end]
        if word.is_operator:
            style = "class:operator"
        elif spot < max(command_words, 1):
            style = "class:known" if is_command else "class:unknown"
        elif word.text.startswith("-") and not word.quoted:
            style = "class:option"
        else:
            style = "class:text" if word.quoted else ""
        parts.append((style, shown))
        pos = end
    parts.append(("", text[pos:]))
    return parts


def _command_word_count(words: list[str]) -> int:
    """Return how many words name a command; 1 for the shell's own words, 0 if none does."""
    _, count = tree.find_command(words)
    if count or not words:
        return count
    is_command = (
        words[0].lower() in OWN_WORDS or native_of(words[0]) or tree.commands_below(words[:1])
    )
    return 1 if is_command else 0


def hint(text: str) -> str:
    """Return the bottom line: the usage of the command, or what is wrong."""
    made = split(text)
    words = [word.text for word in commands(made.words)[-1]]
    if not words:
        return "help · Tab completes · Ctrl-R searches · Ctrl-D leaves"
    if words[0].lower() in OWN_WORDS:
        return OWN_WORDS[words[0].lower()]
    bare = [word for word in words if not word.startswith("-")]
    if not bare:
        return "-h shows the options"
    if bare[0].lower() in tree.TEXT_WORDS:
        return tree.TEXT_WORDS[bare[0].lower()]
    group = [word for word in bare if word.lower() != tree.HELP_WORD]
    if len(group) < len(bare) and tree.commands_below(group):
        return f"help of `{' '.join(group)}`"
    name = tree.find_command(group)[0] or native_of(bare[0])
    if name is not None:
        return f"{usage_of(load(name))}    {tree.COMMANDS[name]}"
    half_typed = not tree.commands_below(bare) and not made.ends_in_blank
    begun = _beginning_with(words) if half_typed else []
    error = unknown_command(bare)
    return " · ".join(begun) or f"{error.message}; {error.hint}"


def _beginning_with(words: list[str]) -> list[str]:
    """Return the completions of a half-typed name: commands, or first words of them."""
    typed = " ".join(words).lower()
    names = sorted(tree.COMMANDS)
    if len(words) == 1:
        names = sorted({name.split()[0] for name in names} | set(OWN_WORDS) | set(tree.TEXT_WORDS))
    return [name for name in names if name.startswith(typed)][:NAMES_SHOWN]


def keys(completer: Completer) -> KeyBindings:
    """Return the action of Tab: it completes at once, even while the menu is being built.

    prompt_toolkit drops a Tab that is pressed while suggestions are being computed, and people
    type faster than that.
    """
    made = KeyBindings()

    @made.add("tab")
    def complete(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.complete_index is not None:
            buffer.complete_next()
            return
        asked = CompleteEvent(completion_requested=True)
        completions = list(completer.get_completions(buffer.document, asked))
        if len(completions) == 1:
            insert(buffer, completions[0])
            return
        common = get_common_complete_suffix(buffer.document, completions)
        if common:
            buffer.insert_text(common)
        elif state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(select_first=False)

    return made


def insert(buffer: Buffer, completion: Completion) -> None:
    """Insert the only completion, and a blank after it."""
    buffer.cancel_completion()
    buffer.delete_before_cursor(-completion.start_position)
    is_open = completion.text.endswith(("/", "=", " "))
    buffer.insert_text(completion.text + ("" if is_open else " "))


def history_path(env: Mapping[str, str]) -> Path:
    """Return where the history of this user is kept."""
    base = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME", "."), ".local", "state")
    return Path(base) / "mqadmin" / "history"


class Interactive:
    """One run of the shell at a terminal."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._shell = Shell(call.console, call.workplace, page=paged)
        self._names = LiveNames()
        self._plain = call.settings.no_color or "NO_COLOR" in call.console.env

    def read_lines(self) -> int:
        """Read and run lines until ``exit`` or Ctrl-D; return the exit code."""
        self._greet()
        completer = ShellCompleter(self._names, self._refresh)
        prompter: PromptSession[str] = PromptSession(
            message=self._prompt,
            completer=completer,
            key_bindings=keys(completer),
            complete_while_typing=True,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            history=ShellHistory(history_path(self._call.console.env)),
            lexer=None if self._plain else ShellLexer(),
            style=NO_STYLE if self._plain else STYLE,
            bottom_toolbar=lambda: self._hint(get_app().current_buffer.text),
            multiline=Condition(lambda: is_unfinished(get_app().current_buffer.text)),
            enable_history_search=False,
            reserve_space_for_menu=6,
            refresh_interval=REDRAW_S,
        )
        while True:
            try:
                text = prompter.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            try:
                self._shell.run_text(text)
            except ShellExit as leave:
                return leave.exit_code
            self._refresh(at_once=True)

    def _hint(self, text: str) -> str:
        """Return the bottom line: what is wrong with what is typed, else its syntax."""
        return problem(text, self._names.known) or hint(text)

    def _greet(self) -> None:
        """Print the greeting, and whether a server answers."""
        self._call.warn(WELCOME)
        try:
            target = self._here().target()
        except CommandError as error:
            self._call.warn(f"no server yet; use `connect HOST:PORT` ({error.message})")
            return
        task = self._names.refresh(self._here(), at_once=True)
        if task is not None:
            wait([task], NAMES_WAIT_S)
        if not self._names.known.connected:
            self._call.warn(
                f"{target.namesrv} does not answer; use `connect HOST:PORT` for another one"
            )

    def _here(self) -> Call:
        return Call(GlobalOptions(), self._call.console, self._call.workplace)

    def _refresh(self, *, at_once: bool = False) -> None:
        try:
            self._here().target()
        except CommandError:
            return
        self._names.refresh(self._here(), at_once=at_once)

    def _prompt(self) -> StyleAndTextTuples:
        names = self._names.known
        if names.cluster is None:
            self._refresh()
        try:
            context = self._here().context()
            workplace = self._call.workplace
            named = workplace.label or workplace.namesrv
            place = named or (context.name if context else "")
        except CommandError:
            place = ""
        where = "/".join(filter(None, [place, names.cluster]))
        style = "class:protected" if self._is_protected() else "class:place"
        parts: StyleAndTextTuples = [(style, where or "no server")]
        if not names.connected and where:
            parts.append(("class:failed", " (away)"))
        if self._shell.last_exit:
            parts.append(("class:failed", f" [{self._shell.last_exit}]"))
        parts.append(("", "> "))
        return parts

    def _is_protected(self) -> bool:
        here = self._here().defaults()
        return here is not None and here.protected and not self._call.workplace.namesrv


def run_interactive(call: Call) -> int:
    """Run the shell at this terminal and return its exit code."""
    return Interactive(call).read_lines()
