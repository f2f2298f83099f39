# Adds up out/lines.tsv by directory: lines, files, directory.
BEGIN { FS = "\t" }

{
    folder = $1
    if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
    files[folder]++
    lines[folder] += $3
}

END { for (folder in files) print lines[folder] "\t" files[folder] "\t" folder }
