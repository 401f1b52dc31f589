# perl: hashes, regular expressions, fork, a die
same run perl -e 'my %h; $h{$_ % 977} .= "x$_" for 1..50000; my $n = 0; for (sort keys %h) { $n += () = $h{$_} =~ /x\d*7/g } print "$n\n";
    my $p = fork; if (!$p) { my @a = (1) x 10000; exit 3 } waitpid $p, 0; print $? >> 8, "\n"; die "so\n"'
