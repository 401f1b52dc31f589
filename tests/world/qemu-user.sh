# qemu-user: another processor's program translated while it runs, its address space in ours
RECORD_OPTIONS=--no-follow
same version qemu-x86_64 -version
same run qemu-x86_64 "$BUILD/../victims/basic" 1
same shell qemu-x86_64 /bin/sh -c 'echo $((6 * 7)); exit 3'
# The program inside has our library too, then, and nothing to record into: no harm is done to it.
RECORD_OPTIONS=
unharmed inside qemu-x86_64 "$BUILD/../victims/basic" 1
