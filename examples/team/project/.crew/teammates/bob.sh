# bob writes the tests and the README, and makes the release.
set -eu
opening=$(cat)
candidate=$(git for-each-ref --format='%(taggerdate:unix)' refs/tags/v1-rc)

if ! [ -e test.sh ]; then
    cat > test.sh << 'TEST'
# Tests units.sh: exits with 1 when a result is wrong.
. ./units.sh
wrong=0
is() {
    result=$("$1" "$2")
    if [ "$result" = "$3" ]; then echo "ok: $1 $2 is $3"; else echo "$1 $2 is $result, not $3"; wrong=1; fi
}
is to_miles 10 6
is to_miles 11 7
is to_pounds 4 9
is to_pounds 10 22
exit "$wrong"
TEST
    git add test.sh
    git commit --quiet --message 'Add the tests'
    crew post --kind work_done --handoff alice 'test.sh has two cases for each conversion.'

elif ! grep -q to_miles README.md; then
    cat >> README.md << 'README'

- `to_miles KM`: kilometres to miles
- `to_pounds KG`: kilograms to pounds
README
    git commit --quiet --all --message 'Describe both conversions'
    crew post --kind work_done --handoff carol 'README.md describes both conversions.'

elif [ -z "$candidate" ]; then
    # A release cannot be taken back: that is a person's to decide.
    case $opening in
        *'system say: approved'*)
            git tag --annotate --message 'Candidate for v1' v1-rc
            crew post --kind wait 'v1-rc is tagged; it becomes v1 when it has lain for a second.' ;;
        *'system say: denied'*)
            crew post --kind say --handoff user 'I do not release v1. What should be different?' ;;
        *)
            crew post --kind gate 'Release v1: git tag v1. Others build on it from then on.' ;;
    esac

elif [ "$(date +%s)" -le "$candidate" ]; then
    crew post --kind wait 'v1-rc has not lain for a second yet.'

else
    git tag --annotate --message 'Version 1' v1 'v1-rc^{commit}'
    crew post --kind handoff --handoff alice 'v1 is released.'
fi
