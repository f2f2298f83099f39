# Counts the places of each file, outside tests, where the program says that it would rather end.
BEGIN { getline root < "out/source.txt" }

/\.rs$/ && !is_test_file($0) {
    path = $0
    number = 0
    places = 0
    while ((getline line < (root "/" path)) > 0) {
        number++
        if (in_tests(line, number) || line ~ /^[ \t]*\/\//) continue
        places += gsub(/\.unwrap\(\)|\.expect\(|(panic|unreachable|todo|unimplemented)!\(/, "", line)
    }
    close(root "/" path)
    if (places) print places "\t" path
}
