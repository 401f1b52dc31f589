# Children are followed, however they are started: one profile per process image, in a file of its own with
# --separate.
. "$HERE/lib.sh"

count() { ls ./*.tmk ./*.tmk.old* 2>/dev/null | wc -l; }

# Started five times; the shell of system() becomes the last of them.
tidemark record -q --separate -o 'c.%n.%p.tmk' "$VICTIMS/spawn"
echo "status $?, spawn has: $(ls c.spawn.*.tmk | wc -l)" | sed 's/: [6-9]$/: enough/'
for profile in c.*.tmk; do
    query "$profile" "SELECT DISTINCT function.name FROM site JOIN path ON path.id = site.path
        JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
        WHERE function.name LIKE 'victim%' AND alloc_count > 0"
done | sort | uniq -c | awk '{ print $1, $2 }'
rm -f ./*.tmk*

# The same without --separate: small processes are rows of one file. Those that live long have one of their own.
small() { # NAME: the other files' processes, and what FILE@PID has of them
    local profile
    for profile in $(tidemark report --json . | jq -r '.profiles[].profile'); do
        query "$profile" "SELECT DISTINCT function.name, alloc_count FROM site JOIN path ON path.id = site.path
            JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
            WHERE function.name LIKE '$1' AND alloc_count > 0"
    done | sort | uniq -c | awk '{ print $1, $2 }'
}
tidemark record -o s.tmk "$VICTIMS/spawn" >/dev/null 2>said
echo "status $?"
small 'victim%'
sed -n 's/^  small        [0-9]* small processes are in /said: small processes are in /p' said
rm -f ./*.tmk*
tidemark record -q -o s.tmk "$VICTIMS/fork" 4
ls s.tmk
tidemark report --json . | jq -c '[.profiles[] | select(.program == "fork")] | length'
rm -f ./*.tmk*

# One name for all: the children's get their own.
tidemark record -q --separate -o one.tmk "$VICTIMS/fork" 4
[ -f one.tmk ] && [ ! -f one.tmk.old ] && echo "one.tmk is the first process"
ls one.fork.*.tmk | wc -l
rm -f ./*.tmk*

tidemark record -q --separate --no-follow -o 'c.%p.tmk' "$VICTIMS/fork" 4
echo "status $?, not followed: $(count)"
rm -f ./*.tmk*
tidemark record -q --separate --no-follow -o 'c.%p.tmk' "$VICTIMS/spawn"
echo "status $?, not followed: $(count)"
rm -f ./*.tmk*

# Only programs of these names: a wrapper's, a fork's, a pattern's; the name of -o is the first one's.
cat >wrapper <<EOF
#!/bin/bash
perl -e '\$x = q(x) x 2e6; fork // die; wait' # two processes
env true | cat
exec "$VICTIMS/fork" 1
EOF
chmod +x wrapper
tidemark record --separate --only=fork -o one.tmk ./wrapper 2>said
echo "status $?, only fork: $(ls ./*.tmk | sed 's/\.[0-9]*\.tmk/.PID.tmk/' | sort | uniq -c | tr -s ' \n' ' ')"
grep -c '^tidemark: fork (pid' said
rm -f ./*.tmk*
tidemark record -q --separate --only='p?rl,cat' -o 'c.%n.%p.tmk' ./wrapper
echo "status $?, two names: $(ls c.perl.*.tmk | wc -l) $(ls c.cat.*.tmk | wc -l) of $(count)"
rm -f ./*.tmk*
# Many profiles: who asked for one program's is told how. Of few, or of one program's forks, nothing is said.
cat >many <<'EOF'
#!/bin/bash
for i in 1 2 3 4 5 6; do env true; done
exec perl -e '$x = q(x) x 2e6'
EOF
chmod +x many
tidemark record --separate -o m.tmk ./many 2>&1 >/dev/null | sed -n 's/^  1[0-9] others/  1N others/; s/is .*/is …/; /others/,$p'
rm -f ./*.tmk*
tidemark record --separate --only=perl -o m.tmk ./many 2>&1 >/dev/null | grep -c 'others\|too many'
tidemark record --separate -o m.tmk perl -e 'for (1 .. 12) { fork // die or exit 0 } wait for 1 .. 12' 2>&1 | grep -o '12 others\|too many'
rm -f ./*.tmk*
tidemark record --separate --only=prel ./wrapper 2>said
echo "status $?, none: $(count)"
sed 's/of [0-9]* programs/of SOME programs/' said
TIDEMARK_OPTIONS='--only=cat' LD_PRELOAD=$(dirname "$BIN")/lib/libtidemark.so cat /dev/null 2>err
echo "status $?, by hand: $(count)"
grep -c -e '--only is for tidemark record' -e 'recording as usual' err
rm -f ./*.tmk*
for wrong in '' ,a a, a,,b /usr/bin/perl; do
    try tidemark record --separate --only="$wrong" true
    sentence '^tidemark record: --only (needs the names|takes names)'
done
try tidemark record --separate --only=true --no-follow true
sentence 'choose one'

# exec keeps the process and its pid, and starts another profile.
tidemark record -q --separate -o 'c.%n.tmk' sh -c 'exec env true'
echo "status $?"
ls c.*env*.tmk c.*true*.tmk | sed 's/\.[0-9]*\.tmk/.tmk/'
rm -f ./*.tmk*

# Of the others the summary names the one that held most. (Above 1 MiB it would lead.)
tidemark record --separate -o 'c.%n.tmk' sh -c '/usr/bin/true; perl -e "\$x = q(x) x 3e5"; /usr/bin/true; true' 2>said
sed -n 's/^  \([0-9]* others .*\) (pid [0-9]*), peak [0-9.]* KiB: /\1 with its peak: /p' said
rm -f ./*.tmk*

# A pipeline, a background child that outlives its parent.
tidemark record -q --separate -o 'c.%n.%p.tmk' bash -c '/usr/bin/printf "%s\n" b a | sort; (sleep 0.3; exec touch late) & exit 6'
echo "status $?"
ls late
ls c.*.tmk | sed 's/\.[0-9]*\.tmk//' | grep -E 'printf|sort|touch' | sort -u
for profile in c.*.tmk; do
    tidemark report "$profile" >/dev/null || echo "$profile cannot be read"
done
rm -f ./*.tmk*

# A server's workers are told apart by their titles, also those that are rows of one file.
tidemark record -q -o t.tmk perl -e '
    for my $n (1 .. 3) {
        next if fork;
        $0 = "srv: worker $n";
        select undef, undef, undef, $n == 3 ? 3 : 0.1; # the third is written before it ends, too
        exit;
    }
    1 while wait > 0;'
tidemark report --json . | jq -r '.profiles[].command | select(startswith("srv"))' | sort
