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
