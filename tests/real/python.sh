#!/bin/bash
# python3: extension modules, threads, subprocesses, an uncaught exception, os._exit, os.fork.
. "$(dirname "$0")/lib.sh"

need python3
# The interpreter itself: python3 in PATH may be a script that looks for it.
python=$(python3 -c 'import sys; print(sys.executable)')
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
same plain "$python" -c 'import json, re, decimal
print(json.dumps({str(i): [i] * 10 for i in range(1000)})[:100])
print(decimal.Decimal(2).sqrt())'
same threads "$python" -c 'import threading
total = []
def work(n): total.append(sum(len(str(i) * 20) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000,)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(total))'
same raises "$python" -c 'raise SystemExit(17)'
same exits "$python" -c 'import os, sys; print("out"); sys.stdout.flush(); os._exit(18)'
same children "$python" -c 'import os, subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True).stdout)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    x = [bytes(i) for i in range(1000)]
    os._exit(9)
print(os.waitpid(pid, 0)[1])'
exit $failed
