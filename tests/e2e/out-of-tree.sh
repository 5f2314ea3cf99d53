#!/usr/bin/env bash
# A plugin from outside: `tacho plugin new` in an empty folder, built from nothing but the installed
# header and pkg-config file, checked and run by the installed tacho.
set -euo pipefail
: "${TACHO_BUILDDIR:?}"
for tool in make pkg-config "${CC:-cc}" jq; do
    command -v "$tool" >/dev/null || exit 77
done
work=$(mktemp -d)
daemon=
finish() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT

bad() {
    echo "FAIL: $*"
    exit 1
}

# A make inside a make must not wait for the outer one's job slots.
unset MAKEFLAGS MAKELEVEL MFLAGS
make -s -C "$TACHO_BUILDDIR" install prefix="$work/usr" sysconfdir="$work/etc" \
    systemdsystemunitdir="$work/units" >"$work/log" 2>&1 || {
    tail -20 "$work/log"
    bad "make install"
}

# configure wrote its own prefix into the file; say where it lies now.
export PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
sed -i "s|^prefix=.*|prefix=$work/usr|" "$PKG_CONFIG_PATH/tacho-plugin.pc"
export PATH=$work/usr/bin:$PATH
[ "$(command -v tacho)" = "$work/usr/bin/tacho" ] || bad "another tacho is in the way"
header=$(pkg-config --variable=includedir tacho-plugin)/tacho/plugin.h
[ -s "$header" ] || bad "pkg-config leads to $header, which is not there"

# The header alone, in the languages that plugins are written in.
echo '#include <tacho/plugin.h>' >"$work/header.c"
cp "$work/header.c" "$work/header.cc"
read -ra flags < <(pkg-config --cflags tacho-plugin)
for std in c99 c11 c17; do
    "${CC:-cc}" -std=$std -pedantic -Wall -Wextra -Werror "${flags[@]}" -fsyntax-only "$work/header.c" ||
        bad "the header is not $std"
done
if command -v "${CXX:-c++}" >/dev/null; then
    for std in c++11 c++17; do
        "${CXX:-c++}" -std=$std -pedantic -Wall -Wextra -Werror "${flags[@]}" -fsyntax-only "$work/header.cc" ||
            bad "the header is not $std"
    done
fi

# Every role: written, built without a warning, checked.
mkdir "$work/own"
cd "$work/own"
for role in provider sink service; do
    tacho plugin new --role "$role" "my_$role" >/dev/null || bad "plugin new, $role"
    make -s -C "my_$role" CFLAGS='-O2 -Wall -Wextra -Werror' || bad "make, $role"
    make -s -C "my_$role" check >"$work/check" || {
        grep FAIL "$work/check"
        bad "plugin check, $role"
    }
    if grep -rq 'core/plugin.h\|template' "my_$role" --include='*.[cm]*' --include=Makefile; then
        bad "$role: words of the tree are left in it"
    fi
done

# All three in one daemon.
echo 17.5 >"$work/number"
cat >"$work/tacho.conf" <<EOF
host = "node"; control = "$work/control"; state_dir = "$work/state";
providers = ( { plugin = "my_provider"; interval = "50ms"; path = "$work/number"; scale = 2.0; } );
sinks = ( { plugin = "my_sink"; path = "$work/lines"; } );
services = ( { plugin = "my_service"; } );
EOF
export TACHO_PLUGIN_PATH=$work/own/my_provider:$work/own/my_sink:$work/own/my_service
export TACHO_CONTROL=$work/control
tacho check "$work/tacho.conf" || bad "the configuration"
tacho run -c "$work/tacho.conf" >"$work/out" 2>"$work/err" &
daemon=$!

wait_for() { # what command...
    local what=$1
    shift
    for _ in $(seq 200); do
        if "$@" 2>/dev/null; then
            return
        fi
        sleep 0.05
    done
    cat "$work/err"
    bad "waited for $what"
}

has_value() {
    tacho call tacho snapshot source=my_provider >"$work/snapshot" &&
        jq -e '[.. | objects | select(has("my_provider.value")) | .["my_provider.value"]] == [35]' \
            "$work/snapshot" >/dev/null
}
has_line() { grep -q '"my_provider.value":35' "$work/lines"; }
has_count() { tacho call my_service count | jq -e '.batches > 3' >/dev/null; }

wait_for "the value in the snapshot" has_value
wait_for "the value in the sink's file" has_line
wait_for "the answer of the service" has_count
kill "$daemon"
wait "$daemon" || bad "the daemon ended with $?: $(cat "$work/err")"
daemon=
