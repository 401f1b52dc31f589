#!/bin/bash
# Ghostscript renders a page to a file.
. "$(dirname "$0")/lib.sh"

need gs
cat >"$work/page.ps" <<'X'
%!PS
/Times-Roman findfont 40 scalefont setfont
0 1 30 { /i exch def i 20 mul 40 add i 20 mul 60 add moveto (tidemark) show } for
0.5 setgray 100 100 300 200 rectfill
showpage
X
same page gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r72 -sOutputFile=- "$work/page.ps"
[ "$(wc -c <"$work/out")" -gt 100000 ] || fail "no picture came out"
exit $failed
