# Prints name, requirement, kind and manifest of every dependency in a Cargo.toml.
BEGIN { getline root < "out/source.txt" }

function end_table() {
    if (name != "") print name "\t" (requirement == "" ? "any" : requirement) "\t" kind "\t" path
    name = requirement = ""
}

# The value of a key in an inline table, or "".
function inline(line, key) {
    if (!match(line, "(^|[{, \t])" key "[ \t]*=[ \t]*\"[^\"]*\"")) return ""
    line = substr(line, RSTART, RLENGTH - 1)
    sub(/^[^"]*"/, "", line)
    return line
}

function required(line) {
    if (line ~ /workspace[ \t]*=[ \t]*true/) return "the workspace's"
    if (line ~ /=[ \t]*"/ && line !~ /[{]/) return inline(line, "[A-Za-z0-9_-]+")
    if (inline(line, "version") != "") return inline(line, "version")
    if (inline(line, "path") != "") return "path " inline(line, "path")
    if (inline(line, "git") != "") return "git " inline(line, "git")
    return "any"
}

/(^|\/)Cargo\.toml$/ {
    path = $0
    kind = ""
    while ((getline line < (root "/" path)) > 0) {
        sub(/\r$/, "", line)
        if (line ~ /^[ \t]*\[/) {
            end_table()
            kind = ""
            if (match(line, /(workspace\.|dev-|build-)?dependencies/)) {
                kind = substr(line, RSTART, RLENGTH)
                sub(/[.-]?dependencies/, "", kind)
                if (kind == "") kind = "normal"
                rest = substr(line, RSTART + RLENGTH)
                if (rest ~ /^\.[A-Za-z0-9_-]+\]/) {
                    name = substr(rest, 2, index(rest, "]") - 2)
                }
            }
        } else if (kind != "" && name != "") {
            if (line ~ /^version[ \t]*=/) requirement = required(line)
        } else if (kind != "" && line ~ /^[A-Za-z0-9_-]+(\.workspace)?[ \t]*=/) {
            entry = line
            sub(/[. \t=].*$/, "", entry)
            print entry "\t" required(line) "\t" kind "\t" path
        }
    }
    end_table()
    close(root "/" path)
}
