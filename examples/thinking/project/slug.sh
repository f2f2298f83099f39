#!/bin/sh
# Makes the slug of a title: what stands for it in an address.
#
#   slug.sh TITLE
set -eu
printf '%s\n' "$1" | tr ' ' '-'
