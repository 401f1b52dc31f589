# gdb: reads our own debug information, runs a program
same lines gdb --batch -nx -ex 'info functions victim_' -ex 'info line main' -ex 'ptype struct timespec' "$BUILD/../victims/basic"
# Addresses and process ids are each run's own; under record the program that gdb runs is recorded too.
cat >commands <<'GDB'
break victim_small
run
python print(" ".join(f.name() for f in [gdb.newest_frame()] if f))
kill
GDB
same run sh -c 'gdb --batch -nx -x commands --args "$1" 1 2>&1 | grep -x "victim_small"' sh "$BUILD/../victims/basic"
