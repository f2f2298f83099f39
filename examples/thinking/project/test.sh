#!/bin/sh
# Compares slugs with what they should be. Prints what differs; exit code 1 where anything does.
cd "$(dirname "$0")" || exit 1
failed=0
is() {
    slug=$(sh slug.sh "$1")
    [ "$slug" = "$2" ] && return
    echo "slug of '$1': $slug, and not $2"
    failed=1
}
is 'Hello' 'hello'
is 'A Board in a Directory' 'a-board-in-a-directory'
is '  Too   many  blanks ' 'too-many-blanks'
is "What's new?" 'whats-new'
[ "$failed" = 0 ] && echo '4 slugs are right'
exit "$failed"
