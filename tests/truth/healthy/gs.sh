# truth: healthy
# what: ghostscript makes pixels of a page
# needs: gs
echo '%!
/Times-Roman findfont 12 scalefont setfont 1 1 60 { dup 12 mul 50 exch moveto (Tidemark ) show 20 string cvs show } for showpage' >page.ps
record gs -q -dSAFER -dBATCH -dNOPAUSE -r150 -sDEVICE=pgmraw -sOutputFile=out page.ps
