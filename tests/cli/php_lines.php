<?php
// Keeps blocks of a mebibyte, each at a line and with callers that PHP itself tells (debug_backtrace), in
// each way that PHP runs code. Prints for each the path that a profile has to have, innermost frame first;
// functions of PHP's own have no line.
namespace Lines;

ini_set('memory_limit', '-1');
const N = 1 << 20;
$kept = $said = [];
$mode = $argv[1] ?? '';

// What is called at the line that has just made a block.
function said(): void
{
    $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    $path = [];
    for ($i = 1; $i <= count($frames); $i++) {
        $name = $frames[$i]['function'] ?? '<main>';
        if (in_array($name, ['include', 'include_once', 'require', 'require_once', 'eval']) && !isset($frames[$i]['class']))
            $name = $name == 'eval' ? '<eval>' : '<include>';
        if (str_starts_with($name, '{closure:')) // 8.4
            $name = '{closure}';
        $name = isset($frames[$i]['class']) ? strtok($frames[$i]['class'], "\0") . '::' . $name : $name;
        if (isset($frames[$i - 1]['line']) || $name != '<main>')
            $path[] = $name . (isset($frames[$i - 1]['line']) ? ':' . $frames[$i - 1]['line'] : '');
    }
    $path = implode(' < ', $path);
    $GLOBALS['said'][$path] = ($GLOBALS['said'][$path] ?? 0) + 1;
}

function plain() { global $kept; $kept[] = str_repeat('x', N); said(); }
function caller_of()
{
    plain();
    foreach ([1, 2] as $i) {
        plain();
    }
}
function recursive(int $depth)
{
    return $depth ? recursive($depth - 1) : plain();
}
function many_lines()
{
    global $kept;
    for ($i = 1; $i <= 3; $i++) {
        if ($i == 2) {
            $kept[] = str_repeat('x', N); said();
        } else {
            $kept[] = str_repeat('x', N); said();
        }
    }
}
function größe() { global $kept; $kept[] = str_repeat('x', N); said(); }
function defaults($a = 1, ...$rest) { plain(); }

trait Paints
{
    function paint() { plain(); }
    static function mix() { plain(); }
}
abstract class Shape implements \ArrayAccess, \IteratorAggregate, \JsonSerializable, \Countable
{
    use Paints;
    function __construct(protected int $size = 1) { plain(); }
    function area() { plain(); return 1; }
    static function make() { plain(); return new static(2); }
    function __call($name, $arguments) { plain(); }
    static function __callStatic($name, $arguments) { plain(); }
    function __get($name) { plain(); return 1; }
    function __set($name, $value) { plain(); }
    function __toString() { plain(); return 's'; }
    function __invoke() { plain(); }
    function __clone() { plain(); }
    function __destruct() { plain(); }
    function offsetGet($at): mixed { plain(); return 1; }
    function offsetSet($at, $value): void { plain(); }
    function offsetExists($at): bool { plain(); return true; }
    function offsetUnset($at): void { plain(); }
    function getIterator(): \Iterator { plain(); yield 1; plain(); }
    function jsonSerialize(): mixed { plain(); return 1; }
    function count(): int { plain(); return 1; }
    function closure() { return function () { plain(); }; }
}
class Round extends Shape
{
    function area() { plain(); return parent::area(); }
}
enum Suit: string
{
    case Hearts = 'h';
    function color() { plain(); return self::Hearts; }
}
class Wrapper
{
    public $context;
    private $at = 0;
    function stream_open($path, $mode, $options, &$opened) { plain(); return true; }
    function stream_read($count) { plain(); return $this->at++ ? '' : 'text'; }
    function stream_eof() { return $this->at > 0; }
    function stream_stat() { return []; }
}

function leaf() { plain(); yield 1; plain(); return 2; }
function middle() { yield from leaf(); plain(); }
function outer() { yield from middle(); yield from [1, 2]; plain(); }
function with_finally()
{
    try {
        plain();
        throw new \Exception('out');
    } finally {
        plain();
    }
}

