# truth: healthy
# what: maxima integrates and factors
# needs: maxima
record maxima --very-quiet --batch-string='for i:1 thru 60 do factor((x+1)^i-1); integrate(1/(1+x^4),x); expand((a+b+c)^20)$' >out
