#!/bin/sh
# A batch in which much goes wrong, killed with SIGKILL half-way and started again.
# Ends with exit 0 when the board stands as it should afterwards, else says what does not and exits with 1.
#
# CREW  the crew command (default: crew)
# KEEP  set to 1, leaves the copy of the board where it is, and says where
set -eu

here=$(cd "$(dirname "$0")" && pwd)
worker=
# shellcheck disable=SC2317  # called at the end
end_worker() {
    if [ -n "$worker" ]; then
        kill -TERM "$worker" 2> /dev/null || :
        wait "$worker" || :
    fi
}
example=flaky
at_exit=end_worker
. "$here/../scratch.sh"

# Work on a copy: the tracked tasks stay as they are.
mkdir -p "$scratch/project/.tasks"
cp "$here"/.tasks/task_*.json "$scratch/project/.tasks/"
cd "$scratch/project"

echo "== first run, killed while 4-interrupted is at work"
"$CREW" work --jobs 2 --yes &
worker=$!
until [ -e out/half-way ]; do
    if ! kill -0 "$worker" 2> /dev/null; then
        echo "crew work ended before 4-interrupted began; are the tasks in $here/.tasks as they were checked out?" >&2
        exit 1
    fi
    sleep 0.1
done
kill -KILL "$worker"
wait "$worker" || :
worker=
"$CREW" ls

echo
echo "== second run: goes on where the first stopped"
work_exit=0
"$CREW" work --jobs 2 --yes || work_exit=$?
"$CREW" ls
echo
"$CREW" show 4-interrupted

echo
echo "== what should be so"
wrong=0
ok() { echo "ok     $1"; }
not_ok() { echo "WRONG  $1"; wrong=1; }

# A task of the second run fails for good.
if [ "$work_exit" = 1 ]; then ok "crew work says so: exit 1"; else not_ok "crew work ended with exit $work_exit, not 1"; fi

status_is() {
    if "$CREW" show "$1" --json | grep -q "\"status\": *\"$2\""; then
        ok "$1 is $2"
    else
        not_ok "$1 is not $2"
    fi
}
status_is 1-unsteady completed
status_is 2-stuck completed
status_is 3-unchecked completed
status_is 4-interrupted completed
status_is 5-hopeless failed
status_is 6-after-hopeless pending
status_is 7-summary completed

# Every attempt leaves a line: none too few, none too many.
LC_ALL=C sort out/attempts > out/attempts.sorted
cat > out/attempts.expected << 'END'
1-unsteady 1
1-unsteady 2
1-unsteady 3
2-stuck 1
2-stuck 2
3-unchecked 1
3-unchecked 2
4-interrupted 1
4-interrupted 2
5-hopeless 1
5-hopeless 2
7-summary 1
END
if diff out/attempts.expected out/attempts.sorted; then
    ok "each task was tried as often as it should"
else
    not_ok "the attempts differ (< expected, > seen)"
fi

# The sleep of the killed run must not outlive the second one. A zombie that nobody collects has ended, too.
left=$(cat out/half-way)
if kill -0 "$left" 2> /dev/null && ! ps -o stat= -p "$left" 2> /dev/null | grep -q Z; then
    not_ok "process $left of the killed run is still there"
else
    ok "nothing that the killed run had started is left"
fi

exit "$wrong"
