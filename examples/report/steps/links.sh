#!/bin/sh
# Prints file, line and target of every link in Markdown whose target does not exist.
set -eu
source=$(cat out/source.txt)
tab=$(printf '\t')
LC_ALL=C awk -f steps/links.awk out/text.txt > out/links.tsv
while IFS=$tab read -r path line target place; do
    if ! [ -e "$source/$place" ]; then
        printf '%s\t%s\t%s\n' "$path" "$line" "$target"
    fi
done < out/links.tsv
