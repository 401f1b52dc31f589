# man-db groff-base: a pipeline whose parts are in seccomp sandboxes
numbers 300 | awk 'BEGIN { print ".TH X 1\n.SH NAME\nx \\- y\n.SH TEXT" } { print ".B " $1 "\nand more text" }' >x.1
export MANWIDTH=80 MANPAGER=cat PAGER=cat HOME=$work
same page man -P cat -l x.1
same lexgrog lexgrog x.1
mkdir -p tree/man1 && cp x.1 tree/man1/
same index mandb -q -u -c tree
