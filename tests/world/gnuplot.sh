# gnuplot-nox: plots surfaces
echo 'set terminal svg; set output; set isosamples 60; set hidden3d; splot sin(x)*cos(y), x*y/50; fit a*x+b "-" via a,b
1 2
2 4.1
3 5.9
e' >plot.gp
same svg gnuplot plot.gp
