#!/usr/bin/env bash
# The tour of README.md, as it stands there: every fenced block marked "sh" runs, in its order, in one
# empty folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH=$TACHO_BUILDDIR:$PATH
cd "$folder"

awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$TACHO_SRCDIR/README.md" >tour
[ -s tour ] || {
    echo "README.md has no block marked sh"
    exit 1
}
timeout 60 bash -eu tour >out 2>err || {
    echo "the tour ends with $?"
    tail -n 20 out err
    exit 1
}
cat out

# What the tour promises to show.
for text in '"source":' gpu.power '0 problems'; do
    grep -q -- "$text" out || {
        echo "the tour does not show: $text"
        tail -n 20 err
        exit 1
    }
done
