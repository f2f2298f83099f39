#!/usr/bin/env bash
# The proof on the real coding CLIs: `claude codex gemini opencode`, or those named, are installed with npm and take the turns
# of a teammate each, against a model server of our own (`server.mjs`), with a home of their own and no key. They run in
# namespaces in which there is no network but loopback, no process but their own, and nothing to write but the scratch
# directory. What cannot be done here is skipped, and said to be. Needs npm and the network for the installation.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../models/common.sh"

declare -A package=(
    [claude]=@anthropic-ai/claude-code@2.1.332
    [codex]=@openai/codex@0.171.0
    [gemini]=@google/gemini-cli@0.61.0
    [opencode]=opencode-ai@1.18.33
)

# program_of NAME: the installed program. No script of the packages has run that would have put it into its usual place.
program_of() {
    local modules=$peers/npm/node_modules
    case $1 in
        claude) ls "$modules"/@anthropic-ai/claude-code-*/claude ;;
        opencode) ls "$modules"/opencode-*/bin/opencode ;;
        *) ls "$modules/.bin/$1" ;;
    esac 2>/dev/null | while read -r program; do
        if HOME=$ground/home TMPDIR=$ground/tmp "$program" --version >/dev/null 2>&1; then
            printf '%s\n' "$program"
            break
        fi
    done
}

# Alone: what runs in it sees no network, no process of others, and no file that it could change but those in $ground.
alone=(unshare --user --map-root-user --net --pid --fork --mount --mount-proc --kill-child)
if ! "${alone[@]}" ip link set lo up 2>/dev/null; then
    skip "all of them: this system makes no namespaces for its users, or has no \`ip\`"
    close
    exit
fi

mkdir "$ground/home" "$ground/tmp"
for name in "${@:-claude codex gemini opencode}"; do
    for each in $name; do
        if ! install_npm "${package[$each]}" || ! program=$(program_of "$each") || [[ -z $program ]]; then
            skip "$each: the npm package ${package[$each]} cannot be installed here"
            continue
        fi
        build_crew
        printf '\n=== %s (%s)\n' "$each" "${package[$each]}"
        if "${alone[@]}" env -i PATH="$PATH" LANG=C.UTF-8 bash "$root/tests/clis/alone.sh" "$each" "$program" "$ground" "$(realpath "$CREW")"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
    done
done
close
