# Prints how many, name and directories of the file names that occur in more than one directory.
{
    folder = $0
    if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
    base = base_name($0)
    count[base]++
    folders[base] = folders[base] (folders[base] == "" ? "" : ", ") folder
}

END { for (base in count) if (count[base] > 1) print count[base] "\t" base "\t" folders[base] }
