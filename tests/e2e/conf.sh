#!/usr/bin/env bash
# The corpus of configurations: for each tests/conf/broken/NAME.conf exactly the output of
# `tacho check` in NAME.expected and exit status 78; for each tests/conf/good/NAME.conf exactly the
# output of `tacho config show`. A line "# env: NAME=VALUE" in a file sets a variable for it.
#   TACHO_UPDATE=1 tests/e2e/conf.sh   writes the expected files anew, to be read before committing
set -u
tacho=$TACHO_BUILDDIR/tacho
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$TACHO_SRCDIR/tests/conf/." "$work"
chmod -R u+w "$work"


# What git cannot keep: modes, and a file that is no plugin.
secrets() {
    echo hunter2 >"$1/secret-good" && chmod 0600 "$1/secret-good"
    echo hunter2 >"$1/secret-world" && chmod 0644 "$1/secret-world"
    echo hunter2 >"$1/secret-group" && chmod 0620 "$1/secret-group"
    echo text >"$1/text.so" && chmod 0600 "$1/text.so"
    cp "$TACHO_BUILDDIR/tests/modules/.libs/tick.so" "$1/loose.so" && chmod 0666 "$1/loose.so"
}
secrets "$work/broken"
secrets "$work/good"

# run FOLDER NAME COMMAND…: with the variables that the file asks for and no others.
run() {
    local folder=$1 file=$2.conf variables
    shift 2
    mapfile -t variables < <(sed -n 's/^# env: //p' "$work/$folder/$file")
    (cd "$work/$folder" && env -i PATH="$PATH" LSAN_OPTIONS="${LSAN_OPTIONS-}" \
        TACHO_CONTROL=/run/c.sock "${variables[@]}" "$tacho" "$@" "$file" 2>&1) | sed "s|$work/[a-z]*/|/DIR/|g"
    return "${PIPESTATUS[0]}"
}

count=0 failed=0
# compare FOLDER NAME STATUS WANTED-STATUS
compare() {
    local expected=$1/$2.expected
    count=$((count + 1))
    if [ -n "${TACHO_UPDATE-}" ]; then
        cp "$work/out" "$TACHO_SRCDIR/tests/conf/$expected"
    fi
    if [ "$3" != "$4" ]; then
        echo "$1/$2.conf: exit status $3, not $4"
        failed=$((failed + 1))
    fi
    if ! diff -u "$TACHO_SRCDIR/tests/conf/$expected" "$work/out"; then
        failed=$((failed + 1))
    fi
    if grep -q hunter2 "$work/out"; then
        echo "$1/$2.conf: a secret is printed"
        failed=$((failed + 1))
    fi
}

for path in "$work"/broken/*.conf; do
    name=$(basename "$path" .conf)
    run broken "$name" check >"$work/out"
    compare broken "$name" $? 78
done
for path in "$work"/good/*.conf; do
    name=$(basename "$path" .conf)
    run good "$name" config show -c >"$work/out"
    compare good "$name" $? 0
done
[ "$count" -ge 80 ] || { echo "only $count files: is the corpus there?"; failed=$((failed + 1)); }
echo "$count files, $failed failed"
[ "$failed" = 0 ]
