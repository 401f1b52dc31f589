# truth: healthy
# what: man sets a page
# needs: man
numbers 300 | awk 'BEGIN { print ".TH X 1\n.SH NAME\nx \\- y\n.SH TEXT" } { print ".B " $1 "\nand more text" }' >x.1
MANWIDTH=80 record man -P cat -l x.1 >/dev/null
