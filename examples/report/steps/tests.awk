# Counts the tests of each file: #[test] and the attributes that other crates make of it.
BEGIN { getline root < "out/source.txt" }

/\.rs$/ {
    path = $0
    tests = 0
    while ((getline line < (root "/" path)) > 0)
        if (line ~ /^[ \t]*#\[([a-z_]+::)*(test|rstest|test_case)[\](]/) tests++
    close(root "/" path)
    if (tests) print tests "\t" path
}
