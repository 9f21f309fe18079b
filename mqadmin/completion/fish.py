"""The completion script for fish: one ``complete`` line for each thing that can be typed.

Rule: a line is offered where ``__mqadmin_at`` says that the words so far are those of its
command; fish itself matches what is typed, and shows the descriptions.
"""

import re
from collections.abc import Sequence
from typing import Final

from mqadmin.completion.entries import Entry, Option, entries, global_options, next_words

SPECIAL: Final = re.compile(r"([^\w ./:=,+@-])")
ESCAPED: Final = r"\\\1"

HEAD: Final = """\
# Completion of mqadmin for fish. Made by `mqadmin completion fish`; do not edit.
#   mqadmin completion fish > ~/.config/fish/completions/mqadmin.fish

# Whether the words before the cursor are these, and argument number $argv[2] comes next.
function __mqadmin_at
    set -l known $__mqadmin_paths
    set -l path
    set -l count 0
    set -l pending 0
    for word in (commandline -opc)[2..-1]
        if test $pending -eq 1
            set pending 0
        else if string match -qr -- '^--.*=' $word
            continue
        else if string match -q -- '-?*' $word
            contains -- $word $__mqadmin_with_value; and set pending 1
        else if test $count -eq 0; and contains -- (string join ' ' $path $word) $known
            set path $path $word
        else
            set count (math $count + 1)
        end
    end
    test "$path" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test $count -eq $argv[2]; and return 0
    test (count $argv) -gt 2; and test $count -ge $argv[2]
end

function __mqadmin_names
    mqadmin completion names $argv[1] -o name 2>/dev/null
end

complete -c mqadmin -f
"""


def script() -> str:
    """Return the script for fish."""
    listed = entries()
    after = next_words(listed)
    shared = global_options()
    valued = sorted(
        {
            spelling
            for option in [*shared, *(one for entry in listed for one in entry.options)]
            if option.value is not None
            for spelling in option.spellings
        }
    )
    paths = sorted({*after, *(entry.name for entry in listed)} - {""})
    lines = [
        HEAD,
        f"set -g __mqadmin_with_value {' '.join(valued)}",
        "set -g __mqadmin_paths " + " ".join(_quoted(path) for path in paths),
        "",
    ]
    for path, words in sorted(after.items()):
        here = _quoted(f"__mqadmin_at {_quoted(path)} 0")
        for word, meaning in words.items():
            lines.append(f"complete -c mqadmin -n {here} -a {word} -d {_quoted(meaning)}")
    lines += [_option("true", option) for option in shared]
    for entry in listed:
        lines += _lines(entry)
    return "\n".join(lines) + "\n"


def _lines(entry: Entry) -> Sequence[str]:
    place = f"__mqadmin_at {_quoted(entry.name)}"
    lines = [_option(place, option) for option in entry.options]
    for at, value in enumerate(entry.arguments):
        again = " more" if entry.repeats and at + 1 == len(entry.arguments) else ""
        if value:
            lines.append(f"complete -c mqadmin -n {_quoted(f'{place} {at}{again}')}{_given(value)}")
    return lines


def _option(place: str, option: Option) -> str:
    names = f" -l {option.spellings[0].removeprefix('--')}"
    if len(option.spellings) > 1:
        names += f" -s {option.spellings[1].removeprefix('-')}"
    where = "" if place == "true" else f" -n {_quoted(place)}"
    needs = " -r" if option.value == "@file" else " -x"
    value = "" if option.value is None else needs + _given(option.value)
    return f"complete -c mqadmin{where}{names} -d {_quoted(option.help)}{value}"


def _given(value: str) -> str:
    match value:
        case "":
            return ""
        case "@file":
            return " -F"
        case "@dir":
            return " -a '(__fish_complete_directories)'"
    if value.startswith("@"):
        return f" -a '(__mqadmin_names {value[1:]})'"
    # fish evaluates the list of words once more, where `PUB|SUB` would be a pipe.
    return f" -a {_quoted(SPECIAL.sub(ESCAPED, value))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
