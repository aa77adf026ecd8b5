# Completes the commands and options of submix and submix-train in bash. It asks the program itself, so
# that it knows what the program knows.

# help = what `"$@" --help` says; asked once in a shell, since commands that load libtorch take their time.
declare -gA _submix_helps
_submix_ask() {
  local asked=$*
  if [[ -z ${_submix_helps[$asked]} ]]; then _submix_helps[$asked]=$("$@" --help 2>/dev/null); fi
  help=${_submix_helps[$asked]}
}

# Of a --help on stdin: the commands that may follow; the names of options; the words that option $2 takes, in
# braces or behind "one of:". Options stand two or four spaces in, what is said of them further.
_submix_read_help() {
  awk -v want="$1" -v option="$2" '
    /^ *Subcommands:/ { in_commands = 1; next }
    /^ *$/ { in_commands = 0 }
    in_commands && want == "commands" { print $1 }
    /^  (  )?[^ ]/ { is_asked = 0 }
    /^  (  )?-/ {
      count = split($1, names, ",")
      for (i = 1; i <= count; ++i) {
        if (want == "options") print names[i]
        if (want == "words" && names[i] == option) is_asked = 1
      }
    }
    is_asked { said = said " " $0 }
    END {
      gsub(/ +/, " ", said)
      if (match(said, /:[{][^}]*[}]/)) words = substr(said, RSTART + 2, RLENGTH - 3)
      else if (match(said, /[Oo]ne (of|or more): [a-z0-9, -]+/)) words = substr(said, RSTART, RLENGTH)
      sub(/.*: /, "", words)
      gsub(/[ ,]+/, "\n", words)
      print words
    }'
}

_submix() {
  local name=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local program=${BASH_ALIASES[$name]:-$name} help word choices
  program=${program/#\~/$HOME}
  local -a command=()
  _submix_ask "$program"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if _submix_read_help commands <<<"$help" | grep -qxF -e "$word"; then
      command+=("$word")
      _submix_ask "$program" "${command[@]}"
    fi
  done
  choices=$(_submix_read_help words "$previous" <<<"$help")
  if [[ -z $choices && $current == -* ]]; then choices=$(_submix_read_help options <<<"$help"); fi
  local -a kinds=()
  if [[ -z $choices && $previous != -* ]]; then
    choices=$(_submix_read_help commands <<<"$help")
    if [[ $help == *Positionals:* ]]; then kinds=(-f); fi
  fi
  mapfile -t COMPREPLY < <(compgen "${kinds[@]}" -W "$choices" -- "$current")
}

# What has no words of its own is a file.
complete -o default -F _submix submix submix-train
