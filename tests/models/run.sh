#!/usr/bin/env bash
# Checks against other people's models and types: `aimock`, `llama`, `schemas`, or those named. What cannot be installed
# here is skipped, and said to be. Nothing is left behind but what CREW_PEERS names.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
ok=true
for name in "${@:-aimock schemas llama}"; do
    for each in $name; do
        printf '\n=== %s\n' "$each"
        bash "$here/$each.sh" || ok=false
    done
done
$ok
