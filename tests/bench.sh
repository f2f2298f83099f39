#!/usr/bin/env bash
# What whole `crew` processes cost, as ratios against the raw limits of the same machine, measured in turn in one run.
#
#   tests/bench.sh [NAME …]      version ls add work idle; without a name all of them
#
# CREW             the command to measure (default: target/release/crew, built first)
# CREW_BENCH_DIR   the directory, and so the filesystem, to measure in (default: a temporary one)
#
# What one process costs inside is measured by `cargo bench -p board`.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/pairs.sh

stand_on crew-bench
reader=$(cargo bench -p board --bench board --no-run 2>&1 | sed -n 's/.*(\(.*\)).*/\1/p' | tail -n 1)
[[ $reader = /* ]] || reader=$PWD/$reader

trap 'cd /; rm -rf "$ground"' EXIT

names=("$@")
say_where
header

if wanted version; then
    cd "$ground"
    version() { "$CREW" --version; }
    nothing() { /bin/true; }
    times=$(for ((i = 0; i < 101; i++)); do took version; done | sort -n | sed -n 51p)
    bound 'crew --version, whole process' "$(awk "BEGIN { print $times / 1000 }")" ms 5 'median of 101'
    pair 101 1 '<=' '  crew --version : true' version nothing
fi

if wanted ls; then
    board ls 10000 pending --relaxed
    list() { "$CREW" ls --ready --json; }
    read_all() { "$reader" read-all .tasks 2; }
    [[ $(list | wc -l) = $(read_all) ]] || { echo 'the two lists differ' >&2; exit 1; }
    pair 31 1 '<=1.3' 'crew ls --ready --json, 10,000 : read + parse, 2 threads' list read_all
fi

if wanted add; then
    board add 0 pending --relaxed
    add_each() { local i; for ((i = 0; i < 100; i++)); do "$CREW" add "Resize photo $i"; done; }
    spawn_each() { local i; for ((i = 0; i < 100; i++)); do /bin/true "Resize photo $i"; done; }
    pair 15 100 '>=0.7' 'crew add, a process each, relaxed : spawning true' add_each spawn_each
fi

if wanted work; then
    tasks=5000
    before_work_relaxed() { board work $tasks pending --relaxed; }
    before_work_full() { board work $tasks pending; }
    work_relaxed() { "$CREW" work --jobs 2 2>/dev/null; }
    work_full() { "$CREW" work --jobs 2 2>/dev/null; }
    by_xargs() { seq $tasks | xargs -P 2 -n 1 true; }
    pair 5 $tasks '>=1.0' "crew work --jobs 2, relaxed, $tasks of true : xargs -P2" work_relaxed by_xargs
    pair 5 $tasks '>=0.7' "crew work --jobs 2, full, $tasks of true : xargs -P2" work_full by_xargs
    cd "$ground/work"
    [[ $("$CREW" ls --status completed --json | wc -l) = "$tasks" ]] || { echo 'not all tasks were completed' >&2; exit 1; }
fi

# The processor time that processes have had, in nanoseconds, and the memory that is theirs, in kB.
processor_time() { cat $(printf '/proc/%s/task/*/schedstat ' "$@") | awk '{ sum += $1 } END { printf "%.0f", sum }'; }
memory() { cat $(printf '/proc/%s/smaps_rollup ' "$@") | awk '/^Pss:/ { sum += $2; if ($2 > most) most = $2 } END { print sum / '$#', most }'; }

# idle HOW PERCENT: 100 teammates with nothing to do, for half a minute.
idle() {
    local pids before after mean most
    board idle 10000 cancelled --relaxed
    printf -- '---\nname: idler\nidleTimeout: 30m\n---\n' >"$ground/idler.md"
    "$CREW" spawn idler --count 100 --from "$ground/idler.md" --yes >/dev/null 2>&1
    while (($("$CREW" team --json | grep -c '"status":"idle"') < 100)); do sleep 0.5; done
    mapfile -t pids < <("$CREW" team --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
    # Their first look at the board is over when a second costs them little.
    after=0
    until before=$after; after=$(processor_time "${pids[@]}"); ((after - before < 200000000)); do sleep 1; done
    before=$(processor_time "${pids[@]}")
    sleep 30
    after=$(processor_time "${pids[@]}")
    read -r mean most < <(memory "${pids[@]}")
    "$CREW" shutdown --all --grace 1s >/dev/null 2>&1
    bound "100 idle teammates, 10,000 tasks, events $1: a core" "$(awk "BEGIN { printf \"%.2f\", ($after - $before) / 30e9 * 100 }")" % "$2" 'all together, over 30 s'
    bound "  memory of each (PSS)" "$(awk "BEGIN { printf \"%.2f\", $mean / 1024 }")" MB 5 "the largest $((most / 1024)) MB"
}

if wanted idle; then
    idle on 2
    CREW_NO_NOTIFY=1 idle off 5
fi
