#!/usr/bin/env bash
# The shell completion offers commands, their subcommands and files.
set -euo pipefail
source "$TACHO_SRCDIR/conf/completion/tacho.bash"

# complete_line WORD…: what the completion offers for the last word.
complete_line() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _tacho
    echo "${COMPREPLY[*]-}"
}

expect() {
    local wanted=$1 got
    shift
    got=$(complete_line "$@")
    if [ "$got" != "$wanted" ]; then
        echo "completing '$*': expected '$wanted', got '$got'"
        exit 1
    fi
}

expect version tacho vers
expect help tacho hel
expect '' tacho nosuchcommand
for name in $("$TACHO_BUILDDIR/tacho" help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    if [[ " $(complete_line tacho "$name") " != *" $name "* ]]; then
        echo "the command $name is not offered"
        exit 1
    fi
done
