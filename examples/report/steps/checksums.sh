#!/bin/sh
# Prints how many, how large, and which files have the same size and checksum; empty files aside.
set -eu
out=$PWD/out
cd "$(cat "$out/source.txt")"
tr '\n' '\0' < "$out/files.txt" | xargs -0 cksum -- |
    LC_ALL=C awk '
        $2 > 0 {
            key = $1 " " $2
            size[key] = $2
            path = substr($0, length(key) + 2)
            copies[key]++
            paths[key] = paths[key] (paths[key] == "" ? "" : ", ") path
        }
        END { for (key in copies) if (copies[key] > 1) print copies[key] "\t" size[key] "\t" paths[key] }'
