#!/usr/bin/env bash
# What turns of the thread cost: from a post to the next speaker's process, with a short thread and a long one, and what
# a run costs that has nothing to do.
#
#   tests/turns.sh [NAME …]      turns idle; without a name both
#
# CREW             the command to measure (default: target/release/crew, built first)
# CREW_BENCH_DIR   the directory, and so the filesystem, to measure in (default: a temporary one)
#
# Needs git, jq and awk.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/pairs.sh

stand_on crew-turns
PATH=$(dirname "$(realpath "$CREW")"):$PATH
trap 'cd /; for team in "$ground"/*/; do "$CREW" -C "$team" stop >/dev/null 2>&1 || true; "$CREW" -C "$team" shutdown --all --grace 0s >/dev/null 2>&1 || true; done; rm -rf "$ground"' EXIT

names=("$@")
say_where
header

# A team of five whose turns say when they began, and end with a post.
team() { # NAME POSTS TURNS
    mkdir "$ground/$1"
    cd "$ground/$1"
    git init -q .
    git -c user.name=crew -c user.email=crew@localhost commit -q --allow-empty -m begin
    crew init >/dev/null 2>&1
    mkdir -p .crew/teammates
    echo 'Go on.' >.crew/goal.md
    for name in alice bob carol dave eve; do printf -- '---\ncommand: ./turn\n---\n' >".crew/teammates/$name.md"; done
    cat >turn <<TURN
#!/bin/sh
date +%s%N >>began
turns=\$(wc -l <began)
echo \$turns >turns
[ \$turns -lt $3 ] || exec crew post --kind say --handoff user 'how is it?'
exec crew post --kind work_done "turn \$turns"
TURN
    chmod +x turn
    echo began >.gitignore
    if [[ $2 != 0 ]]; then
        # The first post makes the state directory, then the thread is made as long as a run would have.
        crew send 'Begin.' >/dev/null 2>&1
        state=$(echo "$CREWBOARD_HOME/$1-"*)
        awk -v posts="$2" 'BEGIN { for (seq = 1; seq <= posts; seq++) printf "{\"seq\":%d,\"from\":\"alice\",\"kind\":\"work_done\",\"text\":\"The parser reads the new syntax now.\",\"handoff\":null,\"ts\":\"2026-01-02T03:04:05Z\",\"turn\":\"t-%d\"}\n", seq, seq }' >"$state/thread.jsonl"
        printf '{"format":1,"applied":%d}\n' "$2" >"$state/state.json"
    fi
}

# Milliseconds from each post to the beginning of the next turn, sorted; the first turns start processes.
play() { # NAME
    cd "$ground/$1"
    crew start --yes 2>/dev/null
    while [[ $(crew status --json | jq -r .run.alive) = true ]]; do sleep 0.2; done
    state=$(echo "$CREWBOARD_HOME/$1-"*)
    # A run says its time in milliseconds; the turns in nanoseconds.
    tail -n "$(($(wc -l <began) + 5))" "$state/thread.jsonl" |
        jq -r 'select(.turn and (.turn | startswith("t-") | not)) | .ts | capture("(?<whole>.*:[0-9]+)(\\.(?<part>[0-9]+))?Z") | ((.whole + "Z") | fromdate) * 1000 + ((.part // "0") + "000" | .[0:3] | tonumber)' >posted
    awk 'NR == FNR { began[FNR] = $1 / 1e6; next } FNR > 5 && began[FNR + 1] { print began[FNR + 1] - $1 }' began posted | sort -n
}

middle() { sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] }'; }

if wanted turns; then
    team short 100 80
    team long 1000000 80
    # In turn, so that both meet the same machine.
    few=$(play short) many=$(play long)
    few=$(echo "$few" | middle) many=$(echo "$many" | middle)
    bound 'from a post to the next turn, 100 posts' "$few" ms 20 'median of 74'
    bound 'the same, 1,000,000 posts' "$many" ms 20 'median of 74'
    bound '  1,000,000 posts : 100 posts' "$(awk "BEGIN { printf \"%.2f\", $many / $few }")" '' 1.2
fi

if wanted idle; then
    team idle 0 1
    for name in alice bob carol dave eve; do sed -i 's/^command/idleTimeout: 10m\ncommand/' ".crew/teammates/$name.md"; done
    # One that waits: the run sleeps, and all five are there.
    cat >turn <<'TURN'
#!/bin/sh
echo . >>began
[ "$(wc -l <began)" -ge 5 ] && exec crew post --kind wait 'for the others'
exec crew post --kind work_done "$(wc -l <began | tee turns)"
TURN
    printf 'waitBaseSec = 3600\nwaitCapMin = 600\nmaxWaitMin = 6000\n' >.crew/config.toml
    crew start --yes 2>/dev/null
    until [[ $(crew status --json | jq -r .run.state) = waiting ]]; do sleep 0.2; done
    sleep 2
    pids=$(pgrep -f -- "-C $PWD " || true)
    ticks() { for pid in $pids; do awk '{ print $14 + $15 }' "/proc/$pid/stat"; done | awk '{ sum += $1 } END { print sum }'; }
    before=$(ticks)
    sleep 20
    after=$(ticks)
    count=$(echo "$pids" | wc -w)
    bound "a run that waits, with its team ($count processes)" "$(awk "BEGIN { printf \"%.2f\", ($after - $before) / $(getconf CLK_TCK) / 20 * 100 }")" '% of a core' 1
    memory=$(for pid in $pids; do awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup"; done | awk '{ sum += $1 } END { printf "%.1f", sum / 1024 }')
    bound '  its memory (PSS)' "$memory" MB 25
fi
