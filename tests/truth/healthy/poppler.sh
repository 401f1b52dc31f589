# truth: healthy
# what: pdftotext and pdftoppm read a document; qpdf packs it
# needs: pdftotext pdftoppm qpdf gs
printf '%%!PS\n/Times-Roman findfont 12 scalefont setfont\n1 1 60 { /p exch def 0 1 40 { /l exch def 72 700 l 15 mul sub moveto (the quick brown fox jumps over the lazy dog) show } for showpage } for\n' >d.ps
gs -q -sDEVICE=pdfwrite -o d.pdf d.ps
record pdftotext d.pdf
record pdftoppm -r 40 -png d.pdf o
record qpdf --object-streams=generate d.pdf e.pdf
