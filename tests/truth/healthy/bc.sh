# truth: healthy
# what: bc computes a thousand digits
# needs: bc
echo 'scale = 600; 4 * a(1); for (i = 1; i < 3000; i++) x = x + 1 / i; x' >in.bc
record bc -lq in.bc </dev/null >/dev/null
