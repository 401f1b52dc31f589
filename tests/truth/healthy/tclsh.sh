# truth: healthy
# what: tclsh with lists and a dictionary
# needs: tclsh
echo 'set d [dict create]; for {set i 0} {$i < 60000} {incr i} { dict set d [expr {$i % 2000}] [list $i a b] }; puts [dict size $d]' >program.tcl
record tclsh program.tcl >/dev/null