function objects()
{
    $shape = new Round;
    $shape->area();
    $shape->paint();
    Round::mix();
    $other = Round::make();
    $shape->missing();
    Round::missing();
    $value = $shape->nothing;
    $shape->nothing = 1;
    $text = "a $shape";
    $shape();
    $copy = clone $shape;
    unset($copy);
    $value = $shape[1];
    $shape[1] = 2;
    isset($shape[1]);
    unset($shape[1]);
    foreach ($shape as $item)
        plain();
    json_encode($shape);
    count($shape);
    $shape->closure()();
    $method = $shape->area(...);
    $method();
    $bound = \Closure::bind(function () { plain(); }, $shape, Round::class);
    $bound();
    Suit::from('h')->color();
    $anonymous = new class { function run() { plain(); } };
    $anonymous->run();
    (new \ReflectionMethod($anonymous, 'run'))->invoke($anonymous);
    $shape = $other = null;
}

function callbacks()
{
    array_map(function ($x) { plain(); }, [1, 2]);
    array_map(fn($x) => plain(), [1]);
    array_map('Lines\plain', [1]);
    $list = [2, 1];
    usort($list, function ($a, $b) { plain(); return $a <=> $b; });
    array_walk($list, static function () { plain(); });
    preg_replace_callback('/a/', function ($m) { plain(); return ''; }, 'aa');
    call_user_func_array('Lines\defaults', ['a' => 2]);
    call_user_func([new class { static function at() { plain(); } }, 'at']);
    array_filter([1], plain(...));
    iterator_to_array((function () { plain(); yield 1; })());
    set_error_handler(function () { plain(); return true; });
    trigger_error('here');
    $nothing = $undefined;
    restore_error_handler();
    spl_autoload_register($load = function ($class) { plain(); });
    try {
        new Missing;
    } catch (\Error) {
    }
    spl_autoload_unregister($load);
    stream_wrapper_register('lines', Wrapper::class);
    file_get_contents('lines://x');
    array_map(fn($x) => array_map(fn($y) => plain(), [1]), [1]);
}

function generators()
{
    foreach (leaf() as $x)
        plain();
    foreach (middle() as $x)
        plain();
    foreach (outer() as $x)
        plain();
    $both = outer();
    $both->current();
    $both->next();
    foreach ((fn() => yield from outer())() as $x)
        plain();
    $fiber = new \Fiber(function ($x) {
        plain();
        \Fiber::suspend();
        plain();
        array_map(function () { plain(); \Fiber::suspend(); plain(); }, [1]);
        foreach (outer() as $x)
            \Fiber::suspend();
    });
    $fiber->start(1);
    while (!$fiber->isTerminated())
        $fiber->resume();
    plain();
}

function throws()
{
    try {
        with_finally();
    } catch (\Exception $e) {
        plain();
    }
    try {
        array_map(function () { try { with_finally(); } finally { plain(); } }, [1]);
    } catch (\Exception) {
        plain();
    }
}

function files()
{
    global $kept;
    // Code that comes and goes at the same addresses, with other names and lines.
    for ($i = 1; $i <= 4; $i++) {
        $lines = str_repeat("\n", $i);
        eval("$lines namespace Lines; function made_$i() { plain(); } plain(); made_$i(); (function () { plain(); })();");
        eval("$lines \$GLOBALS['kept'][] = str_repeat('x', Lines\\N); Lines\\said();");
    }
    $file = getenv('PHP_LINES_FILE');
    for ($i = 0; $i < 3; $i++) {
        file_put_contents($file, "<?php " . str_repeat("\n", $i) . "\\Lines\\plain(); if (!function_exists('more')) {\n function more() {\n\\Lines\\plain(); } }\nmore(); return 1;");
        include $file;
        require $file;
    }
    \more();
    $text = <<<TEXT
        {${plain() ?? 'i'}}
        TEXT;
}

function everything()
{
    plain();
    caller_of();
    recursive(4);
    many_lines();
    größe();
    defaults(1, 2, 3);
    defaults(rest: 1);
    objects();
    callbacks();
    generators();
    throws();
    files();
}

if ($mode == 'fork' && ($child = pcntl_fork())) {
    pcntl_waitpid($child, $status);
    exit(0);
}
everything();
plain();
register_shutdown_function(function () {
    plain();
    ksort($GLOBALS['said']);
    foreach ($GLOBALS['said'] as $path => $count)
        echo "$count $path\n";
});
