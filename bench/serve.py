"""serve.py TIDEMARK PROFILE: see serve.sh. What is asked cold is asked of a server that has just
started and packs in the background meanwhile; warm of one that has packed everything."""
import http.client
import os
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
        self.headers = {"Authorization": "Bearer " + urllib.parse.parse_qs(url.query)["token"][0],
                        "Accept-Encoding": "gzip"}
        self.connection = http.client.HTTPConnection(url.hostname, url.port)

    def ask(self, target):
        begin = time.monotonic()
        self.connection.request("GET", target, headers=self.headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return (time.monotonic() - begin) * 1e3, size, answer.status

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


def main():
    program, profile = sys.argv[1:]
    readies, wholes = [], []
    for round_number in range(5):
        server, ready, whole, cold = first_page(program, profile)
        readies.append(ready)
        wholes.append(whole)
        if round_number < 4:
            server.end()
    print(f"profile                {os.path.getsize(profile) / 1e6:.1f} MB")
    print(f"listening after        {statistics.median(readies) * 1e3:.0f} ms")
    print(f"first page's data after {statistics.median(wholes) * 1e3:.0f} ms (at worst {max(wholes) * 1e3:.0f})")
    last = -1
    while server.cpu() != last:
        last = server.cpu()
        time.sleep(0.5)
    print(f"CPU until all is packed {last:.2f} s")
    print(f"memory                 {server.memory('VmHWM'):.0f} MB at most, then {server.memory('VmRSS'):.0f} MB"
          f" ({server.memory('RssAnon'):.0f} its own)")
    print("query                       cold ms   warm ms    bytes")
    for name in VIEWS:
        warm = statistics.median(server.ask(f"/api/v1/p/0/{name}")[0] for _ in range(9))
        print(f"{name:26} {cold[name][0]:8.1f} {warm:9.2f} {cold[name][1]:9}")
    server.end()


main()
