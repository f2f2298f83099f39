# Prints lines with blanks at their end, lines that end in CR LF, whether the last line end is missing, and path,
# where any of it is so. First input: out/sizes.tsv; second: out/lines.tsv.
BEGIN {
    FS = "\t"
    getline root < "out/source.txt"
}

FILENAME == "out/sizes.tsv" { line_ends[$3] = $2; next }

{
    path = $1
    trailing = crlf = 0
    while ((getline line < (root "/" path)) > 0) {
        if (sub(/\r$/, "", line)) crlf++
        # Two blanks at the end are a line break in Markdown.
        if (line ~ /[ \t]$/ && $2 != "Markdown") trailing++
    }
    close(root "/" path)
    missing = $3 > line_ends[path] ? "yes" : "no"
    if (trailing || crlf || missing == "yes") print trailing "\t" crlf "\t" missing "\t" path
}
