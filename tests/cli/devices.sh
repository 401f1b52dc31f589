# No command opens a device that it is given as a path, to read or to write.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
mknod device c 1 5 2>/dev/null && (: <device) 2>/dev/null || skip "no device can be made here"
tidemark record -q --trace -o run.tmk "$VICTIMS/basic" 1 >/dev/null
python3 "$HERE/devices.py" "$PWD/device" run.tmk run.tmt "$VICTIMS/basic"
[ -c device ] && echo "it is still there"
