# What a file is, by its name.

function base_name(path) {
    sub(/^.*\//, "", path)
    return path
}

# Letters after the last dot, in lower case; "" where there are none (`Makefile`, `.gitignore`).
function extension(path,    base) {
    base = base_name(path)
    if (base !~ /.\.[^.]+$/) return ""
    sub(/^.*\./, "", base)
    return tolower(base)
}

function language(path,    base, ext) {
    base = base_name(path)
    ext = extension(path)
    if (ext in languages) return languages[ext]
    if (base ~ /^(LICEN[CS]E|COPYING|NOTICE|AUTHORS)/) return "Text"
    if (base ~ /^(Makefile|GNUmakefile)$/) return "Make"
    if (base == "Dockerfile") return "Docker"
    if (base == "Cargo.lock") return "TOML (lock)"
    return "Other"
}

# Whether a line, its leading blanks removed, is nothing but a comment.
function is_comment(lang, line) {
    if (lang in slash_comments) return line ~ /^(\/\/|\/\*|\*\/|\* )/
    if (lang in hash_comments) return line ~ /^#/
    return 0
}

BEGIN {
    split("rs Rust sh Shell bash Shell zsh Shell fish Shell awk Awk py Python js JavaScript mjs JavaScript ts TypeScript " \
          "c C h C cc C++ cpp C++ hpp C++ go Go java Java rb Ruby toml TOML json JSON jsonl JSON yaml YAML yml YAML " \
          "md Markdown html HTML css CSS sql SQL txt Text snap Snapshot proptest-regressions Text lock Lock", pairs, " ")
    for (i = 1; i in pairs; i += 2) languages[pairs[i]] = pairs[i + 1]
    delete languages["lock"]

    split("Rust JavaScript TypeScript C C++ Go Java CSS", names, " ")
    for (i in names) slash_comments[names[i]]
    split("Shell Awk Python Ruby TOML YAML Make Docker", names, " ")
    for (i in names) hash_comments[names[i]]
}
