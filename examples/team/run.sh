#!/bin/sh
# A team of two writers and a reviewer that works for a goal, over a small git repository of its own. This script is the
# person: it begins the run, answers what waits for a person, and shows what was said.
#
#   examples/team/run.sh          in a directory that is gone afterwards
#   examples/team/run.sh DIR      in DIR, which stays: DIR/project is the repository, DIR/home what crew keeps
#
# CREW  the crew command (default: crew)
# KEEP  set to 1, leaves the directory where it is, and says where
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2317  # called at the end
end_run() {
    [ -d "$scratch/project/.tasks" ] || return 0
    for verb in stop 'shutdown --all'; do
        # shellcheck disable=SC2086  # two words
        "$CREW" -C "$scratch/project" $verb 2> "$scratch/ending" || cat "$scratch/ending" >&2
    done
    rm -f "$scratch/ending"
}
example=team
at_exit=end_run
keep_in=${1-}
. "$here/../repository.sh"

# The teammates call `crew`.
mkdir -p "$scratch/bin"
ln -sf "$(command -v "$CREW")" "$scratch/bin/crew"
PATH=$scratch/bin:$PATH
export PATH

# How the run stands, once it has stopped.
stopped_as() {
    while :; do
        state=$(crew status --json | sed -n 's/.*"state":"\([a-z_]*\)".*/\1/p')
        case $state in
            running | waiting) sleep 0.1 ;;
            *) break ;;
        esac
    done
    echo "$state"
}
# Goes on only in that state.
expect() {
    if [ "$1" != "$2" ]; then
        echo "the run is $1, not $2:" >&2
        crew status >&2
        crew thread >&2
        exit 1
    fi
}

echo "== the run, until it waits for a person"
crew start --yes
expect "$(stopped_as)" gated
crew needs

echo
echo "== the person answers, and the run goes on"
crew answer 'Litres to gallons.'
crew approve --because 'the tests pass'
expect "$(stopped_as)" completed
crew status

echo
echo "== what was said"
crew thread
crew needs

echo
echo "== what was done"
git log --reverse --format='%an: %s' HEAD
git tag --list
