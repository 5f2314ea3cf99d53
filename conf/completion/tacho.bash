# bash completion for tacho
# shellcheck shell=bash
_tacho() {
    local commands='check config plugin version help'
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "${COMP_WORDS[COMP_CWORD]}")
    fi
}
complete -F _tacho tacho
