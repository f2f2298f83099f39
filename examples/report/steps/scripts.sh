#!/bin/sh
# Prints interpreter, "yes" or "no" for the executable bit, and path of every file that begins with #!.
set -eu
out=$PWD/out
cd "$(cat "$out/source.txt")"
while IFS= read -r path; do
    first=
    # A last line without a line end makes read fail, yet fills the variable.
    IFS= read -r first < "$path" || :
    case $first in
        '#![') ;;
        '#!/'* | '#! /'*)
            executable=no
            if [ -x "$path" ]; then executable=yes; fi
            printf '%s\t%s\t%s\n' "${first#\#!}" "$executable" "$path"
            ;;
    esac
done < "$out/text.txt"
