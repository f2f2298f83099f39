#!/usr/bin/env bash
# Validates what our client sends, over all three APIs, against the request types of the official Python SDKs (PyPI:
# anthropic, openai): single calls with a tool and its result, and the turns of a teammate with all its tools.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if ! install_pip anthropic openai; then
    skip "schemas: the PyPI packages anthropic and openai cannot be installed here"
    close
    exit
fi
build
mkdir "$ground/kept"
serve "$ground/capture" "$peers/venv/bin/python" "$root/tests/models/capture.py" "$ground/kept"
capture=$url out=$ground/out

for effort in "" high; do
    for api in anthropic openai-chat openai-responses openai-json; do
        ASK_EFFORT=$effort ask "$out" "$api" "$capture/v1" some-model "Add 2 and 40."
        [[ $api = openai-json ]] || check "$api${effort:+ with effort}: what it is answered is understood" "$out" '"input":{"a":2,"b":40}' '"text":"It is 42."'
    done
done
look() {
    team "$ground/team-$RANDOM" "$1" "$capture/v1" "model: some-model
maxCalls: 2
$2" "Look around."
}
look anthropic ""
look anthropic 'effort: "2000"'
look openai ""
look openai "toolMode: json"

"$peers/venv/bin/python" "$root/tests/models/schemas.py" "$ground/kept" >"$out" 2>&1 || true
count=$(grep -c ': ' "$out" || true)
while IFS= read -r line; do
    printf '%s\n' "$line" >"$ground/line"
    check "${line%%: *}" "$ground/line" ': valid'
done < <(grep ': ' "$out")
check "there were requests of every kind" "$out" 'messages: ' 'completions: ' 'responses: '
((count >= 16)) || check "enough requests" "$out" "at least 16 requests"
close
