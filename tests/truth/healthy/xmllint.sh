# truth: healthy
# what: xmllint reads a document of 20,000 elements
# needs: xmllint
# small: yes
awk 'BEGIN { print "<a>"; for (i = 0; i < 20000; i++) print "<b id=\"" i "\">text " i "</b>"; print "</a>" }' >in.xml
record xmllint --xpath 'count(//b[@id > 100])' in.xml >/dev/null
