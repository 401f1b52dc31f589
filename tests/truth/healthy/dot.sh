# truth: healthy
# what: dot lays out 120 nodes
# needs: dot
# One directory of fonts: libpango loses what fontconfig tells it of each font (memcheck says so too), and of many that is a warning.
printf '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir></fontconfig>' >fonts.conf
export FONTCONFIG_FILE=$PWD/fonts.conf
awk 'BEGIN { print "digraph g {"; for (i = 1; i < 120; i++) print "n" int(i / 3) " -> n" i ";"; print "}" }' >in.dot
record dot -Tsvg in.dot -o out.svg
