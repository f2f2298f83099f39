#!/bin/sh
# Prints bytes, line ends and path of every file.
set -eu
out=$PWD/out
cd "$(cat "$out/source.txt")"
# `./` tells a file called "total" from the totals of wc.
sed 's|^|./|' "$out/files.txt" | tr '\n' '\0' | xargs -0 wc -lc |
    LC_ALL=C awk '{
        lines = $1; bytes = $2
        path = $0
        sub(/^ *[0-9]+ +[0-9]+ /, "", path)
        if (sub(/^\.\//, "", path)) print bytes "\t" lines "\t" path
    }'
