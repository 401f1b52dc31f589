# truth: healthy
# what: tidy mends a page of 3,000 paragraphs
# needs: tidy
{ echo '<html><body>'; for i in $(seq 3000); do echo "<p>text <b>bold $i <i>both</b></i> <a href=x$i>l</a>"; done; } >a.html
record tidy -q -o b.html a.html 2>/dev/null || true
