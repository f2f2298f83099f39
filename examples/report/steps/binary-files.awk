# Prints bytes and path of what stands in out/sizes.tsv (second input) but not in out/text.txt (first input).
BEGIN { FS = "\t" }

FILENAME == "out/text.txt" { text[$0]; next }
!($3 in text) { print $1 "\t" $3 }
