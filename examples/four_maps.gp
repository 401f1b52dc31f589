# Draws what four_maps wrote: gnuplot examples/four_maps.gp, in the directory of the files.
set terminal svg size 900,500 background "white"
set output "four_maps.svg"
set title "Memory of four maps while they are filled, searched and destroyed"
set xlabel "seconds"
set ylabel "MiB"
set key top right
set grid
plot for [name in "map unordered vector deque"] "four_maps-".name.".txt" \
    using 1:($2 / 1048576) with steps linewidth 2 title name
