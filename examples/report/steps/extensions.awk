# Counts files by the extension of their name.
{ files[extension($0)]++ }

END { for (ext in files) print files[ext] "\t" (ext == "" ? "(none)" : "." ext) }
