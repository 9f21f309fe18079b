"""The completion script for bash (3.2 and newer), which zsh runs too.

Rule: plain ``case`` tables and no subprocess, except for live names.
"""

from collections.abc import Sequence
from typing import Final

from mqadmin.completion.entries import Entry, Option, entries, global_options, next_words

HEAD: Final = """\
# Completion of mqadmin for bash. Made by `mqadmin completion bash`; do not edit.
#   source <(mqadmin completion bash)     or copy it to /etc/bash_completion.d/mqadmin
"""

ENGINE: Final = """\
# Sets __mq_reply to what may stand at the end of the words "$@" (without the program's name).
__mqadmin_complete() {
  local path='' words='' options='' values='' arguments='' repeats='' pending='' word count=0
  local current="${@: -1}" at wanted=''
  __mq_reply=() __mq_paths=''
  __mqadmin_of ''
  for ((at = 1; at < $#; at++)); do
    word="${!at}"
    if [[ -n $pending ]]; then pending=''; continue; fi
    case "$word" in
      --*=*) ;;
      -?*) __mqadmin_value "$word" && pending="$word" ;;
      *)
        if [[ " $words " == *" $word "* && $count -eq 0 ]]; then
          path="${path:+$path }$word"
          __mqadmin_of "$path"
        else
          count=$((count + 1))
        fi ;;
    esac
  done
  if [[ -n $pending ]]; then
    __mqadmin_value "$pending" && wanted="$__mq_value"
  elif [[ $current == -* ]]; then
    wanted="$options $__mq_globals"
  else
    local -a places
    IFS='|' read -r -a places <<< "$arguments"
    if [[ -n $repeats && $count -ge ${#places[@]} ]]; then count=$((${#places[@]} - 1)); fi
    [[ $count -eq 0 ]] && wanted="$words "
    [[ $count -lt ${#places[@]} ]] && wanted+="${places[$count]}"
  fi
  __mqadmin_matching "$current" $wanted
}

# Sets __mq_value to what the option may be given; fails where it takes nothing.
__mqadmin_value() {
  local entry
  local IFS='|'
  for entry in $values $__mq_global_values; do
    if [[ $entry == "$1="* ]]; then __mq_value="${entry#*=}"; return 0; fi
  done
  return 1
}

__mqadmin_matching() {
  local typed="$1" word
  shift
  for word in "$@"; do
    case "$word" in
      @file | @dir) __mq_paths="$word" ;;
      @*)
        while IFS= read -r word; do
          [[ $word == "$typed"* ]] && __mq_reply+=("$word")
        done < <(mqadmin completion names "${word#@}" -o name 2>/dev/null) ;;
      *) [[ $word == "$typed"* ]] && __mq_reply+=("$word") ;;
    esac
  done
}
"""

GLUE: Final = """\
_mqadmin() {
  local -a __mq_reply
  local __mq_paths
  __mqadmin_complete "${COMP_WORDS[@]:1:COMP_CWORD}"
  COMPREPLY=("${__mq_reply[@]}")
  if [[ $__mq_paths == @dir ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -d -- "${COMP_WORDS[COMP_CWORD]}"))
  elif [[ -n $__mq_paths ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -F _mqadmin mqadmin
"""


def script() -> str:
    """Return the script for bash."""
    return HEAD + "\n" + tables() + "\n" + ENGINE + "\n" + GLUE


def tables() -> str:
    """Return the tables that ``ENGINE`` reads, as shell functions."""
    listed = entries()
    after = next_words(listed)
    named = {entry.name: entry for entry in listed}
    shared = global_options()
    lines = [
        f"__mq_globals='{_spellings(shared)}'",
        f"__mq_global_values='{_values(shared)}'",
        "",
        "# What may follow the words of a command: more words, options, arguments.",
        "__mqadmin_of() {",
        "  words='' options='' values='' arguments='' repeats=''",
        '  case "$1" in',
    ]
    for path in sorted({*after, *named}):
        lines.append(f"    '{path}')")
        if path in after:
            lines.append(f"      words='{' '.join(after[path])}'")
        if path in named:
            lines += _table(named[path])
        lines.append("      ;;")
    return "\n".join([*lines, "  esac", "}"]) + "\n"


def _table(entry: Entry) -> list[str]:
    lines = []
    if entry.options:
        lines.append(f"      options='{_spellings(entry.options)}'")
    if any(option.value is not None for option in entry.options):
        lines.append(f"      values='{_values(entry.options)}'")
    if entry.arguments:
        lines.append(f"      arguments='{'|'.join(entry.arguments)}|'")
    if entry.repeats:
        lines.append("      repeats=1")
    return lines


def _spellings(options: Sequence[Option]) -> str:
    return " ".join(option.spellings[0] for option in options)


def _values(options: Sequence[Option]) -> str:
    return "|".join(
        f"{spelling}={option.value}"
        for option in options
        if option.value is not None
        for spelling in option.spellings
    )
