#!/bin/sh
# Lists every file of the source tree: the one step that knows where it is ($SOURCE, or this repository).
# Writes out/source.txt (its absolute path) and out/files.txt (paths below it, one a line, sorted).
# Left out: what is no source, boards (they change while the report is made), names with control
# characters (they would break the lists), and what cannot be read.
set -eu
mkdir -p out
source=$(cd "${SOURCE:-../..}" && pwd -P)
printf '%s\n' "$source" > out/source.txt

find "$source" \
    \( -name .git -o -name .tasks -o -name target -o -name node_modules -o -path "$(pwd -P)/out" \) -prune \
    -o -type f ! -path '*[[:cntrl:]]*' -print |
    while IFS= read -r path; do
        if [ -r "$path" ]; then
            printf '%s\n' "${path#"$source"/}"
        fi
    done | LC_ALL=C sort > out/files.txt
