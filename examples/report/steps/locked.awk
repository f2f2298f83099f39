# Prints number of versions, package and versions from every Cargo.lock.
BEGIN { getline root < "out/source.txt" }

/(^|\/)Cargo\.lock$/ {
    while ((getline line < (root "/" $0)) > 0) {
        if (line ~ /^name = /) { name = line; gsub(/^name = "|"$/, "", name) }
        if (line ~ /^version = / && name != "") {
            gsub(/^version = "|"$/, "", line)
            if (!((name, line) in seen)) {
                seen[name, line]
                count[name]++
                versions[name] = versions[name] (versions[name] == "" ? "" : ", ") line
            }
            name = ""
        }
    }
    close(root "/" $0)
}

END { for (name in count) print count[name] "\t" name "\t" versions[name] }
