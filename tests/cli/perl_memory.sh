# Perl's frames lie in memory that moves and goes while they are read: a program runs on as it does alone.
# Everything the C library frees is given back at once here.
. "$HERE/lib.sh"

perl -e 'exit !($] >= 5.028 && $] < 5.042)' 2>/dev/null || skip "no Perl 5.28 to 5.40"
at_once="MALLOC_MMAP_THRESHOLD_=4096 MALLOC_TRIM_THRESHOLD_=0 MALLOC_TOP_PAD_=0"

# The stack of contexts is a block that realloc moves.
cat >deep.pl <<'EOF'
no warnings 'recursion';
my @keep;
sub f { my $n = shift; push @keep, "x" x 5000 if $n % 7 == 0; $n ? f($n - 1) + 1 : 0 }
print f(20000), "\n";
@keep = ();
print f(30000), "\n";
EOF

# A thread's outermost statement is the one that made it, of a string that is freed while the thread runs.
cat >made.pl <<'EOF'
use threads; use threads::shared;
my $ready :shared; my $go :shared;
sub work {
    my @y = map { "x" x $_ } 1 .. 20;
    { lock $ready; $ready = 1; cond_signal($ready) }
    { lock $go; cond_wait($go) until $go }
    my @x = map { "x" x $_ } 1 .. 2000;
    scalar @x
}
my $t;
eval join('', map { "my \$v$_ = $_;\n" } 1 .. 2000) .
    '$t = threads->create(\&work); { lock $ready; cond_wait($ready) until $ready } 1' or die $@;
{ lock $go; $go = 1; cond_signal($go) }
print $t->join, "\n";
EOF

check() { # NAME OPTION…
    name=$1
    shift
    status=0
    env $at_once "$BIN/tidemark" record -q "$@" -o "$name.tmk" perl "$name.pl" >got 2>&1 || status=$?
    echo "$name $*: $status $(tr '\n' ' ' <got)"
}

for options in "" --sample=1k --free-stacks; do
    check deep $options
    if perl -e 'use threads' 2>/dev/null; then
        check made $options
    else
        echo "made $options: 0 2000 "
    fi
done
