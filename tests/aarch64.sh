#!/bin/sh
# aarch64.sh SOURCE WORK: the unwinder and its walk test, cross-compiled and run by qemu-user. Skipped
# where the Debian packages are missing: qemu-user, libc6-dev-arm64-cross, and clang with
# binutils-aarch64-linux-gnu and libgcc-12-dev-arm64-cross (`make setup` has them: 77 MB to fetch) or
# gcc-aarch64-linux-gnu (27 MB; Debian 12's replaces gcc-multilib).
set -eu
source=$1
work=$2
root=/usr/aarch64-linux-gnu

skip() {
    echo "skip: $*"
    exit 77
}

works() {
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    "$@" "$work/empty.c" -o "$work/empty" 2>/dev/null
}

mkdir -p "$work"
command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64 (Debian: qemu-user)"
if works aarch64-linux-gnu-gcc; then
    compiler=aarch64-linux-gnu-gcc
elif works clang --target=aarch64-linux-gnu; then
    compiler='clang --target=aarch64-linux-gnu'
else
    skip "no compiler for aarch64 (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
fi

unit=$source/tests/unit/inprocess/unwind
# Headers are included by room, as the build does it.
mkdir -p "$work/rooms"
for room in common/base protocol/wire inprocess/unwind; do
    ln -sfn "$source/src/$room" "$work/rooms/${room#*/}"
done
flags="-std=gnu17 -D_GNU_SOURCE -O2 -w -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
    -fasynchronous-unwind-tables -I$unit/aarch64 -I$unit -I$work/rooms"
for plugin in A:48 B:512; do
    $compiler $flags -fPIC -shared -DPLUGIN_BYTES="${plugin#*:}" "$unit/plugin.c" \
        -o "$work/plugin_${plugin%:*}.so"
done
$compiler $flags -DPLUGIN_A="\"$work/plugin_A.so\"" -DPLUGIN_B="\"$work/plugin_B.so\"" \
    "$unit/test_walk.c" "$source"/src/inprocess/unwind/*.c -o "$work/test_walk" -pthread -ldl
exec qemu-aarch64 -L "$root" "$work/test_walk"
