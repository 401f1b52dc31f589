"""What the scenarios ask a running server with."""
import http.client
import json
import struct
import sys
import urllib.parse


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.place = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.fragment)["token"][0]

    def connect(self, target):
        """A connection on which TARGET has been asked for."""
        connection = http.client.HTTPConnection(*self.place, timeout=600)
        connection.request("GET", "/api/v1/" + target, headers={"Authorization": f"Bearer {self.token}"})
        return connection

    def ask(self, target):
        """(status, headers, body)"""
        connection = self.connect(target)
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return result

    def json(self, target):
        status, _, body = self.ask(target)
        if status != 200:
            raise ValueError(f"{target}: {status} {body}")
        return json.loads(body)

    def columns(self, target):
        """(header, {name: numbers}); unknown is None."""
        status, _, body = self.ask(target)
        if status != 200:
            raise ValueError(f"{target}: {status} {body}")
        length, = struct.unpack_from("<I", body, 4)
        header = json.loads(body[8:8 + length])
        codes = {"u8": "B", "u16": "H", "u32": "I", "f64": "d", "u64": "Q"}
        columns = {}
        for entry in header["columns"]:
            numbers = struct.unpack_from(f"<{entry['count']}{codes[entry['type']]}", body, 8 + length + entry["offset"])
            none = entry.get("none") if entry["type"] != "f64" else None
            columns[entry["name"]] = [None if number == none or number != number else int(number) for number in numbers]
        return header, columns

    def missing(self, profile, prefix=""):
        """What is listed and cannot be had."""
        names = self.json(f"p/{profile}/{prefix}summary")["resources"]
        return [name for name in names if name not in ("at", "window", "region") and self.ask(f"p/{profile}/{prefix}{name}")[0] != 200]
