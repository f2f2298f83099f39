#!/usr/bin/env bash
# One coding CLI as a teammate, in the namespaces that `run.sh` makes: NAME PROGRAM SCRATCH CREW.
set -euo pipefail
name=$1 program=$2 scratch=$3 CREW=$4
ip link set lo up
mount --bind "$scratch" "$scratch"
cd "$scratch"
export TMPDIR=$scratch/tmp HOME=$scratch/$name PATH=$scratch/$name/bin:$PATH
mkdir -p "$HOME/bin"
ln -sf "$program" "$HOME/bin/$name"
source "$(dirname "${BASH_SOURCE[0]}")/../models/common.sh"

asked=$ground/asked out=$ground/out
serve "$ground/server" node "$root/tests/clis/server.mjs" "$asked"

# What a person has set up: an environment, settings of the program's own, lines of the teammate's file. Their models are
# served at $url.
runner=$name front="baseUrl: $url" prefix='' reset=false limit='is at its usage limit' no_tools='ended without a post'
case $name in
    claude)
        # As with a subscription: with a key it does not say until when a limit is.
        export CLAUDE_CODE_OAUTH_TOKEN=$key CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
        export ANTHROPIC_BASE_URL=$url
        runner=claude-code front='' reset=true no_tools="could not start the team's tools"
        ;;
    codex)
        front="account: peer" no_tools="could not start the team's tools"
        ;;
    gemini)
        export GEMINI_API_KEY=$key
        export GOOGLE_GEMINI_BASE_URL=$url
        front=''
        ;;
    opencode)
        export KEY_OF_FAKE=$key OPENCODE_DISABLE_MODELS_FETCH=1
        mkdir -p "$HOME/.config/opencode"
        node "$root/tests/clis/opencode.mjs" "$url/v1" >"$HOME/.config/opencode/opencode.json"
        front='' prefix=fake/ limit='is asked too much'
        ;;
esac

# member SCENE MODEL FRONT: alice in $ground/SCENE, by the model of that name.
member() {
    dir=$ground/$1
    alice "$dir" "$runner" "model: $prefix$2
$front
$3"
    account openai "$url/v1" >"$dir/project/.crew/config.toml"
}

# instead LINE: in this scene the CLI's program is a script of this line, in which `cli` is the program.
instead() {
    printf '#!/usr/bin/env bash\ncli=%q crew=%q\n%s\n' "$program" "$CREW" "$1" >"$dir/program"
    chmod +x "$dir/program"
    printf '[clis.%s]\nprogram = "%s"\n' "$runner" "$dir/program" >>"$dir/project/.crew/config.toml"
}

task() { printf 'Write %s.txt.' "$1"; }
has() { printf "test \"\$(cat %s.txt)\" = 'content of %s.txt'" "$1" "$1"; }

if [[ $name = codex ]]; then
    # Its own sandbox can be made only where there is no other.
    member sandboxed works ''
    works_on "$dir" "$(task one)" --check "$(has one)"
    check "in its own sandbox a task is claimed and done" "$dir/task.json" '"completed"'
    front+=$'\npermissionMode: danger-full-access'
fi
# Nothing but the scratch directory can be written to from here on.
mount -o remount,bind,ro /

# --- two tasks, one after the other, in one conversation
member works works ''
works_on "$dir" "$(task one)" --check "$(has one)"
check "a task is claimed and done" "$dir/task.json" '"completed"'
check "it read the thread, wrote the file with its own tool, and posted" "$asked" '"calls":["read_thread"]' '"calls":["read_thread",' ',"post"]'
check "what it took is on record" "$dir/quota.json" '"calls":' '"inputTokens":'
(cd "$dir/project" && CREWBOARD_HOME=$dir/home "$CREW" doctor) >"$out" 2>&1 || true
check "doctor says where it is, and its version" "$out" "cli: $runner: $HOME/bin/$name is $("$program" --version 2>/dev/null | head -n 1)"
works_on "$dir" "$(task two)" --check "$(has two)"
check "the next one too" "$dir/log" 'task 2: done'
check "the conversation went on in the next process" "$asked" '"before":["read_thread",'
find "$dir/home" -name sessions.json -exec cat {} + >"$out"
check "it is in sessions.json" "$out" '"alice":' "\"$runner\":" '"id":'
{ grep -rlF "$key" "$dir" || echo "the key is in no file"; } >"$out"
check "the key" "$out" "the key is in no file"

# --- a conversation that it makes shorter. Of the others none says so among its events
if [[ $name = claude ]]; then
    work='"before":["read_thread","Write","post"],"calls":[]'
    check "who goes on is not told again who it is" "$asked" "\"model\":\"works\",$work,\"told\":false"
    member fills fills ''
    works_on "$dir" "$(task one)" --check "$(has one)"
    check "its conversation is made shorter within a turn" "$dir/task.json" '"completed"'
    works_on "$dir" "$(task two)" --check "$(has two)"
    check "and with the next it is told again who it is" "$asked" "\"model\":\"fills\",$work,\"told\":true"
