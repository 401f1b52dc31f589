# truth: healthy
# what: ngspice runs a transient analysis
# needs: ngspice
printf 'rc\nv1 1 0 sin(0 1 1k)\nr1 1 2 1k\nc1 2 0 1u\nd1 2 3 m\nr2 3 0 10k\n.model m d\n.tran 1u 50m\n.print tran v(3)\n.end\n' >a.cir
record ngspice -b a.cir >out
