#!/bin/sh
# Prints the title of the report and the list of its sections, in the order in which the last step joins them.
set -eu
source=$(cat out/source.txt)
printf '# Report on %s\n\n' "${source##*/}"
cat out/5?-*.md out/[1-4]?-*.md | LC_ALL=C awk '
    /^## / {
        title = substr($0, 4)
        anchor = tolower(title)
        gsub(/[^a-z0-9 -]/, "", anchor)
        gsub(/ /, "-", anchor)
        print "- [" title "](#" anchor ")"
    }
    END { print "" }'
