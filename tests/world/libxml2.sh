# libxml2-utils: reads, checks and queries XML
{ echo '<list>'; for i in $(seq 1 5000); do echo "<item id='$i'><name>n$i</name><v>$((i % 7))</v></item>"; done; echo '</list>'; } >list.xml
same format xmllint --format list.xml
same query xmllint --xpath 'count(//item[v=3])' list.xml
echo '<a><b></a>' >broken.xml
same broken xmllint broken.xml
