# Prints file, line, target and the path meant, of every link to a local file in Markdown.
BEGIN { getline root < "out/source.txt" }

/\.(md|markdown)$/ {
    path = $0
    folder = path
    if (!sub(/\/[^\/]*$/, "/", folder)) folder = ""
    number = 0
    fenced = 0
    while ((getline line < (root "/" path)) > 0) {
        number++
        if (line ~ /^ *(```|~~~)/) fenced = !fenced
        if (fenced) continue
        gsub(/`[^`]*`/, "", line)
        while (match(line, /\]\([^) ]+/)) {
            target = substr(line, RSTART + 2, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
            place = target
            sub(/[#?].*$/, "", place)
            gsub(/%20/, " ", place)
            gsub(/^<|>$/, "", place)
            if (place == "" || place ~ /^[A-Za-z][A-Za-z0-9+.-]*:/) continue
            if (place ~ /^\//) place = substr(place, 2); else place = folder place
            print path "\t" number "\t" target "\t" place
        }
    }
    close(root "/" path)
}
