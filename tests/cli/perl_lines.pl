# Keeps blocks of a mebibyte, each at a line and with callers that Perl itself tells (caller), in each
# way that Perl runs code. Prints for each the path that a profile has to have, innermost frame first.
use strict;
use warnings;
use utf8;
use threads;
use List::Util qw(first reduce);

our ($N, @kept, %said) = (1 << 20);
my $mode = shift // '';

# What is called at the line that has just made a block.
sub said {
    my @frames;
    my ($at, $file) = ((caller 0)[2], (caller 0)[1]);
    for (my $i = 1; ; $i++) {
        my ($in, $line, $sub, $text, $required) = (caller $i)[1, 2, 3, 6, 7];
        last unless defined $sub;
        next if $sub eq '(eval)' && !defined $text; # a block of this sub
        $sub = '<eval>' if $sub eq '(eval)';
        $sub = '<file>' if $required;
        $sub =~ s/^main:://;
        push @frames, "$sub:$at";
        $at = $line;
    }
    push @frames, "<main>:$at";
    my $path = join ' < ', @frames;
    utf8::encode($path);
    $said{$path}++;
}
BEGIN { our $N = 1 << 20; my $s = ''; vec($s, $N, 8) = 1; push our @kept, \$s; our %early; $early{'begin'} = 1 }

sub plain { my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said() }
sub caller_of {
    plain();
    my @list = map {
        plain()
    } 1 .. 2;
}
sub recursive {
    my ($depth) = @_;
    return plain() unless $depth;
    recursive($depth - 1);
}
sub many_lines {
    for my $i (1 .. 3) {
        if ($i == 2) {
            my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said();
        } else {
            my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said();
        }
    }
}
sub größe { my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said() }

package Shape {
    sub new { my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said(); bless {}, shift }
    sub area { my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said(); 1 }
    use overload '+' => sub { my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said(); 1 };
    our $AUTOLOAD;
    sub AUTOLOAD { my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said() }
    sub DESTROY { return if $main::over; my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said() }
}
package Shape::Round {
    our @ISA = 'Shape';
    sub area { my ($self) = @_; $self->SUPER::area() }
}
package Tied {
    sub TIESCALAR { bless [], shift }
    sub FETCH { my $s = ''; vec($s, $main::N, 8) = 1; push @main::kept, \$s; main::said(); 1 }
}
our $over = 0;

sub inner { plain() }
sub jumps { goto &inner }
sub by_sort { my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said(); $a <=> $b }
sub in_signal { my $s = ''; vec($s, $N, 8) = 1; push @kept, \$s; said() }

sub everything {
    plain();
    caller_of();
    recursive(4);
    many_lines();
    größe();
    my $anonymous = sub { plain() };
    $anonymous->();
    my @made = map { my $i = $_; sub { plain() if $i } } 1 .. 3;
    $_->() for @made;
    my $shape = Shape::Round->new;
    $shape->area;
    my $sum = $shape + 1;
    $shape->missing;
    undef $shape;
    tie my $tied, 'Tied';
    my $value = $tied;
    my @sorted = sort by_sort 2, 1;
    @sorted = sort { plain(); $a <=> $b } 2, 1;
    my $found = first { plain(); 1 } 1, 2;
    my $reduced = reduce { plain(); $a + $b } 1, 2;
    jumps();
    eval { plain(); die "out\n" };
    plain() if $@ eq "out\n";
    eval { eval { plain(); die "in\n" }; plain(); die "out\n" };
    local $SIG{__WARN__} = sub { plain() };
    warn "here";
    local $SIG{USR1} = \&in_signal;
    kill USR1 => $$ if $mode ne 'thread';
    "text" =~ /(?{ plain() })t/;
    (my $copy = 'aa') =~ s/a/plain(); 'b'/ge;
    # Code that comes and goes at the same addresses, with other names and lines.
    for my $i (1 .. 4) {
        no warnings 'redefine';
        eval "\n" x $i . "sub made_$i { plain() } plain(); made_$i(); 1" or die;
        my $short = eval "\n" x $i . 'sub { plain() }';
        $short->();
        undef $short;
    }
    my $file = $main::ENV{PERL_LINES_FILE};
    open my $out, '>', $file or die;
    print $out "package Loaded; main::plain();\n\n\nsub more { main::plain() } more(); 1;\n";
    close $out;
    require $file;
    do $file;
    no strict 'refs';
    *{"Other::renamed"} = \&plain;
    Other::renamed();
    &{"Loaded::more"}();
# line 1000 "other_file.pl"
    plain();
}

if ($mode eq 'fork') {
    my $child = fork // die;
    everything() unless $child;
    waitpid $child, 0 if $child;
} elsif ($mode eq 'thread') {
    threads->create(sub { everything(); $over = 1; print "$said{$_} $_\n" for sort keys %said; 1 })->join;
    $over = 1;
    exit 0;
} else {
    everything();
}
$over = 1;
print "$said{$_} $_\n" for sort keys %said;
