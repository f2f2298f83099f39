# What the checks against other people's models and coding CLIs have in common; to be sourced. Everything lies in one
# temporary directory, and everything that was started is ended.
#
# CREW          the command (default: built)
# ASK           the driver of single calls, `teammates/examples/ask.rs` (default: built)
# CREW_PEERS    where the peers are installed and kept (default: the temporary directory, so: anew each time)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ground=$(mktemp -d "${TMPDIR:-/tmp}/crew-checks.XXXXXX")
peers=${CREW_PEERS:-$ground/peers}
key=sk-test-of-models
export KEY_OF_PEER=$key GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
# What installs keep for the next time is kept nowhere.
export npm_config_cache=$ground/npm-cache PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
passed=0 failed=0 skipped=0
started=()

leave() {
    local pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$ground"
}
trap leave EXIT

# check WHAT FILE TEXT…: every TEXT stands in FILE.
check() {
    local what=$1 file=$2 text
    shift 2
    for text in "$@"; do
        if ! grep -qF -e "$text" "$file"; then
            failed=$((failed + 1))
            printf 'FAILED  %s: no %s in\n' "$what" "$text"
            cut -c1-400 "$file" | sed 's/^/        /'
            return 0
        fi
    done
    passed=$((passed + 1))
    printf 'ok      %s\n' "$what"
}

skip() {
    skipped=$((skipped + 1))
    printf '!!! SKIPPED  %s\n' "$*"
}

# The plain closing line, and the exit code.
close() {
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0))
}

# install_npm PACKAGE@VERSION / install_pip PACKAGE…: into $peers; fails where that is not to be had.
install_npm() {
    command -v npm >/dev/null || return 1
    mkdir -p "$peers/npm"
    [[ -d $peers/npm/node_modules/${1%@*} ]] || (cd "$peers/npm" && npm install --silent --no-audit --no-fund --ignore-scripts "$1") >/dev/null 2>&1
}
install_pip() {
    command -v python3 >/dev/null || return 1
    [[ -x $peers/venv/bin/pip ]] || python3 -m venv "$peers/venv" >/dev/null 2>&1 || return 1
    "$peers/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >/dev/null 2>&1
}

# serve FILE COMMAND…: starts a server that prints its address as its first line; the address is in $url.
serve() {
    local out=$1 tries=0
    shift
    : >"$out"
    "$@" >"$out" 2>"$out.err" &
    started+=($!)
    until url=$(head -n 1 "$out") && [[ -n $url ]]; do
        tries=$((tries + 1))
        if ((tries > 600)) || ! kill -0 "${started[-1]}" 2>/dev/null; then
            echo "the server did not begin: $*" >&2
            cat "$out.err" >&2
            return 1
        fi
        sleep 0.1
    done
}

build_crew() {
    [[ -n ${CREW-} ]] || cargo build --quiet --manifest-path "$root/Cargo.toml" --bin crew
    CREW=${CREW:-${CARGO_TARGET_DIR:-$root/target}/debug/crew}
}
build() {
    build_crew
    [[ -n ${ASK-} ]] || cargo build --quiet --manifest-path "$root/Cargo.toml" --package teammates --example ask
    ASK=${ASK:-${CARGO_TARGET_DIR:-$root/target}/debug/examples/ask}
}

# ask FILE API BASE MODEL WORDS…: one conversation by one API. No teammate asks OpenAI's Responses API of another server
# than OpenAI's, so single calls are made by the driver.
ask() {
    local out=$1
    shift
    ASK_KEY=$key timeout 300 "$ASK" "$@" >"$out" 2>&1 || true
}

# account KIND BASE: what a configuration says of the account `peer`: a provider of that KIND, served at BASE.
account() {
    printf '[accounts.peer]\nkind = "%s"\nkeyEnv = "KEY_OF_PEER"\nbaseUrl = "%s"\n' "$1" "$2"
}

# board_in DIR: makes the current directory, DIR/project, a git repository with a board. What crew keeps is in DIR/home.
board_in() {
    export CREWBOARD_HOME=$1/home
    git init --quiet
    git add .
    git -c user.name=t -c user.email=t@example.org commit --quiet -m first
    "$CREW" init
}

# run_of DIR [TEXT]: the run of the team in DIR/project, until it has ended, or TEXT is in what its status says. How it stands
# then is in DIR/status, what was said in DIR/thread, and what its test says in DIR/test.
run_of() {
    local dir=$1
    (
        cd "$dir/project"
        board_in "$dir"
        "$CREW" start --yes
        for _ in $(seq 600); do
            "$CREW" status --json >"$dir/status"
            if ! grep -q '"alive":true' "$dir/status"; then
                # It may have ended while this was looked up.
                "$CREW" status --json >"$dir/status"
                break
            fi
            if [[ -n ${2-} ]] && grep -qF -e "$2" "$dir/status"; then break; fi
            sleep 0.1
        done
        "$CREW" thread >"$dir/thread"
        sh test.sh >"$dir/test" 2>&1 || true
        "$CREW" stop || true
        "$CREW" shutdown --all --grace 0s || true
    ) >"$dir/log" 2>&1 || true
}

# alice DIR RUNNER FRONT: a project in DIR with one teammate alice (FRONT: more lines of its front matter).
alice() {
    mkdir -p "$1/project/.crew/teammates"
    printf -- '---\nrole: coder\npoll: 100ms\nidleTimeout: 3s\nrunner: %s\n%s\n---\nDo what the task says and post.\n' \
        "$2" "$3" >"$1/project/.crew/teammates/alice.md"
    printf 'content of a\n' >"$1/project/a.txt"
}

# works DIR: alice works until there is nothing to do. What became of the tasks is in DIR/task.json, DIR/quota.json and DIR/log.
works() {
    local dir=$1
    (cd "$dir/project" && CREWBOARD_HOME=$dir/home timeout 600 "$CREW" spawn alice --foreground --yes) >>"$dir/log" 2>&1 || true
    (cd "$dir/project" && CREWBOARD_HOME=$dir/home "$CREW" ls --json) >"$dir/task.json" 2>&1 || true
    (cd "$dir/project" && CREWBOARD_HOME=$dir/home "$CREW" quota --json) >"$dir/quota.json" 2>&1 || true
}

# works_on DIR TASK…: the same, once the task is there.
works_on() {
    local dir=$1
    shift
    (
        cd "$dir/project"
        board_in "$dir"
        "$CREW" add "$@"
    ) >"$dir/log" 2>&1 || true
    works "$dir"
}

# team DIR KIND BASE FRONT TASK…: alice's models are served at BASE as by a provider of that KIND, and she works on the task.
team() {
    local dir=$1 kind=$2 base=$3 front=$4
    shift 4
    alice "$dir" "$kind" "account: peer
$front"
    account "$kind" "$base" >"$dir/project/.crew/config.toml"
    works_on "$dir" "$@"
}
