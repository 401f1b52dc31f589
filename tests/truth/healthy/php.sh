# truth: healthy
# what: php with arrays
# needs: php
echo '<?php $a = []; for ($i = 0; $i < 200000; $i++) { $a[$i % 2000] = "value $i"; } echo count($a), "\n";' >program.php
record php program.php >/dev/null
