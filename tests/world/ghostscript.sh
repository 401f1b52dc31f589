# ghostscript: PostScript to PDF and to pixels
echo '%!
/Times-Roman findfont 12 scalefont setfont 1 1 60 { dup 12 mul 50 exch moveto (Tidemark ) show 20 string cvs show } for showpage
0 1 200 { 3 mul dup 100 moveto 300 lineto stroke } for showpage' >page.ps
same pixels gs -q -dSAFER -dBATCH -dNOPAUSE -r72 -sDEVICE=pgmraw -sOutputFile=- page.ps
same text gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=txtwrite -sOutputFile=- page.ps
