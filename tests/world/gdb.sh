# gdb: reads our own debug information, runs a program
same lines gdb --batch -nx -ex 'info functions victim_' -ex 'info line main' -ex 'ptype struct timespec' "$BUILD/../victims/basic"
same run gdb --batch -nx -ex 'set disable-randomization on' -ex 'break victim_small' -ex run -ex 'bt -frame-arguments none' -ex kill --args "$BUILD/../victims/basic" 1
