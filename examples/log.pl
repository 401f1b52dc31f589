#!/usr/bin/perl
# Counts the visits of a log that it makes up, and forgets nobody: see doc/COOKBOOK.md.
package Visitor;
use strict;
use warnings;

our %known;

sub of {
    my ($class, $address) = @_;
    return $known{$address} //= bless { address => $address, pages => [] }, $class;
}

sub saw {
    my ($self, $page) = @_;
    push @{ $self->{pages} }, $page;
}

package main;

sub parse {
    my ($line) = @_;
    return $line =~ /^(\S+) GET (\S+)/;
}

my $lines = shift // 200_000;
for my $i (1 .. $lines) {
    my ($address, $page) = parse(sprintf "10.%d.%d.%d GET /page/%d 200", $i % 7, $i % 101, $i % 97, $i % 1000);
    Visitor->of($address)->saw($page);
}
printf "%d visits by %d visitors\n", $lines, scalar keys %Visitor::known;
