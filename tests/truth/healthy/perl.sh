# truth: healthy
# what: perl fills a hash and matches lines
# needs: perl
# small: yes
echo 'my %h; for my $i (1..200000) { $h{$i % 3000} .= "x" if "line $i" =~ /(\d+)$/; } print scalar(keys %h), "\n";' >program.pl
record perl program.pl >/dev/null
