"""The completion script for zsh: bash's tables and engine, and zsh's own way to offer.

Rule: the tables are not written a second time; ``emulate`` makes zsh read them as bash does.
"""

from typing import Final

from mqadmin.completion.bash import tables
from mqadmin.completion.entries import entries, next_words

HEAD: Final = """\
#compdef mqadmin
# Completion of mqadmin for zsh. Made by `mqadmin completion zsh`; do not edit.
#   copy it as _mqadmin into a directory of $fpath, or: source <(mqadmin completion zsh)
"""

ENGINE: Final = """\
# Sets __mq_reply to what may stand at the end of the words "$@" (without the program's name).
__mqadmin_complete() {
  emulate -L zsh
  local words='' options='' values='' arguments='' repeats='' pending='' wanted='' path_now=''
  local word current="${@[-1]}"
  local -i at count=0
  local -a places
  __mq_reply=() __mq_paths=''
  __mqadmin_of ''
  for ((at = 1; at < $#; at++)); do
    word="${@[at]}"
    if [[ -n $pending ]]; then pending=''; continue; fi
    if [[ $word == --*=* ]]; then
      continue
    elif [[ $word == -?* ]]; then
      __mqadmin_value "$word" && pending="$word"
    elif [[ " $words " == *" $word "* && $count -eq 0 ]]; then
      path_now="${path_now:+$path_now }$word"
      __mqadmin_of "$path_now"
    else
      count+=1
    fi
  done
  if [[ -n $pending ]]; then
    __mqadmin_value "$pending" && wanted="$__mq_value"
  elif [[ $current == -* ]]; then
    wanted="$options $__mq_globals"
  else
    places=("${(@s:|:)${arguments%|}}")
    [[ -z $arguments ]] && places=()
    [[ -n $repeats && $count -ge ${#places} ]] && count=$((${#places} - 1))
    [[ $count -eq 0 ]] && wanted="$words "
    wanted+="${places[count + 1]}"
  fi
  __mqadmin_matching "$current" ${=wanted}
}

# Sets __mq_value to what the option may be given; fails where it takes nothing.
__mqadmin_value() {
  emulate -L zsh
  local entry
  for entry in "${(@s:|:)values}" "${(@s:|:)__mq_global_values}"; do
    if [[ $entry == "$1="* ]]; then __mq_value="${entry#*=}"; return 0; fi
  done
  return 1
}

__mqadmin_matching() {
  emulate -L zsh
  local typed="$1" word name
  shift
  for word in "$@"; do
    case "$word" in
      @file | @dir) __mq_paths="$word" ;;
      @*)
        for name in "${(@f)$(mqadmin completion names "${word#@}" -o name 2>/dev/null)}"; do
          [[ -n $name && $name == "$typed"* ]] && __mq_reply+=("$name")
        done ;;
      *) [[ $word == "$typed"* ]] && __mq_reply+=("$word") ;;
    esac
  done
}
"""

GLUE: Final = """\
_mqadmin() {
  local -a __mq_reply __mq_shown
  local __mq_paths word
  __mqadmin_complete "${(@)words[2,CURRENT]}"
  for word in "${__mq_reply[@]}"; do
    __mq_shown+=("$word${__mqadmin_meaning[$word]:+  -- ${__mqadmin_meaning[$word]}}")
  done
  (( ${#__mq_reply} )) && compadd -l -d __mq_shown -a __mq_reply
  [[ $__mq_paths == @dir ]] && _files -/
  [[ $__mq_paths == @file ]] && _files
  return 0
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _mqadmin "$@"
elif typeset -f compdef >/dev/null; then
  compdef _mqadmin mqadmin
fi
"""


def script() -> str:
    """Return the script for zsh."""
    return "\n".join([HEAD, tables(), _meanings(), ENGINE, GLUE])


def _meanings() -> str:
    """Return what the first words of commands mean, for the list."""
    lines = ["typeset -gA __mqadmin_meaning=("]
    for word, meaning in next_words(entries())[""].items():
        lines.append(f"  '{word}' '{meaning.replace(chr(39), chr(39) * 2)}'")
    return "\n".join([*lines, ")"]) + "\n"
