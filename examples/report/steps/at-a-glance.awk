# Prints label and value of the figures of the whole tree, from what the other steps left in out/.
function rows(file,    n, line) {
    n = 0
    while ((getline line < ("out/" file)) > 0) n++
    close("out/" file)
    return n
}

# Sum of one column.
function sum(file, column,    total, line, fields) {
    total = 0
    while ((getline line < ("out/" file)) > 0) {
        split(line, fields, "\t")
        total += fields[column]
    }
    close("out/" file)
    return total
}

# First row of a sorted file, one column.
function first(file, column,    line, fields) {
    if ((getline line < ("out/" file)) <= 0) line = ""
    close("out/" file)
    split(line, fields, "\t")
    return fields[column]
}

BEGIN {
    print "Files\t" rows("files.txt")
    print "Text files\t" rows("text.txt")
    print "Bytes\t" sum("sizes.tsv", 1)
    print "Lines of text\t" sum("lines.tsv", 3)
    print "Languages\t" rows("10-languages.tsv")
    print "Most lines in\t" first("10-languages.tsv", 5)
    print "Largest file\t" first("11-largest-files.tsv", 3)
    print "Longest text file\t" first("12-longest-files.tsv", 2)
    print "Public items\t" rows("public-items.tsv")
    print "Tests\t" sum("22-tests.tsv", 1)
    print "Dependencies, as declared\t" rows("30-dependencies.tsv")
    print "Packages locked\t" rows("locked.tsv")
}
