# What the steps that read Rust share. They go line by line and parse nothing, so they are right about code
# that rustfmt has laid out, and may be fooled by code within strings.

function is_test_file(path) {
    return path ~ /(^|\/)(tests|benches)\// || path ~ /(^|\/)tests\.rs$/
}

# Whether a line belongs to an item under #[cfg(test)]. To be asked for every line of a file, in order;
# `number` 1 begins anew.
function in_tests(line, number) {
    if (number == 1) under_test = 0
    if (line ~ /^#\[cfg\(.*[(, ]test[,)]|^#\[cfg\(test\)/ && line !~ /not\(test/) {
        under_test = 1
        return 1
    }
    if (under_test && line ~ /^([^ \t#\/].*)?[;}]$/) {
        under_test = 0
        return 1
    }
    return under_test
}

# How many more brackets a line opens than it closes.
function open_brackets(line) {
    return gsub(/\[/, "", line) - gsub(/\]/, "", line)
}

# The public item that a line declares ("fn open", "field id"), or "". `pub(crate)` is not public.
function public_item(line,    words) {
    if (line !~ /^[ \t]*pub[ \t]/) return ""
    sub(/^[ \t]*pub[ \t]+/, "", line)
    while (sub(/^(async|unsafe|default|extern "[^"]*")[ \t]+/, "", line)) { }
    sub(/^const[ \t]+fn /, "fn ", line)
    if (line ~ /^(fn|struct|enum|union|trait|type|const|static|mod)[ \t]/) {
        split(line, words, /[^A-Za-z0-9_]+/)
        return words[1] " " words[2]
    }
    if (line ~ /^[a-z_][A-Za-z0-9_]*:[^:]/) {
        sub(/:.*/, "", line)
        return "field " line
    }
    return ""
}
