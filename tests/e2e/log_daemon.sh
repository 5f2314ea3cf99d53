#!/usr/bin/env bash
# The whole way: providers into a log, the daemon killed and started again, stopped with its log sealed,
# then the log played into a second one that holds the same batches.
set -euo pipefail

tacho=$TACHO_BUILDDIR/tacho
base=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    rm -rf "$base"
}
trap finish EXIT

fail() {
    echo "FAIL: $1"
    cat "$base"/*.err 2>/dev/null || true
    exit 1
}

# A unix socket's path is short, so it is not below the build folder.
cat >"$base/record.conf" <<EOF
fleet = "lab"; host = "node"; control = "$base/c.sock";
providers = ( { plugin = "proc"; interval = "50ms"; }, { plugin = "sim"; interval = "50ms"; gpus = 2; } );
sinks = ( { plugin = "msgpack"; path = "$base/log"; sync = "1s"; segment_size = "100KiB"; } );
EOF
cat >"$base/replay.conf" <<EOF
fleet = "lab"; host = "other"; control = "$base/c.sock";
providers = ( { plugin = "replay"; path = "$base/log"; interval = "50ms"; speed = 0.0; } );
sinks = ( { plugin = "msgpack"; path = "$base/copy"; filter = ( "proc", "sim" ); overflow = "block"; } );
EOF

start() {
    "$tacho" run -q -c "$base/$1.conf" 2>"$base/$1.err" &
    pid=$!
}

# Until the log at $1 has $2 batches of the source $3.
await() {
    local have=0
    for _ in $(seq 200); do
        have=$("$tacho" log stat --json "$base/$1" 2>/dev/null |
            jq --arg source "$3" '[.sources[] | select(.source == $source).batches] | add // 0') || have=0
        [ "${have:-0}" -lt "$2" ] || return 0
        kill -0 "$pid" 2>/dev/null || fail "the daemon ended"
        sleep 0.1
    done
    fail "$1 has only $have batches of $3"
}

stop() {
    local begin=$SECONDS
    kill -INT "$pid"
    wait "$pid" || fail "the daemon ended with $?"
    pid=
    [ $((SECONDS - begin)) -le 3 ] || fail "stopping took $((SECONDS - begin)) s"
}

start record
await log 20 proc
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
"$tacho" log verify "$base/log" || fail "the log is not whole after a kill"
before=$("$tacho" log stat --json "$base/log" | jq .batches)

start record
await log 60 proc
stop
"$tacho" log verify "$base/log" || fail "the log is not whole"
"$tacho" log ls --json "$base/log" | jq -e 'length > 1 and all(.sealed)' >/dev/null || fail "not every segment is sealed"
stat=$("$tacho" log stat --json "$base/log")
jq -e --argjson before "$before" '.batches > $before' <<<"$stat" >/dev/null || fail "nothing was added"
jq -e 'all(.sources[]; .missing == 0)' <<<"$stat" >/dev/null || fail "a source has a hole: $stat"
jq -e '[.sources[] | select(.source == "proc").session] | unique | length == 2' <<<"$stat" >/dev/null ||
    fail "two runs do not have two sessions: $stat"

# proc and sim, as they were; only the mark tells them from the first time.
wanted() {
    "$tacho" log cat --source '[ps][ri][om]*' "$base/$1" | sed 's/,"replayed":true//' | sort
}
wanted log >"$base/first"
start replay
for source in proc sim; do
    await copy "$(grep -c "\"source\":\"$source\"" "$base/first")" "$source"
done
stop
wanted copy >"$base/second"
cmp "$base/first" "$base/second" || fail "what was played is not what was recorded"
[ "$("$tacho" log cat "$base/copy" | grep -c '"replayed":true')" = "$(wc -l <"$base/second")" ] || fail "a mark is missing"
echo "$(wc -l <"$base/first") batches recorded over a kill, sealed, and played again"
