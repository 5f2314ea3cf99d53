#!/usr/bin/env bash
# tacho check, config and plugin from the outside: exit codes, JSON, the samples that we ship, and what
# is said of a plugin that cannot be loaded.
set -u
tacho=$TACHO_BUILDDIR/tacho
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
modules=$TACHO_BUILDDIR/tests/modules/.libs
failed=0

# want STATUS PATTERN COMMAND…: the exit status, and what must be in the output (a basic expression).
want() {
    local status=$1 pattern=$2 got
    shift 2
    "$@" >out 2>&1
    got=$?
    if [ "$got" != "$status" ] || ! grep -q -- "$pattern" out; then
        echo "FAILED: $* (exit status $got, wanted $status and '$pattern')"
        cat out
        failed=$((failed + 1))
    fi
}

# json FILTER COMMAND…: valid JSON for which the jq filter holds.
json() {
    local filter=$1
    shift
    if ! "$@" 2>err | jq -e "$filter" >out; then
        echo "FAILED: $* does not satisfy $filter"
        cat err out
        failed=$((failed + 1))
    fi
}

echo 'providers = ( { plugin = "tick"; } );' >good.conf
echo 'providers = ( { plugin = "tick"; intervall = 5; } ); fleet = 3;' >bad.conf

want 0 '^good.conf: OK: 1 provider, 0 sinks, 0 services$' "$tacho" check good.conf
want 0 'OK' "$tacho" check -c good.conf --offline
want 0 'OK' env TACHO_CONFIG=good.conf "$tacho" check
want 78 'did you mean "interval"' "$tacho" check bad.conf
want 78 'cannot read this file' "$tacho" check nothing.conf
want 2 'cannot understand' "$tacho" check good.conf --nonsense
json '.ok and .problems == [] and (.hash | length == 16)' "$tacho" check --json good.conf
json '(.ok | not) and (.problems | length == 2) and .problems[0].line == 1' "$tacho" check --json bad.conf

want 0 'providers\[0\].interval = "1s";.*# default' "$tacho" config show -c good.conf
want 0 '^[0-9a-f]\{16\}$' "$tacho" config hash -c good.conf
want 78 'bad.conf:1: fleet' "$tacho" config show -c bad.conf
want 2 'say .show. or .hash.' "$tacho" config
json '.values[] | select(.path == "providers[0].plugin") | .value == "\"tick\"" and .origin == "good.conf:1"' \
    "$tacho" config show --json -c good.conf

want 0 '^options .*provider, sink, service' "$tacho" plugin list
json 'map(.name) | contains(["clerk", "drain", "options", "tick"])' "$tacho" plugin list --json
want 0 'from 10ms to 1h' "$tacho" plugin show options
# shellcheck disable=SC2016 # no expansion is meant
want 0 '^| `count` | integer | `4` | from 1 to 64 | How many. |$' "$tacho" plugin show options --markdown
want 0 'options 1: Every type' "$tacho" plugin show "$modules/options.so"
json '.options[0].name == "flag" and .roles == ["provider", "sink", "service"]' "$tacho" plugin show options --json
want 69 'there is no plugin "nothing"' "$tacho" plugin show nothing
want 2 'usage' "$tacho" plugin show
want 2 'there is no command' "$tacho" plugin nonsense
want 0 '^gpu.power  *watts  *gauge' "$tacho" plugin metrics
json 'map(select(.name == "gpu.power")) | length == 1 and .[0].unit == "watts"' "$tacho" plugin metrics --json
for words in check config plugin 'plugin list' 'plugin show' 'plugin metrics'; do
    # shellcheck disable=SC2086 # two words each
    want 0 '^usage: tacho' "$tacho" $words --help
done

# A plugin that cannot be loaded is listed with the reason, and hides no other.
mkdir -m 0700 own && echo text >own/tick.so && chmod 0600 own/tick.so
want 0 '^tick  *cannot be loaded: .*own/tick.so' env TACHO_PLUGIN_PATH=own "$tacho" plugin list
want 69 'the system cannot load it' env TACHO_PLUGIN_PATH=own "$tacho" plugin show tick

# Everything that we ship can be read.
for file in "$TACHO_SRCDIR"/conf/*.conf "$TACHO_SRCDIR"/conf/examples/*.conf; do
    mapfile -t plugins < <(sed -n 's/.*plugin = "\([a-z_]*\)".*/\1/p' "$file")
    for plugin in "${plugins[@]}"; do
        "$tacho" plugin show "$plugin" >/dev/null 2>&1 || continue 2 # not built here
    done
    want 0 ': OK: ' env TACHO_FLEET=lab "$tacho" check "$file"
done
echo "$failed failed"
[ "$failed" = 0 ]
