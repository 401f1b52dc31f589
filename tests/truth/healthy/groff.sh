# truth: healthy
# what: groff sets a text as PostScript
# needs: groff
{ echo .TH X 1; numbers 2000; } >in.man
record groff -man -Tps in.man >/dev/null 2>&1
