#!/bin/sh
# A team of models, two writers and a reviewer, that takes a small git repository from a failing test to a passing one.
# What the models say is played from recordings (project/.crew/recordings), so that neither a key nor a network is needed;
# all else is real: the tools that they call, the posts, the credit, the audit.
#
#   examples/thinking/run.sh          in a directory that is gone afterwards
#   examples/thinking/run.sh DIR      in DIR, which stays: DIR/project is the repository, DIR/home what crew keeps
#
# CREW  the crew command (default: crew)
# KEEP  set to 1, leaves the directory where it is, and says where
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2317  # called at the end
end_run() {
    [ -d "$scratch/project/.tasks" ] || return 0
    "$CREW" -C "$scratch/project" stop 2> /dev/null || true
    "$CREW" -C "$scratch/project" shutdown --all --grace 0s 2> /dev/null || true
}
example=thinking
at_exit=end_run
keep_in=${1-}
. "$here/../repository.sh"

echo 'Before:'
sh test.sh || echo "(exit code $?)"
echo
"$CREW" start --yes 2> /dev/null
while :; do
    state=$("$CREW" status --json | sed -n 's/.*"state":"\([a-z_]*\)".*/\1/p')
    [ "$state" = running ] || break
    sleep 0.1
done
"$CREW" thread
echo
echo 'After:'
sh test.sh
git --no-pager diff --stat
"$CREW" quota --by teammate
if [ "$state" != completed ]; then
    "$CREW" status
    exit 1
fi
