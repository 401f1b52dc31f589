# groff-base: sets a manual page
page=$(ls /usr/share/man/man1/bash.1.gz /usr/share/man/man1/*.1.gz 2>/dev/null | head -1)
[ -n "$page" ] || skip "no manual pages"
zcat "$page" >page.1
same text groff -man -Tutf8 page.1
SOURCE_DATE_EPOCH=0 same postscript groff -man -Tps page.1
