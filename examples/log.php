<?php
// Counts the visits of a log that it makes up, and forgets nobody: see doc/COOKBOOK.md.
class Visitor
{
    private static array $known = [];
    private array $pages = [];

    private function __construct(public readonly string $address)
    {
    }

    static function of(string $address): self
    {
        return self::$known[$address] ??= new self($address);
    }

    function saw(string $page): void
    {
        $this->pages[] = $page;
    }

    static function count(): int
    {
        return count(self::$known);
    }
}

function parse(string $line): array
{
    preg_match('/^(\S+) GET (\S+)/', $line, $parts);
    return $parts;
}

$lines = (int) ($argv[1] ?? 200_000);
for ($i = 1; $i <= $lines; $i++) {
    [, $address, $page] = parse(sprintf('10.%d.%d.%d GET /page/%d 200', $i % 7, $i % 101, $i % 97, $i % 1000));
    Visitor::of($address)->saw($page);
}
printf("%d visits by %d visitors\n", $lines, Visitor::count());
