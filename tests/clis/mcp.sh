#!/usr/bin/env bash
# Checks `crew mcp` with two other people's clients: the MCP inspector in its `--cli` mode (npm:
# @modelcontextprotocol/inspector) and the Python client (PyPI: mcp). Each calls every tool there is. What cannot be
# installed here is skipped, and said to be. Nothing is left behind but what CREW_PEERS names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../models/common.sh"

build_crew
out=$ground/out

# board NAME: a new board of two tasks, with a teammate bob, in $project; it is where `crew` stands from now on. Their ids
# are words: some clients make a number of whatever looks like one.
board() {
    project=$ground/$1
    mkdir -p "$project/.crew/teammates"
    printf -- '---\nrole: coder\n---\n' >"$project/.crew/teammates/bob.md"
    cd "$project"
    {
        "$CREW" init
        "$CREW" add 'write it' --id first
        "$CREW" add 'read it' --id second
    } >"$out" 2>&1
}

# shows WHAT TEXT ARGUMENT…: `crew ARGUMENT…` says TEXT.
shows() {
    local what=$1 text=$2
    shift 2
    "$CREW" "$@" >"$out" 2>&1 || true
    check "$what" "$out" "$text"
}

by_inspector() {
    local inspector=$peers/npm/node_modules/.bin/mcp-inspector called=$ground/called name
    board inspector
    : >"$called"
    # ask METHOD…: one connection, one request.
    ask() { timeout 60 node "$inspector" --cli "$CREW" mcp --as me --method "$@" >"$out" 2>&1 || true; }
    # tool NAME TEXT KEY=VALUE…: calls a tool; TEXT stands in what comes back.
    tool() {
        local name=$1 text=$2 each arguments=()
        shift 2
        for each in "$@"; do arguments+=(--tool-arg "$each"); done
        ask tools/call --tool-name "$name" "${arguments[@]}"
        check "inspector: $name" "$out" "$text"
        if grep -qF '"isError": true' "$out"; then
            failed=$((failed + 1))
            echo "FAILED  inspector: $name answers with an error"
        fi
        echo "$name" >>"$called"
    }

    ask tools/list
    check "inspector: tools/list" "$out" '"name": "post"' '"readOnlyHint": true' '"inputSchema"'
    grep -o '^      "name": "[a-z_]*"' "$out" | cut -d'"' -f4 | sort >"$ground/offered"
    tool task_create 'It is task 1.' 'subject=made by a client'
    shows "inspector: the task is there" '"subject":"made by a client"' ls --json
    tool task_update 'Task second was changed.' id=second 'subject=read it twice'
    shows "inspector: the task is changed" '"subject":"read it twice"' ls --json
    tool task_list 'made by a client'
    tool task_get 'write it' id=first
    tool remember 'It is entry 1.' 'text=the port is 80'
    tool revise 'Entry 1 was changed.' number=1 'was=the port' 'text=the port is 8080'
    shows "inspector: the memory has it" '8080' memory --json
    tool forget 'Entry 1 is gone' number=1 'was=the port'
    tool send_message 'waits for bob' to=bob text=hello
    tool ask 'waits for bob' to=bob 'text=which port?'
    tool notify 'waits for bob' to=bob 'text=the port has changed'
    tool claim_task 'Task first is yours' id=first
    tool tell_user 'The user is told' 'text=the disk is nearly full'
    shows "inspector: the user is told" 'the disk is nearly full' needs
    tool post 'Task first is completed.' kind=work_done 'text=it is written'
    shows "inspector: the task is completed" '"status": "completed"' show first --json
    tool read_thread 'it is written'
    tool claim_task 'Task second is yours' id=second
    tool idle 'Task second is given back'
    shows "inspector: the task is given back" '"outcome": "released"' show second --json
    sort -u "$called" | diff "$ground/offered" - >"$out" && echo "none" >"$out"
    check "inspector: no tool was left out" "$out" none

    ask tools/call --tool-name post --tool-arg kind=shout
    check "inspector: wrong arguments" "$out" '"isError": true' 'unknown variant `shout`' 'They must fit this schema'
    ask tools/call --tool-name posts
    check "inspector: no such tool" "$out" posts
    ask resources/list
    check "inspector: resources/list" "$out" crew://board crew://thread application/json
    ask resources/templates/list
    check "inspector: resources/templates/list" "$out" 'crew://task/{id}'
    ask resources/read --uri crew://board
    check "inspector: the board" "$out" 'made by a client'
    ask resources/read --uri crew://thread
    check "inspector: the thread" "$out" 'it is written'
    ask resources/read --uri crew://task/first
    check "inspector: a task" "$out" 'write it'
    ask resources/read --uri crew://task/../../home
    check "inspector: no such resource" "$out" '-32002'
}

by_python() {
    local line
    board python
    timeout 300 "$peers/venv/bin/python" "$root/tests/clis/mcp_client.py" "$CREW" "$project" >"$ground/said" 2>"$ground/python.err" ||
        echo "ended with $?: failed" >>"$ground/said"
    while IFS= read -r line; do
        printf '%s\n' "$line" >"$ground/line"
        check "python: ${line%: *}" "$ground/line" ': ok'
    done <"$ground/said"
    check "python: it came to its end" "$ground/said" 'the server has ended: ok'
    shows "python: the task is completed" '"status": "completed"' show first --json
    shows "python: the task is given back" '"outcome": "released"' show second --json
}

has_inspector=true has_python=true
install_npm @modelcontextprotocol/inspector@latest || has_inspector=false
install_pip mcp || has_python=false
# Clients hand on little of their environment, but always this: all that crew keeps is below it.
unset CREWBOARD_HOME XDG_STATE_HOME
real_home=$HOME
export HOME=$ground/home
mkdir "$HOME"
if $has_inspector; then
    by_inspector
else
    skip "the inspector: the npm package @modelcontextprotocol/inspector cannot be installed here"
fi
if $has_python; then
    by_python
else
    skip "the Python client: the PyPI package mcp cannot be installed here"
fi
HOME=$real_home

# Whatever was started here has that home in its environment.
left=$(grep -lsaF "HOME=$ground/home" /proc/[0-9]*/environ | grep -c . || true)
echo "$left left" >"$out"
check "no process is left" "$out" '0 left'
cd /
close
