# alice writes the conversions. What the opening of her turn says comes on standard input; what is to be done, the tree
# says.
set -eu
answer=$(sed -n 's/^ *answer: //p')

if ! [ -e test.sh ]; then
    crew post --kind say --handoff bob 'I write to_miles and to_pounds. Bob, the tests first, please.'

elif ! [ -e units.sh ]; then
    crew notice --tell 'v1 gives whole numbers only. Which unit should v2 bring?'
    cat > units.sh << 'UNITS'
# Kilometres to miles.
to_miles() { echo $(($1 * 62137 / 100000)); }

# Kilograms to pounds.
to_pounds() { echo $(($1 * 220462 / 100000)); }
UNITS
    git add units.sh
    git commit --quiet --message 'Add to_miles and to_pounds'
    crew post --kind work_done 'units.sh has both conversions.'

elif ! sh test.sh > /dev/null; then
    # Half of one more, so that the division rounds.
    sed 's|\(\$1 \* [0-9]*\) /|(\1 + 50000) /|' units.sh > units.sh.new
    mv units.sh.new units.sh
    git commit --quiet --all --message 'Round instead of cutting'
    crew post --kind work_done --handoff carol 'Both conversions round now.'

else
    printf '# For v2\n\n%s\n' "${answer:-nothing was wished for}" > PLANS.md
    git add PLANS.md
    git commit --quiet --message 'Note what v2 is to bring'
    crew post --kind work_done --handoff carol "PLANS.md notes what the user wants of v2: ${answer:-nothing}"
fi
