# strip.awk - strip(line): the line without comments and with empty strings and characters, so that
# a rule sees code only. Call it for every line in order: comments span lines.
# With keep_comments=1 comments stay and only strings and characters are emptied.
FNR == 1 { strip_inside = 0 }

# The end of a string or character that starts at position 1 of text, 0 if it does not end.
function strip_end(text, quote, at, c) {
    for (at = 2; at <= length(text); at++) {
        c = substr(text, at, 1)
        if (c == "\\")
            at++
        else if (c == quote)
            return at
    }
    return 0
}

function strip(line, out, mark, at) {
    out = ""
    while (line != "") {
        if (strip_inside) {
            at = index(line, "*/")
            if (at == 0) {
                return out (keep_comments ? line : "")
            }
            out = out (keep_comments ? substr(line, 1, at + 1) : " ")
            line = substr(line, at + 2)
            strip_inside = 0
        } else if (match(line, /["']|\/\*|\/\//)) {
            out = out substr(line, 1, RSTART - 1)
            mark = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART)
            if (mark == "//")
                return out (keep_comments ? line : "")
            if (mark == "/*") {
                out = out (keep_comments ? "/*" : " ")
                line = substr(line, 3)
                strip_inside = 1
            } else {
                at = strip_end(line, mark)
                out = out mark mark
                if (at == 0)
                    return out
                line = substr(line, at + 1)
            }
        } else {
            return out line
        }
    }
    return out
}
