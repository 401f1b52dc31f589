# truth: healthy
# what: dot lays out 120 nodes
# needs: dot
awk 'BEGIN { print "digraph g {"; for (i = 1; i < 120; i++) print "n" int(i / 3) " -> n" i ";"; print "}" }' >in.dot
record dot -Tsvg in.dot -o out.svg
