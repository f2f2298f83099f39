# A scratch directory for an example, gone at its end. Sourced by the examples' run.sh.
#
# Sets CREW (with its whole path) and scratch. The caller sets `at_exit` to a function that is to be called first, and
# `keep_in` to a directory that is to be used, and to stay, instead of a temporary one.

CREW=${CREW:-crew}
case $CREW in
    /*) ;;
    */*) CREW=$PWD/$CREW ;;
esac

if ! command -v "$CREW" > /dev/null; then
    echo "there is no $CREW: CREW=target/release/crew names the command, once it is built" >&2
    exit 127
fi

if [ -n "${keep_in-}" ]; then
    mkdir -p "$keep_in"
    scratch=$(cd "$keep_in" && pwd)
    KEEP=1
else
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/$example.XXXXXX")
fi
# shellcheck disable=SC2317  # called by the trap
clean_up() {
    ${at_exit-}
    if [ "${KEEP-}" = 1 ]; then
        echo "kept: $scratch" >&2
    else
        rm -rf "$scratch"
    fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# What crew keeps outside the board (logs, say) lies there too; nothing is taken from a crew around this one.
export CREWBOARD_HOME="$scratch/home"
unset CREW_BOARD CREW_AS CREW_TURN
