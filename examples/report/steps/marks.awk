# Prints file, line and text of what somebody left for later: a mark that begins a comment, or ends in `:` or `(`.
BEGIN { getline root < "out/source.txt" }

{
    path = $0
    number = 0
    while ((getline line < (root "/" path)) > 0) {
        number++
        if (line ~ /(\/\/[\/!]?|#|\/\*|--)[ \t]*(TODO|FIXME|XXX|HACK)([^A-Za-z_]|$)/ ||
            line ~ /(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK)[:(]/) {
            sub(/^[ \t]+/, "", line)
            gsub(/\t/, " ", line)
            print path "\t" number "\t" substr(line, 1, 120)
        }
    }
    close(root "/" path)
}
