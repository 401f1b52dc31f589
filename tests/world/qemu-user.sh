# qemu-user: another processor's program translated while it runs, its address space in ours
same version qemu-x86_64 -version
# The program inside has its environment without our library: what is recorded is qemu.
same run qemu-x86_64 "$BUILD/../victims/basic" 1
same shell qemu-x86_64 /bin/sh -c 'echo $((6 * 7)); exit 3'
