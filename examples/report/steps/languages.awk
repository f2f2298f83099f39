# Adds up out/lines.tsv by language: lines with something else than a comment, comments, blanks, files, language.
BEGIN { FS = "\t" }

{
    files[$2]++
    blank[$2] += $4
    comment[$2] += $5
    rest[$2] += $3 - $4 - $5
}

END { for (lang in files) print rest[lang] "\t" comment[lang] "\t" blank[lang] "\t" files[lang] "\t" lang }
