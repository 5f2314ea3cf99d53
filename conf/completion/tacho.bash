# bash completion for tacho
# shellcheck shell=bash

# The subcommands of a command.
_tacho_subcommands() {
    case $1 in
    config) echo 'show hash' ;;
    log) echo 'ls cat stat verify repair export' ;;
    plugin) echo 'list show metrics new check' ;;
    esac
}

_tacho() {
    local commands='call check config log plugin reload run status version help'
    local word=${COMP_WORDS[COMP_CWORD]} words=

    case $COMP_CWORD in
    1) words=$commands ;;
    2) words=$(_tacho_subcommands "${COMP_WORDS[1]}") ;;
    3)
        if [ "${COMP_WORDS[1]} ${COMP_WORDS[2]}" = 'plugin show' ]; then
            words=$("${COMP_WORDS[0]}" plugin list 2>/dev/null | awk '/^[a-z]/ { print $1 }')
        fi
        ;;
    esac
    if [[ $word == -* ]]; then
        words='--help --json'
    fi
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    fi
}
complete -o default -F _tacho tacho
