# valgrind: a simulated processor, whose own malloc stands in front of ours in what it runs
# Its kernel does not map shared memory a second time: what it runs is not recorded, and not harmed.
unharmed lackey valgrind -q --tool=lackey --log-file=/dev/null true
unharmed memcheck valgrind -q --log-file=/dev/null --error-exitcode=9 "$BUILD/../victims/basic" 1
