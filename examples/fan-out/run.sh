#!/bin/sh
# One task for every file named on stdin, several at a time, and one that waits for all of them.
#
#   examples/fan-out/run.sh                                  over files that it makes itself
#   find docs -name '*.md' | examples/fan-out/run.sh -       over those that you name, one a line
#
# CREW  the crew command (default: crew)
# KEEP  set to 1, leaves the board and its results where they are, and says where
set -eu

case ${1-} in
    '' | -) ;;
    *) echo "usage: $0 [-]   (with -: file names on stdin, one a line)" >&2; exit 2 ;;
esac

example=fan-out
. "$(dirname "$0")/../scratch.sh"
here=$PWD
mkdir "$scratch/project"
cd "$scratch/project"
mkdir files out

if [ "${1-}" = - ]; then
    while IFS= read -r file; do
        case $file in
            /*) printf '%s\n' "$file" ;;
            ?*) printf '%s\n' "$here/$file" ;;
        esac
    done > list
else
    # A space and a quote: {} comes quoted for the shell.
    for name in one two three four five six seven "a b" "it's"; do
        awk -v name="$name" 'BEGIN { for (i = 1; i <= 200; i++) print "line", i, "of", name }' > "files/$name.txt"
    done
    printf '%s\n' "$PWD"/files/*.txt > list
fi
if ! [ -s list ]; then
    echo "no file was named on stdin: nothing to do" >&2
    exit 0
fi

"$CREW" init

# The fan: a task for each line. {} is the line, {/} its last part.
"$CREW" add \
    --run 'wc -w < {} > out/{/}.words && gzip -9 -c {} > out/{/}.gz' \
    --subject 'count and pack {/}' < list > ids

# The join: a whole document, blocked by every task that was just added.
ids=$(awk '{ printf "%s\"%s\"", (NR > 1 ? ", " : ""), $0 }' ids)
cat > join.jsonl << END
{"subject": "add up", "blockedBy": [$ids], "run": "cat out/*.words | awk '{ n += \$1 } END { print n }' > out/total", "check": "test -s out/total"}
END
"$CREW" add --jsonl join.jsonl

"$CREW" work --jobs 4
"$CREW" ls

echo
printf 'words:  %s\n' "$(cat out/total)"
printf 'before: %s bytes\n' "$(tr '\n' '\0' < list | xargs -0 cat | wc -c | tr -d ' ')"
printf 'packed: %s bytes\n' "$(cat out/*.gz | wc -c | tr -d ' ')"
