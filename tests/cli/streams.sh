# Input, output, arguments and environment are the program's own; the summary is on stderr.
. "$HERE/lib.sh"

umask 022
echo "through" | tidemark record -q cat
head -c 300000 /dev/urandom >data
tidemark record -q cat <data | cmp - data && echo "binary data intact"
tidemark record -q sh -c 'printf "%s|" "$@"' sh "two words" "" '*' "a'quote" 'back\slash' $'new\nline'
echo
tidemark record -q sh -c 'echo to stderr >&2' 2>err && cat err

tidemark record -o s.tmk "$VICTIMS/basic" 1 >out 2>err
cat out
lines=$(wc -l <err)
[ "$lines" -ge 4 ] && [ "$lines" -le 10 ] && echo "a summary of at most ten lines" || cat err
grep -q 's\.tmk' err && echo "it names the file"
grep -q 'tidemark report' err && echo "it says how to look at it"
grep -q 'victim_spike' err && echo "it names the top call site"
awk 'length($0) > 110' err
tidemark record -q -o s.tmk "$VICTIMS/basic" 1 2>err >out
echo "with -q: $(wc -c <err) bytes on stderr"

env | sort >bare.env
tidemark record -q env | sort >recorded.env
diff bare.env recorded.env | sed -n 's/^[<>] \([A-Z_]*\)=.*/\1/p' | sort -u | grep -v '^_$'
LD_PRELOAD=libc.so.6 tidemark record -q env | grep '^LD_PRELOAD' | sed 's|=[^:]*/|=|'

ls -l /proc/self/fd | wc -l >bare.fds
tidemark record -q ls -l /proc/self/fd | wc -l | cmp - bare.fds && echo "no descriptor more"
cat <&- 2>/dev/null
bare=$?
tidemark record -q cat <&- 2>/dev/null
[ $? = $bare ] && echo "stdin may be closed"
sh -c 'echo to nowhere' >&- 2>/dev/null
bare=$?
tidemark record -q sh -c 'echo to nowhere' >&- 2>/dev/null
[ $? = $bare ] && echo "so may stdout"
(ulimit -v 300000 && tidemark record -q "$VICTIMS/basic" 8) && echo "under ulimit -v"
tidemark record -q sh -c 'umask' 2>&1

# A limit for files: enough is enough, too little is said, and the program is as it was.
(ulimit -f 20480 && tidemark record -q -o limited.tmk "$VICTIMS/basic" 8 2>&1)
query limited.tmk "SELECT alloc_count > 0, free_count > 0 FROM program"
(ulimit -f 2048 && tidemark record "$VICTIMS/basic" 8; echo "status $?") >out 2>err
cat out
sentence 'files may have 2.00 MiB at most'
# The program keeps the limit that it was started with, and we go up to the hard one.
(ulimit -S -f 2048 && tidemark record -q -o soft.tmk sh -c 'ulimit -f' 2>&1) | head -1
tidemark report soft.tmk >/dev/null && echo "recorded"
