# Prints what says it ("text" or "manifest"), the licence, and the file.
BEGIN { getline root < "out/source.txt" }

function licence(text) {
    if (text ~ /Apache License.*Version 2\.0/) return "Apache-2.0"
    if (text ~ /GNU AFFERO GENERAL PUBLIC LICENSE/) return "AGPL"
    if (text ~ /GNU LESSER GENERAL PUBLIC LICENSE/) return "LGPL"
    if (text ~ /GNU GENERAL PUBLIC LICENSE/) return "GPL"
    if (text ~ /Mozilla Public License/) return "MPL"
    if (text ~ /Permission is hereby granted, free of charge/) return "MIT"
    if (text ~ /Redistribution and use in source and binary forms/) return "BSD"
    if (text ~ /free and unencumbered software/) return "Unlicense"
    return "not recognised"
}

/(^|\/)(LICEN[CS]E|COPYING|UNLICENSE)[^\/]*$/ {
    text = ""
    lines = 0
    while (lines++ < 30 && (getline line < (root "/" $0)) > 0) text = text " " line
    close(root "/" $0)
    print "text\t" licence(text) "\t" $0
}

/(^|\/)Cargo\.toml$/ {
    while ((getline line < (root "/" $0)) > 0) {
        if (line ~ /^license\.workspace *= *true/) print "manifest\tthe workspace's\t" $0
        if (line ~ /^license *= *"/) {
            gsub(/^[^"]*"|".*$/, "", line)
            print "manifest\t" line "\t" $0
        }
    }
    close(root "/" $0)
}
