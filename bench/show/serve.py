"""serve.py TIDEMARK PROFILE [TRACE [JOBDIR]]: see serve.sh. What is asked cold is asked of a server that has just
started and packs in the background meanwhile; warm of one that has packed everything."""
import gzip
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
import urllib.parse

FIRST_PAGE = ["/", "/app.js", "/app.css", "/api/v1/profiles", "/api/v1/p/0/summary", "/api/v1/p/0/insights",
              "/api/v1/p/0/top"]
VIEWS = ["timeline", "code", "paths", "sites", "columns/live_bytes", "columns/peak_ns", "columns/lifetime_sum_ns", "curves",
         "distributions", "residency", "mappings", "threads"]


class Server:
    def __init__(self, program, profile):
        self.begin = time.monotonic()
        environment = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
        self.process = subprocess.Popen([program, "serve", profile], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)
        url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.headers = {"Authorization": "Bearer " + urllib.parse.parse_qs(url.fragment)["token"][0],
                        "Accept-Encoding": "gzip"}
        self.connection = http.client.HTTPConnection(url.hostname, url.port)
        self.opened = self.memory("VmRSS")

    def ask(self, target):
        begin = time.monotonic()
        self.connection.request("GET", target, headers=self.headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return (time.monotonic() - begin) * 1e3, size, answer.status

    def get(self, target):
        self.connection.request("GET", target, headers=self.headers)
        return self.connection.getresponse().read()

    def memory(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{field}:\s*(\d+)", status.read())[1]) / 1e3

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def first_page(program, profile):
    server = Server(program, profile)
    ready = time.monotonic() - server.begin
    for target in FIRST_PAGE:
        server.ask(target)
    whole = time.monotonic() - server.begin
    cold = {name: server.ask(f"/api/v1/p/0/{name}") for name in VIEWS}
    return server, ready, whole, cold


def report_opening(program, file):
    """The server of the last of five rounds."""
    readies, wholes = [], []
    for round_number in range(5):
        server, ready, whole, cold = first_page(program, file)
        readies.append(ready)
        wholes.append(whole)
        if round_number < 4:
            server.end()
    print(f"listening after        {statistics.median(readies) * 1e3:.0f} ms")
    print(f"first page's data after {statistics.median(wholes) * 1e3:.0f} ms (at worst {max(wholes) * 1e3:.0f})")
    return server, cold


def settle(server):
    last = -1
    while server.cpu() != last:
        last = server.cpu()
        time.sleep(0.5)
    return last


def report_memory(server, cpu):
    print(f"CPU until all is packed {cpu:.2f} s")
    print(f"memory                 {server.opened:.0f} MB opened (the profile unpacked), {server.memory('VmHWM'):.0f} MB at most, then {server.memory('VmRSS'):.0f} MB"
          f" ({server.memory('RssAnon'):.0f} its own)")


def report_profile(program, profile):
    print(f"profile                {os.path.getsize(profile) / 1e6:.1f} MB")
    server, cold = report_opening(program, profile)
    report_memory(server, settle(server))
    print("query                       cold ms   warm ms    bytes")
    for name in VIEWS:
        warm = statistics.median(server.ask(f"/api/v1/p/0/{name}")[0] for _ in range(9))
        print(f"{name:26} {cold[name][0]:8.1f} {warm:9.2f} {cold[name][1]:9}")
    server.end()


def report_trace(program, trace):
    print(f"\ntrace                  {os.path.getsize(trace) / 1e6:.1f} MB")
    begin = time.monotonic()
    server = Server(program, trace)
    print(f"replayed and listening after {time.monotonic() - begin:.2f} s")
    settle(server)
    run = int(json.loads(gzip.decompress(server.get("/api/v1/p/0/summary")))["meta"]["duration_ns"])
    moments = sorted(server.ask(f"/api/v1/p/0/at/{random.randrange(run)}")[0] for _ in range(50))
    print(f"a moment               {statistics.median(moments):.1f} ms (at worst {moments[-1]:.1f})")
    for share in 0.01, 0.1, 1:
        low = int(run * (0.5 - share / 2))
        cold = server.ask(f"/api/v1/p/0/window/{low}-{low + int(run * share)}/summary")
        again = server.ask(f"/api/v1/p/0/window/{low}-{low + int(run * share)}/columns/alloc_bytes")
        print(f"a window of {share * 100:3.0f} %       {cold[0] / 1e3:.2f} s, then a column of it {again[0]:.0f} ms")
    report_memory(server, settle(server))
    server.end()


def report_job(program, job):
    print(f"\njob                    {len([name for name in os.listdir(job) if name.endswith('.tmk')])} ranks")
    server, _ = report_opening(program, job)
    report_memory(server, settle(server))
    print(f"its ranks              {server.ask('/api/v1/p/0/ranks')[0]:.1f} ms, one rank's own profile {server.ask('/api/v1/p/1/summary')[0]:.1f} ms")
    server.end()


def main():
    report_profile(*sys.argv[1:3])
    if len(sys.argv) > 3:
        report_trace(sys.argv[1], sys.argv[3])
    if len(sys.argv) > 4:
        report_job(sys.argv[1], sys.argv[4])


main()
