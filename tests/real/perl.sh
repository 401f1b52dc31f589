#!/bin/bash
# perl: hashes, regular expressions, fork, backticks, die.
. "$(dirname "$0")/lib.sh"

need perl
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
same plain perl -e 'my %h; $h{"key $_"} = "x" x ($_ % 100) for 1..20000; print scalar(keys %h), "\n"; print join(",", (sort keys %h)[0..9]), "\n"'
same children perl -e '$| = 1; print "a\n"; if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\n" } else { my @a = (1) x 10000; exit 3 } print `echo b`; system "echo c"'
same dies perl -e 'die "an end\n"'
same killed perl -e 'kill "TERM", $$; sleep 5'
exit $failed
