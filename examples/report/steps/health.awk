# Prints number found and what, from the findings that the other steps left in out/.
function found(what, file, column, wanted,    n, line, fields) {
    n = 0
    while ((getline line < ("out/" file)) > 0) {
        split(line, fields, "\t")
        if (column == 0 || fields[column] == wanted) n++
    }
    close("out/" file)
    print n "\t" what
}

BEGIN {
    found("marks left for later", "20-marks.tsv")
    found("public items without documentation", "21-undocumented.tsv")
    found("`unsafe` without a SAFETY comment", "23-unsafe.tsv", 1, "no")
    found("files that may panic outside tests", "24-panics.tsv")
    found("links in Markdown that lead nowhere", "33-broken-links.tsv")
    found("scripts that are not executable", "34-scripts.tsv", 2, "no")
    found("packages locked in several versions", "31-locked-packages.tsv")
    found("groups of identical files", "41-identical-files.tsv")
    found("names that give trouble", "42-unusual-names.tsv")
    found("files with stray whitespace", "43-whitespace.tsv")
}