fi

# --- a run: credited work, and in the same conversation the goal
member ends ends ''
printf -- '---\nchecks:\n  - test -s one.txt\n---\nWrite one.txt.\n' >"$dir/project/.crew/goal.md"
run_of "$dir"
check "a run reaches its goal" "$dir/status" '"state":"completed"'
check "its work is credited, and its done accepted" "$dir/thread" '1 alice work_done' '2 alice done' 'accepted'

# goes_wrong SCENE MODEL FRONT: a run in which nothing can be done; it is stopped when it is at rest.
goes_wrong() {
    member "$1" "$2" "$3"
    printf 'Write one.txt.\n' >"$dir/project/.crew/goal.md"
    run_of "$dir" '"state":"rate_limited"'
}
goes_wrong limited limited ''
check "at a usage limit the run is rate_limited" "$dir/status" '"state":"rate_limited"' "$limit"
if $reset; then
    until=$(grep -o '"until":[0-9]*' "$asked" | head -n 1)
    check "until the reset that the vendor says" "$dir/status" "\"until\":\"$(date -u -d "@${until#*:}" +%FT%TZ)"
fi
goes_wrong refused refused ''
check "a wrong key pauses the run, and is named" "$dir/status" '"state":"paused"' 'its key is not accepted' 'the key is wrong'

# --- errors with which the program itself is content
member broken works ''
instead 'export OPENCODE_CONFIG_CONTENT=${OPENCODE_CONFIG_CONTENT//"$crew"/"$crew-is-not-there"}
[[ -z ${GEMINI_CLI_HOME-} ]] || sed -i "s|$crew|&-is-not-there|" "$GEMINI_CLI_HOME/.gemini/settings.json"
exec "$cli" "${@//"$crew"/"$crew-is-not-there"}"'
works_on "$dir" "$(task one)" --retries 0
check "without the team's tools its turn has failed" "$dir/log" "$no_tools"
check "and nothing is called done" "$dir/task.json" '"failed"'

case $name in
    claude) member denied denied 'permissionMode: default' ;;
    codex)
        # Where it may do everything, it may use all tools.
        front='account: peer' member denied works ''
        instead 'exec "$cli" "${@//\"approve\"/\"prompt\"}"'
        ;;
    opencode)
        member denied denied ''
        instead 'export OPENCODE_CONFIG_CONTENT=${OPENCODE_CONFIG_CONTENT//\"edit\":\"allow\"/\"edit\":\"ask\"}
exec "$cli" "$@"'
        ;;
    # Its model is not told of tools that it may not use.
    gemini) ;;
esac
if [[ $name != gemini ]]; then
    works_on "$dir" "$(task one)" --retries 0
    check "what it was not allowed to do is named, and its turn has failed" "$dir/log" 'was not allowed to use'
fi

# --- limits are only what the vendor says of them
member quotes quotes ''
printf "You’ve hit your usage limit. You've hit your 5-hour limit. rate_limit_event: rejected\n" >"$dir/project/limits.txt"
works_on "$dir" "$(task one)" --check 'grep -q limit one.txt'
check "who quotes a limit is not limited" "$dir/task.json" '"completed"'

# --- death in mid-turn

# process_of COMMAND: the process whose command line begins so.
process_of() {
    local process
    for process in /proc/[0-9]*; do
        if [[ $(cat "$process/cmdline" 2>/dev/null | tr '\0' ' ') = "$1"* ]]; then printf '%s\n' "${process#/proc/}"; fi
    done
}
# hung FILE: waits until a model has been asked for it and says nothing more.
hung() {
    until grep -qF "\"hangs\":\"$1.txt\"" "$asked" || ! kill -0 $!; do sleep 0.1; done
}
member killed hangs ''
instead 'echo $$ >"${0%/program}/pid"
exec "$cli" "$@"'
works_on "$dir" "$(task three)" --check "$(has three)" --retries 1 &
hung three
kill -9 "$(cat "$dir/pid")"
wait $!
check "it is killed: the turn has failed" "$dir/log" 'signal 9'
check "and the task comes back and is finished" "$dir/task.json" '"completed"'

works_on "$dir" "$(task four)" --check "$(has four)" 2>/dev/null &
hung four
kill -9 "$(process_of "$CREW spawn alice")"
wait $!
check "its teammate is killed: the task is there" "$dir/task.json" '"in_progress"'
works "$dir"
check "and the next process finishes it" "$dir/log" 'task 2: done'

# --- what is left
kill "${started[0]}"
wait "${started[0]}" 2>/dev/null || true
: >"$out"
for process in /proc/[0-9]*; do
    [[ $process = "/proc/$$" ]] || cat "$process/cmdline" 2>/dev/null >>"$out" || true
done
[[ -s $out ]] || echo "nothing runs" >"$out"
check "what it leaves running" "$out" "nothing runs"
close
