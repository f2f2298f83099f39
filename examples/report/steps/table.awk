# Makes a section with a table out of tab-separated rows.
#   -v title=…    its heading
#   -v about=…    a sentence on how to read it
#   -v columns=…  heading of each column, comma-separated; `:number` aligns right, `:code` sets as code
#   -v limit=N    rows to show (25)
# Says on stderr how many rows there were, which is how they come into the task's log.
BEGIN {
    FS = "\t"
    if (!limit) limit = 25
    count = split(columns, heads, ",")
    for (i = 1; i <= count; i++) {
        kind[i] = ""
        if (sub(/:number$/, "", heads[i])) kind[i] = "number"
        if (sub(/:code$/, "", heads[i])) kind[i] = "code"
    }
}

function cell(value, as) {
    gsub(/[\001-\037\177]/, " ", value)
    gsub(/\|/, "\\|", value)
    if (as == "code") {
        if (value ~ /`/) return "`` " value " ``"
        return "`" value "`"
    }
    gsub(/&/, "\\&amp;", value)
    gsub(/</, "\\&lt;", value)
    return value
}

NR <= limit {
    row = "|"
    for (i = 1; i <= count; i++) row = row " " cell($i, kind[i]) " |"
    rows[NR] = row
}

END {
    print "## " title "\n"
    if (about != "") print about "\n"
    if (NR == 0) {
        print "None.\n"
    } else {
        row = "|"
        rule = "|"
        for (i = 1; i <= count; i++) {
            row = row " " heads[i] " |"
            rule = rule (kind[i] == "number" ? " ---: |" : " --- |")
        }
        print row
        print rule
        for (i = 1; i <= NR && i <= limit; i++) print rows[i]
        print ""
        if (NR > limit) print "The first " limit " of " NR ".\n"
    }
    print title ": " NR | "cat 1>&2"
}
