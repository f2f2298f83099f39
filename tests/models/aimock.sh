#!/usr/bin/env bash
# Checks what we make of the answers of aimock (an npm package), a server that speaks as three providers' APIs do: text,
# calls of tools, limits, overload, and answers that break off. Needs npm and the network for its installation.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if ! install_npm @copilotkit/aimock@1.43; then
    skip "aimock: the npm package @copilotkit/aimock cannot be installed here"
    close
    exit
fi
build
example=$root/examples/thinking/project
# It answers nobody without the key.
serve "$ground/aimock" node "$root/tests/models/aimock.mjs" "$peers/npm/node_modules/@copilotkit/aimock/dist/index.js" \
    "$example/.crew/recordings" "$key"
aimock=$url out=$ground/out

for api in anthropic openai-chat openai-responses; do
    base=$aimock/v1
    said() {
        local what=$1 words=$2
        shift 2
        ask "$out" "$api" "$base" "some-model" "$words"
        check "$api: $what" "$out" "$@"
    }
    said "text, as it comes" "say hello" '"text":"Hello from the other side of the wire, in pieces."' 'Text(\"Hello\")' '"stop":"done"' '"failed":0'
    said "a call of a tool, and its result" "add two numbers" 'ToolCall(\"add\")' '"input":{"a":2,"b":40}' '"stop":"toolUse"' '"text":"It is 42."'
    said "two calls in one answer" "add twice" '"input":{"a":1,"b":2}' '"input":{"a":3,"b":4}' '"text":"3 and 7."'
    # By Anthropic's API this server sends an empty object in their place.
    [[ $api = anthropic ]] || said "arguments that are no JSON" "wrong arguments" '"malformed":' '"text":"I see."'
    said "429 with hours to wait is a limit" "a limit for hours" '"kind":"RateLimited { reset: Some(' '"outcome":"Limit { reset: Some('
    said "529" "overloaded for ever" '"kind":"Overloaded' '"outcome":"Retry'
    said "500" "broken for ever" '"kind":"Server { status: 500 }"' '"outcome":"Retry'
    said "401" "a wrong key" '"kind":"Auth { status: 401 }"' '"outcome":"Fail"'
    ASK_AGAIN=5 said "529 and 503, then an answer" "overloaded at first, by $api" '"text":"Here I am."' '"failed":2'
    ASK_AGAIN=5 said "429 with a second to wait, then an answer" "limited at first, by $api" '"text":"Here I am."' '"failed":1'
    said "chaos: the stream is cut" "chaos: cut" '"outcome":"Retry { after: None }"'
    said "chaos: the connection is gone" "chaos: gone" '"kind":"Network"' '"outcome":"Retry { after: None }"'
    said "chaos: dropped" "chaos: dropped" '"kind":"Server { status: 500 }"'
    said "chaos: malformed" "chaos: malformed" '"error":' '"outcome":'
    said "chaos: limited" "chaos: limited" '"kind":"RateLimited'
done

key=sk-another ask "$out" anthropic "$aimock/v1" some-model "say hello"
check "another key is refused" "$out" '"kind":"Auth { status: 401 }"' '"outcome":"Fail"'

for runner in anthropic openai; do
    dir=$ground/$runner
    team "$dir" "$runner" "$aimock/v1" "model: some-model" "Write b.txt with the content of b."
    check "$runner: a teammate does its task" "$dir/task.json" '"completed"'
    check "$runner: what it called models for is on record" "$dir/quota.json" '"calls":3' '"inputTokens":300' '"outputTokens":30'
    { cat "$dir/project/b.txt" || true; } >"$out" 2>&1
    check "$runner: the file is written" "$out" 'content of b'
    { grep -rl "$key" "$dir" || echo "the key is in no file"; } >"$out"
    check "$runner: the key" "$out" "the key is in no file"
done

# The example team, whose models are asked over the network, by one API and by the other.
for runner in anthropic openai; do
    dir=$ground/team-$runner
    mkdir "$dir"
    cp -R "$example" "$dir/project"
    sed -i.as-it-was -e "s|^runner: script|runner: $runner|" -e "s|^script: .*|model: some-model\naccount: peer|" "$dir"/project/.crew/teammates/*.md
    rm -r "$dir"/project/.crew/teammates/*.as-it-was "$dir/project/.crew/recordings"
    account "$runner" "$aimock/v1" >>"$dir/project/.crew/config.toml"
    run_of "$dir"
    check "$runner: the example team reaches its goal" "$dir/status" '"state":"completed"'
    check "$runner: it says what it says in the example" "$dir/thread" '1 ana work_done' '2 ben work_done' '3 rita handoff' '4 ana done' 'accepted'
    check "$runner: and its test passes" "$dir/test" '4 slugs are right'
done
close
