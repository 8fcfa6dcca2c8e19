# bash completion of polykern and polykern-agent: they say themselves which commands and options they have.
_polykern() {
  local current=${COMP_WORDS[COMP_CWORD]} words=() word help
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    words+=("$word")
  done
  help=$("$1" "${words[@]}" --help 2>/dev/null) || return
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  (-[A-Za-z],)?--[a-z-]+' <<<"$help" | grep -oE -e '--[a-z-]+')" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(sed '1,/^Subcommands:/d' <<<"$help" | grep -oE '^  [a-z]+' )" -- "$current")
  fi
}
complete -o default -F _polykern polykern polykern-agent
