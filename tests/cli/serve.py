"""What serve.sh asks of a running server. serve.py URL PROFILE: prints what it finds."""
import concurrent.futures
import gzip
import http.client
import json
import select
import socket
import struct
import subprocess
import sys
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
token = urllib.parse.parse_qs(url.fragment)["token"][0]
place = (url.hostname, url.port)


def ask(target, method="GET", body=None, token=token, **headers):
    """(status, headers, body); None as a header's value leaves it out."""
    connection = http.client.HTTPConnection(*place, timeout=300)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    fields = {"Host": f"{url.hostname}:{url.port}", "Authorization": f"Bearer {token}" if token else None}
    fields.update({name.replace("_", "-"): value for name, value in headers.items()})
    for name, value in fields.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    result = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return result


def problem(what, status, answer):
    right = answer[0] == status and answer[1].get("content-type") == "application/problem+json"
    right = right and json.loads(answer[2])["status"] == status
    print(what, status if right else f"{answer} and not {status}")


def raw(data):
    """What comes back for bytes that may be no HTTP: the status line's number, or "nothing": the
    connection is closed, or more is waited for, until the server has waited long enough."""
    with socket.create_connection(place, timeout=60) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            start = client.recv(64)
        except OSError:
            start = b""
    return start.split(b" ")[1].decode() if start.startswith(b"HTTP/") else "nothing"


