# The probes that tidemark-record(1) lists are in the library.
. "$HERE/lib.sh"
library="$(dirname "$BIN")/lib/libtidemark.so"
[ -f /usr/include/sys/sdt.h ] || [ -f "/usr/include/$(gcc -print-multiarch)/sys/sdt.h" ] || skip "built without sys/sdt.h"
readelf -nW "$library" | grep -A 1 'Provider: tidemark' | sed -n 's/^ *Name: *//p' | sort -u >there
sed -n '/^# PROBES/,/^# /p' "$HERE/../../man/tidemark-record.1.scd" | sed -n '/^\*/p' | tr -d '*,' | tr ' ' '\n' | sort >listed
diff listed there && wc -l <there
