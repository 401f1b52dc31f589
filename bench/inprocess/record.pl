# Strings, hashes and lists that come and go: what bench/record has perl do.
use strict;
use warnings;

my $text = join ' ', map { 'word' . ($_ * 7919 % 5003) . 'x' x ($_ % 23) } 1 .. 12000;
my $sum = 0;
for my $round (1 .. 28) {
    my %index;
    my $position = 0;
    push @{ $index{$_} }, $position++ for split / /, $text;
    for my $word (sort keys %index) {
        my %record = (word => $word, places => [@{ $index{$word} }], name => ucfirst($word) . $round);
        $record{name} =~ s/x+/-/g;
        $sum += length(join ',', $record{name}, @{ $record{places} });
    }
}
print "$sum\n";
