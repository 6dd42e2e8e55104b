# SPDX-License-Identifier: Apache-2.0
# The public headers as one page of Markdown, in their own order: what stands before a declaration as
# text, the declaration as code under a heading of its names, and an index of these.
# Used by api.sh.

function flush_text()
{
    if (text != "")
        body = body text "\n"
    text = ""
}

# The names that a chunk of code declares.
function names_of(code, list, rest, name)
{
    list = ""
    rest = code
    gsub(/\/\*[^*]*\*\//, "", rest)
    while (match(rest, /(HAL_API|static inline)[^;({]*[ *]hal_[a-z0-9_]+\(|(struct|enum) hal_[a-z0-9_]+ \{|typedef [^;]*\(\*?hal_[a-z0-9_]+\)|#define HAL_[A-Z0-9_]+/)) {
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/\(\*?$|\)$| \{$/, "", name)
        sub(/^.*[ *(]/, "", name)
        if (index(", " list ",", ", " name ",") == 0)
            list = list (list == "" ? "" : ", ") name
    }
    return list
}

# As forges make them from headings.
function anchor_of(heading)
{
    heading = tolower(heading)
    gsub(/[^a-z0-9_ -]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}

function flush_code(names, count, i, list)
{
    if (code == "")
        return
    names = names_of(code)
    if (names != "") {
        body = body "### " names "\n\n"
        count = split(names, list, ", ")
        for (i = 1; i <= count; i++)
            place[list[i]] = anchor_of(names)
    }
    flush_text()
    body = body "```c\n" code "```\n\n"
    code = ""
}

# A comment's line without its stars; deeper ones are code in Markdown as they are here.
function add_text(line)
{
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/ ?\*\/$/, "", line)
    if (line !~ /^    /) {
        gsub(/</, "\\&lt;", line)
        gsub(/\*/, "\\*", line)
    }
    text = text line "\n"
}

FNR == 1 {
    flush_code(); flush_text()
    body = body "## " FILENAME "\n\n"
    depth = 0
    next
}
/^\/\* ---- / {
    flush_code(); flush_text()
    sub(/^\/\* ---- /, ""); sub(/ -* ?\*\/$/, "")
    body = body "## " $0 "\n\n"
    next
}
/^#(ifndef|define) HAL_[A-Z_]*_H$|^#endif$|^#include|^#ifdef __cplusplus|^extern "C"|^}$/ { next }
/^\/\*/ && !in_comment { flush_code(); flush_text(); in_comment = 1 }
in_comment { add_text($0); if (/\*\/$/) in_comment = 0; next }
/^$/ { flush_code(); flush_text(); next }
{ code = code $0 "\n" }

END {
    flush_code(); flush_text()
    print "# The C interface\n"
    print "Made from the public headers by `hal/install/api.sh`; they are what counts.\n"
    count = 0
    for (name in place)
        sorted[++count] = name
    for (i = 2; i <= count; i++) # an insertion sort: not every awk has one of its own
        for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) {
            other = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = other
        }
    line = ""
    for (i = 1; i <= count; i++)
        line = line (i > 1 ? ",\n" : "") "[" sorted[i] "](#" place[sorted[i]] ")"
    print line "\n"
    gsub(/\n\n\n+/, "\n\n", body)
    sub(/\n+$/, "\n", body)
    printf "%s", body
}
