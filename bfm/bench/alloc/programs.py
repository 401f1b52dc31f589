"""Real programs under each allocator: CPU time, peak resident set, and that they do the same.

A program that is not installed is left out, with a word. redis-server's work is a fixed number of
requests over the loopback; everything else runs from start to end under rusage.c.
"""
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))

SQL = """
CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT, number INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO t SELECT i, printf('%x-%x', i * 2654435761 % 4294967296, i * 40503 % 65536), i * 7919 % 10007
FROM n;
CREATE INDEX by_word ON t (word);
CREATE INDEX by_number ON t (number);
SELECT count(*), sum(length(word)) FROM t;
SELECT number, group_concat(word) FROM t WHERE number < 40 GROUP BY number ORDER BY max(word) LIMIT 3;
SELECT count(*) FROM t a JOIN t b ON a.number = b.number AND a.id < b.id;
DELETE FROM t WHERE id % 3 = 0;
SELECT count(DISTINCT substr(word, 1, 4)) FROM t;
"""


def here(*parts):
    return os.path.join(ROOT, *parts)


def compiler():
    """What g++ would run, without g++ around it."""
    said = subprocess.run(["g++", "-###", "-std=c++17", "-O1", "-S", "-o", "/dev/null",
                           here("examples", "heavy.cpp")], capture_output=True, text=True).stderr
    for line in said.split("\n"):
        if line.startswith(" ") and "cc1plus" in line:
            return shlex.split(line)
    return None


def commands():
    """(name, argv, stdin)"""
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")
    if shutil.which("g++"):
        yield "g++", compiler(), ""
    if python:
        yield "python3", [os.path.realpath(python), here("bench", "inprocess", "record_python.py")], ""
    if shutil.which("gs"):
        yield "gs", [shutil.which("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pnmraw", "-r72", "-o",
                     "-", here("bench", "inprocess", "record.ps")], ""
    if shutil.which("sqlite3"):
        yield "sqlite3", [shutil.which("sqlite3"), ":memory:"], SQL


def run_command(bench, argv, text, environment):
    report = os.path.join(bench.options.work, "rusage.json")
    done = subprocess.run([os.path.join(bench.options.work, "rusage"), report, "env",
                           *(f"{name}={value}" for name, value in environment.items()), *argv],
                          input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=bench.options.patience)
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.decode()[-200:].strip()}")
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    return {"cpu_ns": found["cpu_ns"], "wall_ns": found["wall_ns"],
            "rss_peak_bytes": max((p["peak_kib"] for p in found["processes"]), default=0) << 10 or None,
            "output": hashlib.sha256(done.stdout).hexdigest()}


# --- redis ---------------------------------------------------------------------------------------------

def status_bytes(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) << 10
    return None


def cpu_ns(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 10 ** 9 // os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def run_redis(bench, server, environment):
    port = free_port()
    process = subprocess.Popen([server, "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                "--appendonly", "no", "--io-threads", "1"], cwd=bench.options.work,
                               env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"redis-server does not answer (exit status {process.poll()})")
            time.sleep(0.05)
        before, began = cpu_ns(process.pid), time.monotonic_ns()
        load = subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-n", "100000", "-c", "20", "-P",
                               "8", "-d", "200", "-r", "100000", "-t",
                               "set,get,incr,lpush,lpop,sadd,hset,zadd"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=bench.options.patience)
        if load.returncode != 0:
            raise RuntimeError("redis-benchmark failed: " + load.stderr.decode()[-200:].strip())
        return {"cpu_ns": cpu_ns(process.pid) - before, "wall_ns": time.monotonic_ns() - began,
                "rss_peak_bytes": status_bytes(process.pid, "VmHWM"), "output": None}
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def redis_server(work):
    """Debian's redis-tools has the server too, under another name: it is what it is called."""
    server = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if not server or not shutil.which("redis-benchmark"):
        return None
    link = os.path.join(work, "redis-server")
    if not os.path.islink(link):
        os.symlink(os.path.realpath(server), link)
    return link


def measure(bench):
    listed = [(name, argv, text) for name, argv, text in commands() if argv]
    server = redis_server(bench.options.work)
    outputs = {}
    for turn in range(bench.options.rounds):
        for name, argv, text in listed + ([("redis", None, "")] if server else []):
            for allocator in bench.turned(turn):
                key = ("programs", name, allocator, "time")
                bench.say(f"programs: {name}, {allocator}")
                try:
                    environment = bench.environment(allocator)
                    result = (run_command(bench, argv, text, environment) if argv
                              else run_redis(bench, server, environment))
                    if outputs.setdefault(name, result["output"]) != result["output"]:
                        raise RuntimeError("its output is not that of the others")
                    bench.runs.setdefault(key, []).append(result)
                except (RuntimeError, subprocess.TimeoutExpired) as why:
                    bench.failures[key] = str(why)
    for name in ("g++", "python3", "gs", "sqlite3", "redis"):
        if not (server if name == "redis" else any(row[0] == name for row in listed)):
            print(f"{name} was not run: it is not installed")
