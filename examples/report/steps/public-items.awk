# Prints file, line, item and "yes" or "no" for its documentation, of every public item outside tests.
BEGIN { getline root < "out/source.txt" }

/\.rs$/ && !is_test_file($0) {
    path = $0
    number = 0
    documented = 0
    depth = 0
    while ((getline line < (root "/" path)) > 0) {
        number++
        if (in_tests(line, number)) continue

        # An attribute, on one line or several, stands between an item and its documentation.
        if (line ~ /^[ \t]*#\[/ || depth > 0) {
            if (line ~ /doc *=|doc\(hidden\)/) documented = 1
            depth += open_brackets(line)
            continue
        }
        if (line ~ /^[ \t]*(\/\/\/|\/\*\*|\*\/|\* )/) {
            documented = 1
            continue
        }
        if (line ~ /^[ \t]*\/\//) continue

        item = public_item(line)
        # A module in a file of its own is documented there.
        if (item != "" && !(item ~ /^mod / && line ~ /;/))
            print path "\t" number "\t" item "\t" (documented ? "yes" : "no")
        documented = 0
    }
    close(root "/" path)
}
