# Prints path, language, lines, blank lines, comment lines, length of the longest line and where that is.
BEGIN { getline root < "out/source.txt" }

{
    path = $0
    lang = language(path)
    lines = blank = comment = longest = longest_at = 0
    while ((getline line < (root "/" path)) > 0) {
        lines++
        if (length(line) > longest) {
            longest = length(line)
            longest_at = lines
        }
        sub(/^[ \t\r]+/, "", line)
        if (line == "") blank++
        else if (is_comment(lang, line)) comment++
    }
    close(root "/" path)
    print path "\t" lang "\t" lines "\t" blank "\t" comment "\t" longest "\t" longest_at
}
