#!/usr/bin/env bash
# Races `crew` against what people use today, each for what it can do, in turn on the same machine and filesystem.
#
#   tests/peers.sh [NAME …]      work add list; without a name all of them
#
# Races those that are on PATH: xargs, GNU parallel, task-spooler (tsp), pueue (with pueued), taskwarrior (task) and
# Backlog.md (backlog). Those that are not are named, so that a silent gap is not taken for a victory.
#
# CREW             the command to measure (default: target/release/crew, built first)
# CREW_BENCH_DIR   the directory, and so the filesystem, to measure in (default: a temporary one)
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/pairs.sh

stand_on crew-peers

# Every peer keeps its things in the ground, none of them the user's.
mkdir "$ground"/{spool,pueue,warrior,backlog}
export TS_SOCKET=$ground/spool/socket TMPDIR=$ground/spool TS_MAXFINISHED=10000
export TASKDATA=$ground/warrior TASKRC=$ground/warrior/rc
export XDG_CONFIG_HOME=$ground/pueue XDG_DATA_HOME=$ground/pueue XDG_RUNTIME_DIR=$ground/pueue
printf 'confirmation=off\nverbose=nothing\nhooks=off\n' >"$TASKRC"

leave() {
    cd /
    if has tsp; then tsp -K >/dev/null 2>&1 || true; fi
    if has pueue; then pueue shutdown >/dev/null 2>&1 || true; fi
    rm -rf "$ground"
}
has() { [[ " ${found-} " = *" $1 "* ]]; }
trap leave EXIT

found='' missing=''
for peer in xargs parallel tsp pueue task backlog; do
    if command -v "$peer" >/dev/null && { [[ $peer != pueue ]] || command -v pueued >/dev/null; }; then
        found+=" $peer"
    else
        missing+=" $peer"
    fi
done
say_missing() {
    [[ -z $missing ]] || echo "!!! NOT RACED, since not on PATH:$missing" >&2
}

if has pueue; then
    pueued --daemonize >/dev/null 2>&1
    until pueue status >/dev/null 2>&1; do sleep 0.1; done
    pueue parallel 2 >/dev/null
fi
if has tsp; then tsp -S 2; fi

names=("$@")
say_where
say_missing
header

if wanted work; then
    tasks=${CREW_BENCH_TASKS:-5000}
    before_relaxed() { board work "$tasks" pending --relaxed; }
    relaxed() { "$CREW" work --jobs 2 2>/dev/null; }
    before_full() { board work "$tasks" pending; }
    full() { "$CREW" work --jobs 2 2>/dev/null; }
    xargs_runs() { seq "$tasks" | xargs -P 2 -n 1 true; }
    parallel_runs() { seq 500 | parallel --will-cite -j 2 true; }
    tsp_runs() {
        local i
        for ((i = 0; i < 1000; i++)); do tsp -n true; done
        while tsp | grep -qE ' (queued|running) '; do tsp -w; done
        tsp -C
    }
    pueue_runs() {
        local i
        for ((i = 0; i < 50; i++)); do pueue add -- true; done
        pueue wait --quiet
        pueue clean
    }
    if has xargs; then pair 5 "$tasks" '>=1.0' "$tasks of true, two at once, relaxed : xargs" relaxed xargs_runs; fi
    if has xargs; then pair 5 "$tasks" '>=0.7' "$tasks of true, two at once, full : xargs" full xargs_runs; fi
    if has tsp; then pair 3 "$tasks/1000" '>=1.6' "$tasks of true, two at once, relaxed : task-spooler" relaxed tsp_runs; fi
    if has parallel; then pair 3 "$tasks/500" '>=' "$tasks of true, two at once, relaxed : GNU parallel" relaxed parallel_runs; fi
    if has pueue; then pair 3 "$tasks/50" '>=' "$tasks of true, two at once, relaxed : pueue" relaxed pueue_runs; fi
fi

if wanted add; then
    board add 0 pending --relaxed
    crew_adds() { local i; for ((i = 0; i < 50; i++)); do "$CREW" add "Resize photo $i"; done; }
    true_spawns() { local i; for ((i = 0; i < 50; i++)); do /bin/true; done; }
    tsp_adds() { local i; for ((i = 0; i < 50; i++)); do tsp -n true; done; }
    pueue_adds() { local i; for ((i = 0; i < 10; i++)); do pueue add --stashed -- true; done; }
    task_adds() { local i; for ((i = 0; i < 10; i++)); do task add "Resize photo $i"; done; }
    before_backlog_adds() {
        cd "$ground/backlog"
        [[ -d backlog ]] || backlog init race --defaults --no-git --integration-mode none >/dev/null
    }
    backlog_adds() { local i; for ((i = 0; i < 2; i++)); do backlog task create "Resize photo $i"; done; }
    pair 15 50 '>=0.7' 'add, a process each : spawning true' crew_adds true_spawns
    if has tsp; then pair 9 50 '>=' 'add, a process each : task-spooler' crew_adds tsp_adds; fi
    if has pueue; then pair 9 50/10 '>=' 'add, a process each : pueue' crew_adds pueue_adds; fi
    if has task; then pair 9 50/10 '>=' 'add, a process each : taskwarrior' crew_adds task_adds; fi
    if has backlog; then pair 5 50/2 '>=' 'add, a process each : Backlog.md' crew_adds backlog_adds; fi
fi

if wanted list; then
    tasks=10000
    board list $tasks pending --relaxed
    crew_lists() { "$CREW" ls --ready --json; }
    if has task; then
        rm -f "$TASKDATA"/*.data "$TASKDATA"/*.sqlite3
        awk -v count=$tasks 'BEGIN { for (i = 1; i <= count; i++) printf "{\"description\":\"Resize photo %d\",\"status\":\"pending\"}\n", i }' >"$ground/import.json"
        task import "$ground/import.json" >/dev/null 2>&1
        task_lists() { task status:pending export; }
        pair 9 1 '<=' "list $tasks : taskwarrior" crew_lists task_lists
    fi
    if has backlog; then
        cd "$ground/backlog"
        [[ -d backlog ]] || backlog init race --defaults --no-git --integration-mode none >/dev/null
        rm -f backlog/tasks/*
        for ((i = 1; i <= tasks; i++)); do
            printf -- '---\nid: TASK-%d\ntitle: Resize photo %d\nstatus: To Do\nassignee: []\ncreated_date: "2026-01-02 03:04"\nlabels: []\ndependencies: []\n---\n' $i $i >"backlog/tasks/task-$i - resize-photo-$i.md"
        done
        before_backlog_lists() { cd "$ground/backlog"; }
        before_crew_lists() { cd "$ground/list"; }
        backlog_lists() { backlog task list --plain; }
        [[ $(backlog_lists | grep -c 'TASK-') = "$tasks" ]] || { echo 'Backlog.md does not list all tasks' >&2; exit 1; }
        pair 3 1 '<=' "list $tasks : Backlog.md" crew_lists backlog_lists
    fi
fi
say_missing
