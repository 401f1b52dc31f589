"""Large and small objects that come and go: what bench/record has python3 do. Blocks above 512 bytes
come from malloc, smaller ones from Python's own arenas, so a good part is large."""
import json

total = 0
for turn in range(70):
    rows = [{"id": i, "name": "row %d" % i * 3, "data": bytes(600 + i % 700)} for i in range(6000)]
    groups = {}
    for row in rows:
        groups.setdefault(row["id"] % 97, []).append(row["data"] + row["name"].encode())
    text = json.dumps({key: [str(part[:5]) for part in parts] for key, parts in groups.items()})
    total += len(text) + sum(len(b"".join(parts)) for parts in groups.values())
    total += sum(len(str(3 ** (4000 + i))) for i in range(20))
print(total)
