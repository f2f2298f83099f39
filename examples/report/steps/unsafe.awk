# Prints "yes" or "no" for a SAFETY comment within the six lines before, file, line and code of every `unsafe`.
BEGIN { getline root < "out/source.txt" }

/\.rs$/ {
    path = $0
    number = 0
    reason_at = -9
    while ((getline line < (root "/" path)) > 0) {
        number++
        if (line ~ /SAFETY:|# Safety/) reason_at = number
        code = line
        sub(/^[ \t]+/, "", code)
        if (code !~ /^\/\// && code ~ /(^|[^A-Za-z_"])unsafe[ \t]+([{]|fn|impl|extern|trait)/) {
            gsub(/\t/, " ", code)
            print (number - reason_at <= 6 ? "yes" : "no") "\t" path "\t" number "\t" substr(code, 1, 100)
        }
    }
    close(root "/" path)
}
