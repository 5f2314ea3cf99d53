# What the lint checks share; sourced. A check reads the trees TACHO_SRCDIR and TACHO_BUILDDIR, calls
# `bad` for each finding and ends with `verdict`.
# shellcheck shell=bash
set -euo pipefail
: "${TACHO_SRCDIR:?the source tree}" "${TACHO_BUILDDIR:=$TACHO_SRCDIR/build}"
cd "$TACHO_SRCDIR"
findings=0

bad() {
    echo "$*"
    findings=$((findings + 1))
}

# Reads findings from standard input, one on a line.
bad_lines() {
    local line
    while IFS= read -r line; do
        bad "$line"
    done
}

verdict() {
    [ "$findings" = 0 ] || exit 1
    exit 0
}

# The project's own files whose names match one of the patterns.
files() {
    if [ -e .git ]; then
        git ls-files -co --exclude-standard -- "$@" | while IFS= read -r name; do
            [ ! -f "$name" ] || echo "$name"
        done
    else
        local pattern tests=()
        for pattern in "$@"; do
            tests+=(-o -name "$pattern")
        done
        find . -path ./build -prune -o -type f \( -false "${tests[@]}" \) -printf '%P\n' | sort
    fi
}
