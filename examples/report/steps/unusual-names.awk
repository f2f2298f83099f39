# Prints reason and path of the names that give somebody trouble.
{
    if ($0 ~ / /) print "has a space\t" $0
    if ($0 ~ /[^ -~]/) print "not ASCII\t" $0
    if ($0 ~ /["'*?<>|:\\$`]/) print "special character\t" $0
    if (length(base_name($0)) > 100) print "longer than 100 bytes\t" $0
    lower = tolower($0)
    if (lower in seen) print "differs only in case from " seen[lower] "\t" $0
    seen[lower] = $0
}
