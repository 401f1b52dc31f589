# truth: healthy
# what: gnuplot draws a surface into a PNG and an SVG
# needs: gnuplot
cat >g <<'X'
set term svg
set output 'o.svg'
set isosamples 120
set hidden3d
splot sin(x)*cos(y)
set output 'p.svg'
plot for [i=1:40] sin(x*i)/i
X
record gnuplot g
