"""What serve_ask.sh asks of a running server. serve_ask.py URL PROFILE, or URL write: one note."""
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
token = urllib.parse.parse_qs(url.fragment)["token"][0]
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
NOTES = {"format": "tidemark-notes", "version": 1, "notes": [{"id": "1", "text": "x"}], "views": []}


def ask(name, method="GET", body=None, token=token, **headers):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    connection.request(method, "/api/v1/p/0/" + name, body, fields)
    answer = connection.getresponse()
    result = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return result


def rows(sql):
    status, _, body = ask("query", "POST", sql)
    said = json.loads(body)
    return said["rows"] if status == 200 else (status, said["detail"])


def text(notes):
    return json.dumps(notes, separators=(",", ":"))


def write(notes, **headers):
    status, _, body = ask("notes", "PUT", text(notes) if isinstance(notes, dict) else notes, **headers)
    return status, json.loads(body).get("detail", "written")


def tag():
    return ask("notes")[1]["ETag"]


def sql(profile):
    wanted = subprocess.run(["tidemark", "query", "-f", "json", profile,
                             "SELECT function, at_peak_bytes FROM functions ORDER BY 2 DESC, 1"],
                            capture_output=True, check=True).stdout
    said = rows("SELECT function, at_peak_bytes FROM functions ORDER BY 2 DESC, 1")
    print("as the command has it", said == [list(row.values()) for row in json.loads(wanted)] and len(said) > 2)
    listed = subprocess.run(["tidemark", "query", profile], capture_output=True, check=True).stdout
    status, headers, body = ask("query")
    print("what can be asked", status, headers["Content-Type"], headers["Cache-Control"], body.split()[0] == listed.split()[0])
    print(rows("SELECT NULL, '', 'x', 1, 1.5, 9007199254740992, 9007199254740993, x'00ff', 9e999, '1'"))
    print(json.loads(ask("query", "POST", "SELECT 1 AS a, 2 AS a WHERE 0")[2]))
    for statement in ("DROP TABLE site", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "PRAGMA journal_mode=WAL",
                      "SELECT load_extension('x')", "SELEKT", "", " ; ", "SELECT 1; SELECT 2", "SELECT zeroblob(1 << 27)"):
        print(statement, rows(statement))
    print("64 KiB", ask("query", "POST", "SELECT 1 --" + "x" * (1 << 16))[0], ask("query", "POST", b"SELECT 1\0")[0])
    print("without the token", ask("query", "POST", "SELECT 1", token=None)[0], ask("query", token=None)[0])
    print("other methods", [ask("query", method)[0] for method in ("PUT", "DELETE")],
          ask("notes", "POST")[0], ask("query", "PUT")[1]["Allow"], ask("summary", "POST", "x")[1]["Allow"])


def bounds():
    said = json.loads(ask("query", "POST", ENDLESS.format("i"))[2])
    print("rows", len(said["rows"]), said["more"])
    said = json.loads(ask("query", "POST", ENDLESS.format("printf('%.*c', 100000, 'x')"))[2])
    print("bytes", 80 <= len(said["rows"]) <= 90, said["more"])
    print(rows(ENDLESS.format("count(*)")))
    # Each step makes a value of 57 MiB: between two looks that would be all memory, or minutes.
    large = ENDLESS.format("hex(zeroblob(30000000)) || i AS value")
    print(rows(f"SELECT length(value) FROM ({large} ORDER BY 1)"))
    print("a row", len(ask("query", "POST", "SELECT %s FROM (SELECT printf('%%.*c', 1000000, 'x') AS x)" % ", ".join("x" * 1000))[2]) < 1e7)
    # One who goes is not answered, and the next one does not wait for it.
    gone = socket.create_connection((url.hostname, url.port))
    body = ENDLESS.format("count(*)").encode()
    gone.sendall(b"POST /api/v1/p/0/query HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
                 % (url.hostname.encode(), url.port, token.encode(), len(body), body))
    time.sleep(0.3)
    print("others are answered meanwhile", ask("summary")[0])
    gone.close()
    began = time.monotonic()
    print("when one has gone", rows("SELECT 1"), time.monotonic() - began < 15)


def notes():
    status, headers, body = ask("notes")
    print("none yet", status, headers["Content-Type"], headers["Cache-Control"], json.loads(body))
    print("no tag", write(NOTES))
    first = tag()
    print("first", write(NOTES, If_Match=first), json.loads(ask("notes")[2]) == NOTES)
    print("an old tag", write(NOTES, If_Match=first))
    print("again", write({**NOTES, "notes": []}, If_Match=tag()), json.loads(ask("notes")[2])["notes"])
    for body in ("no notes", "", '{"format":"x"}', b"\xff\xfe", '{"format":"tidemark-notes","version":1,"notes":"\0"}'):
        print(repr(body)[:20], write(body, If_Match=tag())[0])
    print("1 MiB", write(text(NOTES) + " " * (1 << 20), If_Match=tag())[0])
    print("without the token", ask("notes", "PUT", text(NOTES), token=None, If_Match=tag())[0], ask("notes", token=None)[0])
    print("from elsewhere", ask("notes", "PUT", text(NOTES), Origin="http://evil.example", If_Match=tag())[0])


def stuck():
    """A function that computes for hours, whose statement nobody looks at meanwhile."""
    body = b"SELECT instr(a, substr(a, 1, 15000000) || 'b') FROM (SELECT hex(zeroblob(30000000)) AS a)"
    gone = socket.create_connection((url.hostname, url.port))
    gone.sendall(b"POST /api/v1/p/0/query HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
                 % (url.hostname.encode(), url.port, token.encode(), len(body), body))
    time.sleep(1)


def both(other):
    """Two servers of one profile, and a page of each that writes: how many notes are there then."""
    def write_some(at, secret, name):
        for i in range(30):
            status = 412
            while status == 412:
                asked = http.client.HTTPConnection(at.hostname, at.port, timeout=600)
                fields = {"Authorization": f"Bearer {secret}"}
                asked.request("GET", "/api/v1/p/0/notes", None, fields)
                there = asked.getresponse()
                said = json.loads(there.read())
                said["notes"].append({"id": f"{name}-{i}", "text": "x"})
                asked.request("PUT", "/api/v1/p/0/notes", text(said), {**fields, "If-Match": there.headers["ETag"]})
                answer = asked.getresponse()
                answer.read()
                status = answer.status
                asked.close()
    at = urllib.parse.urlsplit(other)
    writers = [threading.Thread(target=write_some, args=(url, token, "a")),
               threading.Thread(target=write_some, args=(at, urllib.parse.parse_qs(at.fragment)["token"][0], "b"))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    print("of 60 notes", len(json.loads(ask("notes")[2])["notes"]))


if sys.argv[2] == "both":
    both(sys.argv[3])
elif sys.argv[2] == "stuck":
    stuck()
elif sys.argv[2] == "write":
    status, headers, body = ask("notes")
    print("read", status, "write", *write(NOTES, If_Match=headers.get("ETag", '""')))
else:
    sql(sys.argv[2])
    bounds()
    notes()
