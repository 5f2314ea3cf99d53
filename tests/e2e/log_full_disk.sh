#!/usr/bin/env bash
# A log on a file system that is too small: the oldest segments go, the gap is announced, nothing in
# what is left is wrong; and with another's file that fills it up, writing goes on by itself as soon as
# that file is gone. Needs a tmpfs of its own, in a mount namespace.
set -euo pipefail

writer=$TACHO_BUILDDIR/tests/storewriter
tacho=$TACHO_BUILDDIR/tacho

if [ "${1:-}" != inside ]; then
    base=$(mktemp -d)
    trap 'rm -rf "$base"' EXIT
    if ! unshare --mount --map-root-user true 2>/dev/null && ! unshare --mount true 2>/dev/null; then
        echo "no mount namespace is permitted here"
        exit 77
    fi
    enter=(unshare --mount --map-root-user)
    "${enter[@]}" true 2>/dev/null || enter=(unshare --mount)
    status=0
    "${enter[@]}" "$0" inside "$base" || status=$?
    exit "$status"
fi

base=$2
mount -t tmpfs -o size=2m,mode=0700 tacho-test "$base" 2>/dev/null || exit 77

fail() {
    echo "FAIL: $1"
    exit 1
}

# Twice: with segments, and with one that would never be closed by its size.
for segment in 100000 100000000; do
    rm -rf "$base/log"
    said=$("$writer" write "$base/log" 1 20000 segment=$segment every=10 cpus=4) || fail "the writer ended with $?"
    grep -q '^ack 20000$' <<<"$said" || fail "the last batch was not written"
    numbers=$("$writer" read "$base/log")
    ! grep -q bad <<<"$numbers" || fail "a wrong batch was read"
    [ "$(tail -1 <<<"$numbers")" = 20000 ] || fail "the newest batch is not in the log"
    first=$(head -1 <<<"$numbers")
    [ "$first" -gt 1 ] || fail "nothing was dropped from a log that cannot hold everything"
    "$tacho" log verify "$base/log" || fail "the log is not whole"
    "$tacho" log stat --json "$base/log" |
        jq -e '[.gaps[] | select(.reason == "disk_full")] | length > 0' >/dev/null || fail "no gap was announced"
    last_gap=$("$tacho" log stat --json "$base/log" | jq '[.gaps[].last_seq] | max')
    [ "$last_gap" = $((first - 1)) ] || fail "the gap ends at $last_gap, the log begins at $first"
    echo "segment $segment: kept $first to 20000, gap up to $last_gap"
done

# Another program fills the disk while we write, and lets go of it later.
rm -rf "$base/log"
mkfifo "$base/said"
"$writer" write "$base/log" 1 3000 segment=100000 every=1 pause_us=1500 cpus=1 >"$base/said" &
pid=$!
exec 3<"$base/said"
while read -r word number <&3; do
    [ "$word $number" != "ack 50" ] || break
done
dd if=/dev/zero of="$base/filler" bs=64k count=100 2>/dev/null || true
degraded=0
while read -r word number <&3; do
    if [ "$word $number" = "degraded 1" ]; then
        degraded=1
        rm -f "$base/filler"
    fi
    if [ "$word" = ack ]; then
        last=$number
    fi
done
rm -f "$base/filler"
wait "$pid" || fail "the writer ended with $?"
[ "$degraded" = 1 ] || fail "the full disk was not noticed"
[ "$last" = 3000 ] || fail "writing did not go on after the disk had room again; last $last"
"$tacho" log verify "$base/log" || fail "the log is not whole after the disk was full"
numbers=$("$writer" read "$base/log")
! grep -q bad <<<"$numbers" || fail "a wrong batch was read"
echo "recovered; $(wc -l <<<"$numbers") of 3000 batches kept"