def access():
    status, headers, body = ask("/", token=None)
    print("the page is everyone's", status, token.encode() not in body)
    status, headers, _ = ask(f"/?token={token}", token=None)
    print("no cookie is set", status, "set-cookie" not in headers, "set-cookie" not in ask("/api/v1/profiles")[1])
    print("by link from another site", ask("/", token=None, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0])
    problem("the page's files, from another site", 403, ask("/app.js", token=None, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"))
    for target in "profiles", "live", "p/0/summary", "p/0/nothing", "p/9/summary", "token":
        problem(f"{target} without", 401, ask(f"/api/v1/{target}", token=None))
    for name in "tidemark", "token", "tidemark-%d" % url.port:
        problem("as a cookie", 401, ask("/api/v1/profiles", token=None, Cookie=f"{name}={token}"))
    problem("in the address", 401, ask(f"/api/v1/profiles?token={token}", token=None))
    problem("with a wrong token", 401, ask("/api/v1/profiles", token="0" * 32))
    problem("with half of it", 401, ask("/api/v1/profiles", token=token[:16]))
    problem("a token is no ticket", 401, ask("/api/v1/token", token=None, Authorization=f"Ticket {token}"))
    problem("no ticket is one", 401, ask("/api/v1/token", token=None, Authorization="Ticket "))
    status, headers, body = ask("/api/v1/profiles", token="0" * 32, Accept="text/html,*/*;q=0.8")
    print("with a wrong token, in a browser", status, headers["content-type"], body.decode().strip())
    kept = {ask(f"/api/v1/{target}")[1]["cache-control"] for target in ("profiles", "p/0/summary", "p/0/paths", "p/0/columns/alloc_bytes")}
    print("no browser keeps a profile", kept)
    problem("another name", 403, ask("/", Host="evil.example"))
    print("no name", ask("/", Host=None)[0])
    print("localhost", ask("/", Host=f"localhost:{url.port}")[0])
    problem("another origin", 403, ask("/api/v1/profiles", Origin="http://evil.example"))
    problem("a null origin", 403, ask("/api/v1/profiles", Origin="null"))
    print("our origin", ask("/api/v1/profiles", Origin=f"http://{url.hostname}:{url.port}")[0])
    for name, value in ("Host", "evil.example"), ("Host", f"{url.hostname}:{url.port}"), ("Origin", "http://evil.example"):
        print("two of", name, raw(f"GET / HTTP/1.1\r\nHost: {url.hostname}:{url.port}\r\nAuthorization: Bearer {token}\r\n"
                                  f"Origin: http://{url.hostname}:{url.port}\r\n{name}: {value}\r\n\r\n".encode()))
    problem("another site", 403, ask("/api/v1/profiles", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"))


def headers():
    _, fields, body = ask("/")
    policy = fields["content-security-policy"]
    print("nosniff", fields["x-content-type-options"])
    print("no inline script", "script-src 'self'" in policy and "script-src 'self' 'unsafe-inline'" not in policy)
    print("no inline style", "style-src 'self';" in policy and "unsafe-inline" not in policy)
    print("no CORS", not any(name.startswith("access-control") for name in fields))
    print("a page", body.startswith(b"<!doctype html>"))


def bodies():
    target = "/api/v1/p/0/summary"
    status, fields, plain = ask(target)
    _, packed_fields, packed = ask(target, Accept_Encoding="br, gzip;q=0.5")
    print("gzip", packed_fields["content-encoding"], gzip.decompress(packed) == plain)
    print("not if unwanted", "content-encoding" not in ask(target, Accept_Encoding="gzip;q=0")[1])
    print("tags differ", fields["etag"] != packed_fields["etag"])
    for tag in fields["etag"], packed_fields["etag"], '"x", ' + fields["etag"]:
        status, _, body = ask(target, If_None_Match=tag)
        print("known", status, len(body))
    print("unknown", ask(target, If_None_Match='"x"')[0])
    status, head, body = ask(target, method="HEAD")
    print("HEAD", status, len(body), head["content-length"] == fields["content-length"], head["etag"] == fields["etag"])
    print("generation", fields["tidemark-generation"])


def refusals():
    for method in "POST", "PUT", "DELETE", "OPTIONS", "TRACE":
        problem(method, 405, ask("/", method=method))
    problem("POST with a body", 405, ask("/", method="POST", body=b"x" * 100, Content_Length="100"))
    print("GET with a body", ask("/api/v1/profiles", body=b"x" * 100, Content_Length="100")[0])
    for target in ("/../../etc/passwd", "/%2e%2e/etc/passwd", "/api/v1/p/0/../../../etc/passwd", "/nothing",
                   "/api/v1/p/9/summary", "/api/v1/p/0/nothing", "/api/v1/p/0/source/99999",
                   "/api/v1/p/0/source/..%2f..%2fetc%2fpasswd", "/api/v1/p/0/columns/alloc_variance"):
        problem(target, 404, ask(target))
    problem("//evil.example/", 400, ask("//evil.example/"))
    problem("a long target", 414, ask("/" + "a" * 5000))
    print("a huge target", ask("/" + "a" * 60000)[0] in (414, 431, 413))
    print("huge headers", ask("/", X_Large="a" * 60000)[0] in (431, 413, 414))
    print("no HTTP", raw(b"\x00\x01\x02\r\n\r\n") in ("400", "nothing"), raw(b"GET\r\n\r\n") in ("400", "nothing"))
    print("no version", raw(b"GET / HTTP/9.9\r\n\r\n") in ("400", "505", "nothing"))
    print("cut off", raw(b"GET / HTTP/1.1\r\nHost: ") in ("400", "nothing"))
    print("two lengths", raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n") in ("400", "413", "nothing"))
    print("and it still answers", ask("/api/v1/profiles")[0])


def column(name):
    body = ask(f"/api/v1/p/0/columns/{name}")[2]
    length, = struct.unpack_from("<I", body, 4)
    entry, = json.loads(body[8:8 + length])["columns"]
    codes = {"u8": "B", "u16": "H", "u32": "I", "f64": "d"}
    return struct.unpack_from(f"<{entry['count']}{codes[entry['type']]}", body, 8 + length + entry["offset"])


def figures(profile):
    report = json.loads(subprocess.run(["tidemark", "report", "--json", profile], capture_output=True, check=True).stdout)
    summary = json.loads(ask("/api/v1/p/0/summary")[2])
    insights = json.loads(ask("/api/v1/p/0/insights")[2])
    print("the report's program", summary["program"] == report["program"], summary["meta"] == report["meta"])
    print("its insights", insights["insights"] == report["insights"])
    for name in "threads", "peaks", "distributions", "samples", "mappings", "globals", "modules":
        answer = ask(f"/api/v1/p/0/{name}")
        print(name, json.loads(answer[2])[name] == report[name] if answer[0] == 200 else report[name] is None)
    for name in "alloc_count", "alloc_bytes", "live_bytes", "at_peak_bytes", "temporary_count":
        print(name, sum(column(name)) == report["program"][name])
    rows = {row["function"]: row for row in report["functions"]["rows"]}
    top = json.loads(ask("/api/v1/p/0/top")[2])["top"][0]["functions"]
    shared = [row for row in top if row["function"] in rows]
    print("top functions", bool(shared) and all(row["inclusive"] == rows[row["function"]]["inclusive"]["at_peak_bytes"] for row in shared))
    missing = [name for name in summary["resources"] if ask(f"/api/v1/p/0/{name}")[0] != 200]
    print("what is listed is there", missing or True)


def many():
    targets = ["/", "/api/v1/profiles", "/api/v1/p/0/summary", "/api/v1/p/0/paths", "/api/v1/p/0/code"] * 60
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        statuses = {answer[0] for answer in pool.map(ask, targets)}
    print("many at once", statuses)
    idle = [socket.create_connection(place, timeout=300) for _ in range(60)]
    print("beside idle ones", ask("/api/v1/profiles")[0])
    for client in idle:
        client.close()
    connection = http.client.HTTPConnection(*place, timeout=300)
    for _ in range(3):
        connection.request("GET", "/api/v1/profiles", headers={"Authorization": f"Bearer {token}"})
        connection.getresponse().read()
        port = connection.sock.getsockname()[1]
    print("one connection for several", connection.sock is not None and port == connection.sock.getsockname()[1])


def drip(client):
    """A header that never ends, a byte at a time, until the server has had enough of it."""
    try:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {url.hostname}:{url.port}\r\nX: ".encode())
        while not select.select([client], [], [], 0.2)[0]:
            client.sendall(b"x")
        return client.recv(64)[:4] != b"HTTP"
    except OSError:
        return True


def crowd(count):
    """Connections that have begun to ask and do not go on: half with a part of a header, half without."""
    clients = [socket.create_connection(place, timeout=300) for _ in range(count)]
    for client in clients[::2]:
        client.sendall(b"GET / HTTP/1.1\r\nHost: ")
    return clients


def crowds():
    kept = http.client.HTTPConnection(*place, timeout=300)
    def by_kept():
        kept.request("GET", "/api/v1/profiles", headers={"Authorization": f"Bearer {token}"})
        answer = kept.getresponse()
        answer.read()
        return answer.status, kept.sock.getsockname()[1]
    before = by_kept()
    clients = crowd(300)
    print("beside 300 half-open ones", {ask("/api/v1/profiles")[0] for _ in range(20)})
    print("who was served before keeps its connection", by_kept() == before)
    clients += crowd(100)
    print("beside 400", {ask("/api/v1/p/0/summary")[0] for _ in range(20)}, by_kept() == before)
    for client in clients:
        client.close()


dripping = socket.create_connection(place, timeout=300)
pool = concurrent.futures.ThreadPoolExecutor(1)
dripped = pool.submit(drip, dripping)
access()
headers()
bodies()
refusals()
figures(sys.argv[2])
many()
print("a header that never ends", dripped.result())
crowds()
