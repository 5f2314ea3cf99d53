#!/usr/bin/env bash
# `make install` gives everything that a user needs, and what it gives works from there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0

bad() {
    echo "$*"
    status=1
}

# A make inside a make must not wait for the outer one's job slots.
env -u MAKEFLAGS -u MAKELEVEL make -s -C "$TACHO_BUILDDIR" install prefix=/usr sysconfdir=/etc \
    DESTDIR="$folder/root" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
cd "$folder/root"

expected=(
    etc/tacho/tacho.conf
    usr/bin/tacho
    usr/include/tacho/plugin.h
    usr/lib/pkgconfig/tacho-plugin.pc
    usr/share/bash-completion/completions/tacho.bash
    usr/share/man/man1/tacho.1
    usr/share/man/man5/tacho.conf.5
)
for module in "$TACHO_BUILDDIR"/plugins/*/*.la "$TACHO_BUILDDIR"/sinks/*/*.la; do
    if grep -qs "^libdir='.*/tachograph'" "$module"; then
        expected+=("usr/lib/tachograph/$(basename "$module" .la).so")
    fi
done
for name in "${expected[@]}"; do
    [ -s "$name" ] || bad "not installed: $name"
done
find . -name tacho.service | grep -q . || bad "not installed: tacho.service"
usr/bin/tacho version | grep -q '^tacho [0-9]' || bad "the installed tacho does not run"
exit "$status"
