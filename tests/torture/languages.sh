#!/bin/bash
# Run-times that do unusual things with threads, stacks and signals: Go through cgo, Rust, Java, node,
# python3 with subinterpreters and processes, OpenMP. Output and status are those of the bare run, and
# the account balances. What is not installed is not tried.
. "$(dirname "$0")/lib.sh"
tried=
export GOCACHE=$work/go GOPATH=$work/gopath GOFLAGS=-mod=mod
try() { tried="$tried $1"; same "$@"; }

if command -v go >/dev/null && command -v cc >/dev/null; then
    cat >cgo.go <<'GO'
package main

/*
#include <stdlib.h>
static void *ask(size_t n) { return malloc(n); }
*/
import "C"
import ("fmt"; "os"; "runtime"; "sync"; "unsafe")

func main() {
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			runtime.LockOSThread() // a thread of its own, which ends with the goroutine
			keep := make([][]byte, 0)
			for i := 0; i < 500; i++ {
				block := C.ask(C.size_t(16 + i))
				keep = append(keep, make([]byte, 1000))
				C.free(unsafe.Pointer(block))
			}
			_ = keep
		}()
	}
	group.Wait()
	runtime.GC()
	fmt.Println("cgo: done")
	os.Exit(5)
}
GO
    if go build -o cgo cgo.go 2>go.err; then
        try cgo ./cgo
        [ "$(allocations_of cgo.tmk ask)" -ge 4000 ] || fail "cgo: $(allocations_of cgo.tmk ask) allocations of 4000"
    else
        echo "go cannot build with cgo here: $(tail -1 go.err)"
    fi
fi
if command -v rustc >/dev/null; then
    cat >threads.rs <<'RUST'
use std::collections::HashMap;
use std::thread;
fn main() {
    let threads: Vec<_> = (0..8).map(|t| thread::spawn(move || {
        let mut map = HashMap::new();
        for i in 0..2000u32 { map.insert(i, vec![t as u8; (i % 100) as usize]); }
        map.values().map(|v| v.len()).sum::<usize>()
    })).collect();
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    std::panic::set_hook(Box::new(|_| {})); // it would print thread ids
    let caught = std::panic::catch_unwind(|| { let v: Vec<i32> = Vec::new(); v[sum_of(3)] }).is_err();
    println!("{} {}", sum, caught);
    std::process::exit(6);
}
#[inline(never)] fn sum_of(n: usize) -> usize { (0..n).sum() }
RUST
    # A rustc that cannot compile an empty program is not ours to judge.
    if rustc -g -O threads.rs -o rust 2>rust.err; then try rust ./rust; else echo "rustc cannot compile here: $(tail -1 rust.err)"; fi
fi
if command -v javac >/dev/null && command -v java >/dev/null; then
    cat >Threads.java <<'JAVA'
import java.util.*;
public class Threads {
    public static void main(String[] a) throws Exception {
        List<Thread> threads = new ArrayList<>();
        long[] sum = new long[8];
        for (int t = 0; t < 8; t++) {
            final int me = t;
            Thread thread = new Thread(() -> {
                List<byte[]> keep = new ArrayList<>();
                for (int i = 0; i < 2000; i++) { keep.add(new byte[i]); sum[me] += i; }
                try { deep(0); } catch (StackOverflowError e) { sum[me]++; } /* its guard pages, its SIGSEGV */
                try { Object o = null; o.hashCode(); } catch (NullPointerException e) { sum[me]++; }
            });
            threads.add(thread); thread.start();
        }
        for (Thread t : threads) t.join();
        System.gc();
        System.out.println(Arrays.stream(sum).sum());
        System.exit(7);
    }
    static int deep(int n) { return deep(n + 1) + 1; }
}
JAVA
    javac Threads.java && try java java -Xmx64m -XX:+UseSerialGC Threads
fi
if command -v node >/dev/null; then
    try node node -e '
const { Worker, isMainThread, parentPort } = require("worker_threads");
let left = 3, sum = 0;
for (let i = 0; i < 3; i++) {
    const w = new Worker("const { parentPort } = require(\"worker_threads\"); let s = 0; for (let i = 0; i < 20000; i++) s += Buffer.alloc(64).length; parentPort.postMessage(s);", { eval: true });
    w.on("message", v => { sum += v; });
    w.on("exit", () => { if (--left === 0) { console.log(sum); process.exitCode = 8; } });
}'
fi
python=$(command -v python3 >/dev/null && python3 -c 'import sys; print(sys.executable)')
if [ -n "$python" ]; then
    export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
    try subinterpreters "$python" -c '
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import threading
def run():
    for i in range(3):
        one = interpreters.create()
        interpreters.run_string(one, "import json; x = json.dumps([str(i) * 50 for i in range(500)])")
        interpreters.destroy(one)
threads = [threading.Thread(target=run) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
print("subinterpreters: done")'
    for method in fork spawn forkserver; do
        cat >pool.py <<PYTHON
import multiprocessing
def work(n):
    return sum(len(str(i) * 10) for i in range(n))
if __name__ == "__main__":
    multiprocessing.set_start_method("$method")
    with multiprocessing.Pool(2) as pool:
        print(pool.map(work, [1000, 2000, 3000]))
PYTHON
        try "pool_$method" "$python" pool.py
    done
fi
if echo 'int main(void) { return 0; }' | cc -fopenmp -x c - -o openmp 2>/dev/null; then
    cat >openmp.c <<'C'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    long sum = 0;
    for (int round = 0; round < 20; round++) {
        omp_set_num_threads(1 + round % 8);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
        for (int i = 0; i < 200; i++) {
            char *block = malloc(16 + (size_t)i);
            block[i] = 1;
#pragma omp task firstprivate(block)
            free(block);
            sum += i;
        }
    }
    printf("%ld\n", sum);
    return 9;
}
C
    cc -g -O1 -fno-builtin -fopenmp openmp.c -o openmp && try openmp ./openmp
    [ "$(allocations_of openmp.tmk main._omp_fn.0)" -ge 4000 ] || fail "openmp: not all of 4000 allocations"
fi
[ -n "$tried" ] || skip "none of them is installed"
echo "tried:$tried"
exit $failed
