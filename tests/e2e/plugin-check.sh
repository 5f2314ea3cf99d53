#!/usr/bin/env bash
# `tacho plugin check` finds what is wrong with each of tests/modules/bad_*.c, that and nothing else,
# and nothing wrong with the plugins of this tree.
set -eu
: "${TACHO_BUILDDIR:?}" "${TACHO_SRCDIR:?}"
tacho=$TACHO_BUILDDIR/tacho
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
command -v "${CC:-cc}" >/dev/null || exit 77

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

build() { # source name [flags]
    local source=$1 name=$2
    shift 2
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -fPIC -shared -fvisibility=hidden -pthread -I"$TACHO_SRCDIR" \
        -DMODULE_NAME="\"$name\"" "$@" -o "$work/$name.so" "$source"
}

# The names of the probes that failed, on one line.
failed_probes() {
    jq -r '[.probes[] | select(.verdict == "FAIL") | .probe] | join(" ")'
}

expect() { # name expected-probes expected-status
    local found status=0
    "$tacho" plugin check --json "$work/$1.so" >"$work/$1.json" || status=$?
    found=$(failed_probes <"$work/$1.json")
    [ "$found" = "$2" ] || {
        fail "$1: failed probes are '$found', not '$2'"
        jq -c '.probes[] | select(.verdict == "FAIL")' "$work/$1.json"
    }
    [ "$status" = "$3" ] || fail "$1: exit status is $status, not $3"
}

for source in "$TACHO_SRCDIR"/tests/modules/bad_*.c; do
    name=$(basename "$source" .c)
    expected=$(sed -n 's|^/\* Fails: \(.*\) \*/$|\1|p' "$source")
    [ -n "$expected" ] || fail "$name does not say what it fails"
    build "$source" "$name"
    if [ "$expected" = nothing ]; then
        expect "$name" "" 0
    else
        expect "$name" "$expected" 1
    fi
done

# Without its names, mutable state is still seen by the sizes of the sections.
strip --strip-all "$work/bad_state.so"
expect bad_state state 1
strip --strip-all "$work/bad_none.so"
expect bad_none "" 0
grep -q stripped "$work/bad_state.json" || fail "does not say that the file is stripped"

# What is no plugin at all.
echo "no plugin" >"$work/text.so"
expect text "undefined exports state load" 1
status=0
"$tacho" plugin check no_such_plugin >/dev/null 2>&1 || status=$?
[ "$status" = 69 ] || fail "a plugin that is not there: exit status $status, not 69"

check_ours() { # name options...
    local name=$1
    shift
    "$tacho" plugin list 2>/dev/null | grep -qw "$name" || return 0
    "$tacho" plugin check "$name" "$@" >"$work/out" || {
        fail "$name"
        grep FAIL "$work/out"
    }
    grep -q '^PASS  leaks' "$work/out" || fail "$name: leaks were not looked for: $(grep leaks "$work/out")"
}

check_ours template
check_ours proc
check_ours sim
check_ours msgpack -o path="$work/log1" -O path="$work/log2"
"$tacho" plugin check "$TACHO_BUILDDIR/plugins/template/sink/.libs/template.so" >"$work/out" || fail "template, sink"
"$tacho" plugin check "$TACHO_BUILDDIR/plugins/template/service/.libs/template.so" >"$work/out" || fail "template, service"

[ "$failures" = 0 ]
