#!/bin/sh
# Keeps the text files of out/files.txt: the empty ones, and those in which grep sees no binary data.
set -eu
out=$PWD/out
cd "$(cat "$out/source.txt")"
{
    while IFS= read -r path; do
        if ! [ -s "$path" ]; then
            printf '%s\n' "$path"
        fi
    done < "$out/files.txt"
    tr '\n' '\0' < "$out/files.txt" | LC_ALL=C xargs -0 grep -Il -e '' --
} | LC_ALL=C sort
