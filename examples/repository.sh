# A project for an example: a copy of $here/project in $scratch/project, as a git repository with a board. It is the current
# directory afterwards. Sourced by the examples' run.sh in place of scratch.sh, which it sources; the caller sets `here` to
# its own directory, and what scratch.sh wants.

if [ -n "${keep_in-}" ] && [ -e "$keep_in/project" ]; then
    echo "$keep_in/project is there already" >&2
    exit 2
fi
. "$here/../scratch.sh"

# git does the same whoever runs this.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

cp -R "$here/project" "$scratch/project"
cd "$scratch/project"
git init --quiet
git config user.name 'the team'
git config user.email team@example.org
git add .
git commit --quiet --message 'Begin'
"$CREW" init 2> /dev/null
