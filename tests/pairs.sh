# Measures commands in turn, A B A B …, and tells the median of their ratios. Sourced by bench.sh and peers.sh.
# Needs bash 5 (EPOCHREALTIME), awk and sort.

# Microseconds since the epoch.
now() { echo "${EPOCHREALTIME/[.,]/}"; }

# The microseconds that a function takes; what a function `before_NAME` does first is not counted.
took() {
    if declare -F "before_$1" >/dev/null; then "before_$1" >&2; fi
    local since=${EPOCHREALTIME/[.,]/}
    "$1" >/dev/null || { echo "$1 failed" >&2; exit 1; }
    echo $((${EPOCHREALTIME/[.,]/} - since))
}

# What every measurement stands on: the command (built where none is named), a fresh directory to work in, and nothing
# of the user's. Sets CREW and ground.
stand_on() { # NAME
    if [[ -z ${CREW-} ]]; then
        cargo build --release --quiet
        CREW=$PWD/${CARGO_TARGET_DIR:-target}/release/crew
    fi
    ground=$(mktemp -d "${CREW_BENCH_DIR:-${TMPDIR:-/tmp}}/$1.XXXXXX")
    export CREWBOARD_HOME=$ground/home
    unset CREW_BOARD CREW_NO_NOTIFY CREW_AS
}

documents() { # COUNT STATUS: lines for `crew add --jsonl`
    awk -v count="$1" -v status="$2" 'BEGIN {
        text = "Make it 800 pixels wide, keep its profile, and put it beside the others. The originals stay where they are. What cannot be read is listed."
        for (i = 1; i <= count; i++) printf "{\"subject\":\"Resize photo %d\",\"description\":\"%s\",\"status\":\"%s\",\"run\":[\"true\"]}\n", i, text, status
    }'
}

# A fresh board; stands in its project afterwards.
board() { # NAME TASKS STATUS [--relaxed]
    rm -rf "${ground:?}/$1"
    mkdir "$ground/$1"
    cd "$ground/$1"
    "$CREW" init ${4-} >/dev/null 2>&1
    [[ $2 = 0 ]] || documents "$2" "$3" | "$CREW" add --jsonl - >/dev/null
    sync -f .
}

# Whether a measurement is among those that the command line named; it named all when it named none.
wanted() { # NAME
    local name
    [[ ${#names[@]} = 0 ]] && return
    for name in "${names[@]}"; do [[ $name = "$1" ]] && return; done
    return 1
}

say_where() {
    echo "in $ground ($(stat -f -c %T "$ground")), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)"
}

header() {
    printf '%-58s %12s %12s %7s %8s\n' what ours limit ratio target
}

# pair ROUNDS COUNT TARGET WHAT OURS LIMIT: two functions, each of which does COUNT things (or COUNT is `OURS/LIMIT`).
# TARGET: `<=1.3` for times, `>=0.7` for rates; `<=` and `>=` alone for what is only told.
pair() {
    local rounds=$1 count=$2 target=$3 what=$4 ours=$5 limit=$6 round a b pairs=''
    for ((round = 0; round < rounds; round++)); do
        a=$(took "$ours") && b=$(took "$limit") || exit 1
        pairs+="$a $b"$'\n'
    done
    printf '%s' "$pairs" | awk -v count="$count" -v target="$target" -v what="$what" '
        function middle(values, n,   i, j, v) {
            for (i = 2; i <= n; i++) { v = values[i]; for (j = i - 1; j > 0 && values[j] > v; j--) values[j + 1] = values[j]; values[j + 1] = v }
            return values[int((n + 1) / 2)]
        }
        function side(micros, count) { return rate ? sprintf("%.0f/s", count * 1e6 / micros) : sprintf("%.2f ms", micros / count / 1e3) }
        BEGIN { if (split(count, each, "/") == 1) each[2] = each[1]; rate = substr(target, 1, 2) == ">="; bound = substr(target, 3) + 0 }
        { ours[NR] = $1; limit[NR] = $2; a = $1 / each[1]; b = $2 / each[2]; ratio[NR] = rate ? b / a : a / b }
        END {
            r = middle(ratio, NR); a = middle(ours, NR); b = middle(limit, NR)
            told = length(target) == 2; verdict = told ? "   " : (rate ? r >= bound : r <= bound) ? "ok " : "NOT"
            printf "%-58s %12s %12s %7.2f %8s %s %d pairs, ratios %.2f to %.2f\n", what, side(a, each[1]), side(b, each[2]), r, told ? "" : target, verdict, NR, ratio[1], ratio[NR]
        }'
}

# bound WHAT FIGURE UNIT BOUND [NOTE]: a figure that must not be more than BOUND.
bound() {
    awk -v what="$1" -v figure="$2" -v unit="$3" -v bound="$4" -v note="${5-}" 'BEGIN {
        printf "%-58s %12s %12s %7s %8s %s %s\n", what, figure " " unit, "", "", "<=" bound, figure + 0 <= bound + 0 ? "ok " : "NOT", note
    }'
}
