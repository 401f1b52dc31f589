# php-cli: extensions loaded with RTLD_DEEPBIND, an allocator of its own over mmap, a JIT
cat >work.php <<'L'
<?php
$a = [];
for ($i = 0; $i < 200000; $i++) $a["k" . ($i * 7919 % 100003)] = str_repeat("x", $i % 40);
ksort($a);
echo count($a), " ", strlen(json_encode($a)), " ", md5(serialize($a)), "\n";
echo preg_match_all('/x{3,7}/', implode(",", array_slice($a, 0, 5000))), "\n";
$d = new DateTime("2024-02-29"); echo $d->modify("+1 year")->format("c"), "\n";
exit(4);
L
same run php work.php
same without_pool env USE_ZEND_ALLOC=0 php work.php
same jit php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M work.php
same modules php -m
