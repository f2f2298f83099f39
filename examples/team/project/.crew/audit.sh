# Judges whether the goal is reached: prints {"accept":true} or {"accept":false,"gap":"what is missing"}.
# The goal, the diff since the run began and the outputs of the checks come as JSON on standard input; the tree is enough.
set -eu

gap=
for function in $(sed -n 's/^\(to_[a-z]*\)() .*/\1/p' units.sh); do
    grep -q "$function" README.md || gap="${gap}README.md does not describe $function; "
done
[ -n "$(git tag --list v1)" ] || gap="${gap}there is no release v1; "

if [ -z "$gap" ]; then
    echo '{"accept":true}'
else
    printf '{"accept":false,"gap":"%s"}\n' "${gap%; }"
fi
