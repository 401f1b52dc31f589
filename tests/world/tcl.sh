# tcl: lists, arrays, a subinterpreter
echo 'set l {}; for {set i 0} {$i < 20000} {incr i} {lappend l [expr {$i * 7919 % 10007}]; set a($i) x$i}
puts [lindex [lsort -integer $l] 777]; set s [interp create]; puts [$s eval {string length [string repeat abc 10000]}]
interp delete $s; puts [array size a]; error wrong' >script.tcl
same run tclsh script.tcl
