# What the benches share. Sets root, bin (what is measured: BIN, or build/release/bin) and work, where
# compiled parts and results go. Who stands deeper than bench/ sets up first.
root=$(cd "$(dirname "$0")/${up:-..}" && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
work=$root/build/bench
mkdir -p "$work"

# The workload, the program that measures another, and that which measures the machine, compiled as distributions compile, and not as
# cmake was told: without frame pointers.
compile_workload() {
    for part in inprocess/workload inprocess/limit rusage; do
        "${CC:-cc}" -std=gnu17 -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread \
            -I"$root/src/common" -o "$work/${part#*/}" "$root/bench/$part.c"
    done
}

. "$root/bfm/bench/compile.sh"
