"""by_document.py TRACE EVENTS UNPACKED [RECORDED]: reads the files by doc/FORMAT-trace.md and doc/FORMAT-profile.md alone, and
compares what it reads with what `tidemark events --json` (EVENTS) and `tidemark unpack` (UNPACKED) say. Who changes a format and
not its document fails here. The trace is one of stored columns (`--compress=none`). RECORDED is the database behind the profile's
packing. With `--session FILE` it reads doc/FORMAT-session.md's rows instead, whose bodies `zstd` unpacks."""
import json, sqlite3, struct, subprocess, sys

MASK, NONE, ADDRESS = 2**64 - 1, 2**64 - 1, 2**56 - 1


# ---- Numbers -------------------------------------------------------------------------------

def xxh64(data):
    p1, p2, p3, p4, p5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                          2870177450012600261)
    rol = lambda x, r: (x << r | x >> 64 - r) & MASK
    turn = lambda acc, word: rol((acc + word * p2) & MASK, 31) * p1 & MASK
    at = 0
    if len(data) >= 32:
        lanes = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        words = struct.unpack(f"<{len(data) // 32 * 4}Q", data[:len(data) // 32 * 32])
        for i in range(0, len(words), 4):
            lanes = [turn(lane, word) for lane, word in zip(lanes, words[i:i + 4])]
        at = len(words) * 8
        h = sum(rol(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ turn(0, lane)) * p1 + p4) & MASK
    else:
        h = p5
    h = (h + len(data)) & MASK
    while at + 8 <= len(data):
        h = (rol(h ^ turn(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        h = (rol(h ^ struct.unpack_from("<I", data, at)[0] * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        h = rol(h ^ byte * p5 & MASK, 11) * p1 & MASK
    for shift, factor in (33, p2), (29, p3), (32, 1):
        h = (h ^ h >> shift) * factor & MASK
    return h


def mix(x):  # h(x) of FORMAT-trace
    y = x * 0x9E3779B97F4A7C15 & MASK
    return y ^ y >> 32


def unzigzag(number):
    return number >> 1 ^ -(number & 1)


class Source:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number & MASK

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data)
        return self.data[self.at - count:self.at]

    def ended(self):
        return self.at >= len(self.data)


class Bits:
    def __init__(self, data):
        self.number, self.at, self.end = int.from_bytes(data, "little"), 0, 8 * len(data)

    def take(self, bits):
        self.at += bits
        assert self.at <= self.end
        return self.number >> self.at - bits & (1 << bits) - 1


def of_token(token, rest):
    """The number of a token. `rest` takes so many bits."""
    if token < 128:
        return token
    assert token <= 232
    if token < 192:
        bits, base = 5 + (token - 128) // 4, 4 | token & 3
    else:
        bits, base = 23 + token - 192, 1
    return base << bits | rest(bits)


def token(tokens, rest):
    """Of two columns; `rest` is one of bytes, or of bits."""
    if isinstance(rest, Bits):
        return of_token(tokens.byte(), rest.take)
    return of_token(tokens.byte(), lambda bits: int.from_bytes(rest.take((bits + 7) // 8), "little"))


# ---- The trace -----------------------------------------------------------------------------

BIRTHS, FREES, VALUES = {16, 17, 18, 19, 20, 21, 23}, {1, 2, 11, 12, 22, 24}, {3, 4, 5, 6, 8, 9, 10}
REALLOC_BEGIN, REALLOC_END, FAILED = 2, 21, 0x40


class Record:
    told = False  # a free whose address is not told by its birth
    size = slack = align = node = address = ticks = None

    def __init__(self, stream, kind):
        self.stream, self.byte, self.kind = stream, kind, kind & 63
        self.is_birth = self.kind in BIRTHS and not kind & FAILED
        self.is_free = self.kind in FREES
        self.is_long = self.kind >= 16


def columns_of(data):
    source = Source(data)
    sizes = []
    for _ in range(source.byte()):
        assert source.byte() == 0, "a column is packed"
        sizes.append(source.varint())
    columns = [source.take(size) for size in sizes]
    assert source.ended()
    return columns


class Stream:
    def __init__(self):
        self.birth = self.behind = self.freed = self.gap = 0
        self.last = [[0, 0, 0], [0, 0, 0]]
        self.behinds, self.frees = [], []


def remember(places, address):
    if len(places) == 128:
        del places[:64]
    places.append(address)


class Events:
    """The records and notes of a block of events."""

    def __init__(self, data, version):
        columns = columns_of(data) + [b""] * 35
        self.version = version
        self.column = [Source(column) for column in columns]
        self.kinds, self.bits, self.time_bits = columns[0], Bits(columns[33]), Bits(columns[3])
        self.nodes, self.shapes, self.highest, self.old = [], [], 0, 0
        self.lanes = [([0] * 16384, [[0, 0] for _ in range(16384)], [[0, 0] for _ in range(16384)]) for _ in range(2)]
        self.births, self.stacks, self.recycled = [], [[] for _ in range(4096)], [[] for _ in range(4096)]
        self.freed_birth = self.told = 0
        self.streams = [Stream() for _ in range(64)]
        self.step, self.grid = self.column[4].varint(), self.column[4].varint()
        self.off_before, self.since_off, self.after_birth = 0, 0, 0
        self.next_off()
        self.records, self.notes = [], []
        while not self.column[26].ended():
            source = self.column[26]
            runs, kind = source.varint(), source.varint()
            values = [source.varint() for _ in range(source.varint())]
            self.notes.append((runs, kind, values, source.take(source.varint())))
        self.read_runs()
        for number, column in enumerate(self.column):
            assert column.ended() or number == 0 or number in (3, 33) and version > 1, f"column {number} is not used up"

    def number(self, column):
        """Of version 1 all rests are bytes."""
        return token(self.column[column], self.bits if self.version > 1 else self.column[column + 1])

    def rest_of_time(self, bits):
        if self.version > 1:
            return self.time_bits.take(bits)
        return int.from_bytes(self.column[3].take((bits + 7) // 8), "little")

    def next_off(self):
        source = self.column[4]
        self.off = None if source.ended() else (source.varint(), source.varint())

    def read_runs(self):
        runs, stream = self.column[1], 0
        while not runs.ended():
            stream = stream + unzigzag(runs.varint())
            for _ in range(runs.varint()):
                self.records.append(self.read_record(stream))
            self.column[25].take(runs.varint())

    def read_record(self, stream):
        op = self.column[2].byte()
        if op >> 3 == 0:
            raw = self.column[25].take(16)
            record = Record(stream, raw[7])
            if record.is_long:
                self.column[25].take(16)
            return record
        record, own, fresh = Record(stream, self.kinds[(op >> 3) - 1]), self.streams[stream % 64], False
        if record.is_long:
            fresh = self.read_path(record, own, op & 4)
        else:
            own.gap += 1
        record.address = self.read_address(record, own, op & 3)
        record.ticks = self.read_time(record, fresh)
        return record

    def read_path(self, record, own, same_shape):
        lane = 0 if record.is_birth else 1
        last = own.last[lane]
        first = own.gap << 32 | last[0]
        second = mix(first) + last[1] & MASK
        third = mix(second) + last[2] & MASK
        three, two, one = self.lanes[lane]
        at_three, at_two, at_one = mix(third) >> 50, two[mix(second) >> 50], one[mix(first) >> 50]
        guesses = [three[at_three], at_two[0], at_one[0], at_two[1], at_one[1]]
        way, path = self.column[5].byte(), None
        if way < 5:
            path = guesses[way] - 1
            assert path >= 0
        elif way == 5:
            node = self.highest + self.number(6) + 1
        elif way == 6:
            node = self.old = self.old + unzigzag(self.number(8))
        else:
            path = len(self.nodes) - 1 - self.number(10)
        if path is None:
            path = len(self.nodes)
            self.nodes.append(node)
            self.shapes.append([0, 0, 0])
            self.highest = max(self.highest, node)
        three[at_three] = path + 1
        for places in at_two, at_one:
            if places[0] != path + 1:
                places[:] = [path + 1, places[0]]
        own.last[lane], own.gap = [path + 1, last[0], last[1]], 0
        shape = self.shapes[path]
        if not same_shape:
            shape[0] = shape[0] + unzigzag(token(self.column[12], self.column[13])) & MASK
            usual = 24 - shape[0] if shape[0] < 24 else (-shape[0] - 8) % 16
            shape[1] = usual + unzigzag(token(self.column[14], self.column[15])) & 2**24 - 1
            shape[2] = self.column[16].byte()
        record.size, record.slack, record.align = shape
        record.node = self.nodes[path]
        return way == 5

    def way_from(self, address):
        way = self.number(21)
        return address + unzigzag(way >> 1) * (1 if way & 1 else 16) & ADDRESS

    def read_address(self, record, own, flags):
        if record.is_birth:
            return self.read_birth(record, own, flags)
        if record.is_free:
            address = self.read_free(record, flags)
            own.freed = address
            remember(own.frees, address)
            return address
        if record.kind in VALUES:
            return self.number(23)
        self.told = self.way_from(self.told)
        return self.told

    def head(self, stream, usable):
        return mix(stream << 32 | mix(usable) >> 32) % 4096

    def read_birth(self, record, own, flags):
        usable = record.size + record.slack & MASK
        head = self.head(record.stream, usable)
        stack, recycled = self.stacks[head], self.recycled[head]
        top = self.births[stack[-1]][0] if stack else 0
        place = self.column[34].byte() if flags == 0 and self.version > 1 else 0
        if flags:
            address = (top, own.behind & ADDRESS, own.freed)[flags - 1]
        elif place == 0:
            address = self.way_from(own.birth)
        else:
            address = (recycled, own.behinds, own.frees)[(place - 1) // 64][-((place - 1) % 64 + 1)]
        if 1 <= place <= 64:
            del recycled[-place]
        if stack and top == address:
            stack.pop()
            if recycled and recycled[-1] == address:
                recycled.pop()
        self.births.append((address, usable))
        own.behind, own.birth = address + usable + 8, address
        remember(own.behinds, own.behind & ADDRESS)
        return address

    def read_free(self, record, flags):
        if flags == 0:
            self.told, record.told = self.way_from(self.told), True
            return self.told
        if flags == 3:
            birth = self.freed_birth + unzigzag(token(self.column[19], self.column[20]))
        else:
            birth = len(self.births) - 1 - (token(self.column[17], self.column[18]) if flags == 2 else 0)
        self.freed_birth = birth
        address, usable = self.births[birth]
        head = self.head(record.stream, usable)
        self.stacks[head].append(birth)
        remember(self.recycled[head], address)
        return address

    def read_time(self, record, fresh):
        column = 27 + (4 if fresh and record.is_birth else 2 if record.is_birth else 0) + self.after_birth
        self.after_birth = int(record.is_birth)
        step = self.column[column].byte()
        if step == 255:
            self.grid = self.grid - self.step * (self.rest_of_time(64) + 1) & MASK
        else:
            self.grid = self.grid + self.step * of_token(step, self.rest_of_time) & MASK
        off = 0
        if self.off and self.off[0] == self.since_off:
            off, self.since_off = self.off[1], 0
            self.next_off()
        else:
            self.since_off += 1
        ticks = self.grid + off & MASK
        if off and off == self.off_before:
            self.grid, off = ticks, 0
        self.off_before = off
        return ticks


class Nodes:
    """All call-path nodes, block by block."""

    def __init__(self):
        self.ip, self.parent, self.numbers = [], [], []

    def restart(self):
        self.start, self.addresses, self.new = len(self.ip), [], 0
        self.lists = [[[] for _ in range(65536)], [[] for _ in range(65536)], [[] for _ in range(16384)]]
        self.begins = {}

    def number(self, node):
        return self.numbers[node] if self.ip and node >= self.start else 0

    def read(self, data, count):
        column = [Source(each) for each in columns_of(data)]
        base, since = column[0].varint(), 0
        if base == 0:
            self.restart()
        assert len(self.ip) - self.start == base
        turn = None if column[1].ended() else column[1].varint()
        for _ in range(count):
            node = len(self.ip)
            before = self.number(node - 1) if node > self.start else 0
            begins = self.begins.get(before, False)
            if turn == since:
                begins, since, turn = not begins, 0, None if column[1].ended() else column[1].varint()
            else:
                since += 1
            self.begins[before] = begins
            self.add(node, self.read_parent(column, node) if begins else node - 1, begins, column)
        assert all(each.ended() for each in column)

    def read_parent(self, column, node):
        up = token(column[2], column[3])
        if not up:
            return node - token(column[4], column[5])
        parent = node - 1
        for _ in range(up):
            parent = self.parent[parent]
        return parent

    def add(self, node, parent, begins, column):
        x, y, z = (0, 0, 0) if not node else (self.number(parent), self.number(self.parent[parent]),
                                              self.number(self.parent[self.parent[parent]]))
        first = 2 * x + begins
        second = mix(first + (y << 32) & MASK)
        third = mix(second + z & MASK)
        lists = self.lists[0][third >> 48], self.lists[1][second >> 48], self.lists[2][mix(first) >> 50]
        guesses = list(dict.fromkeys(sum(lists, [])))
        way = column[6 if begins else 7].byte()
        if way < 8:
            number = guesses[way]
        elif way == 8:
            number = len(self.addresses) - token(column[8], column[9])
        else:
            self.new = self.new + unzigzag(token(column[10], column[11])) & MASK
            self.addresses.append(self.new)
            number = len(self.addresses)
        for places, most in zip(lists, (2, 2, 4)):
            if number in places:
                places.remove(number)
            places.insert(0, number)
            del places[most:]
        self.ip.append(self.addresses[number - 1])
        self.parent.append(parent if node else 0)
        self.numbers.append(number)


class Ends:
    """Columns 6 to 11 of the paths: which life a free with a told address ends."""

    def __init__(self, columns):
        self.column = [Source(column) for column in columns]
        self.paths, self.sizes, self.two, self.one, self.last, self.new = [], [], [0] * 4096, [0] * 4096, (0, 0), 0

    def next(self):
        how = self.column[6].byte()
        if how == 0:
            return None
        last, before = self.last
        two, one = mix(before << 32 | last) % 4096, mix(last) % 4096
        if how & 7 == 3:
            path = len(self.paths)
            self.new += unzigzag(token(self.column[7], self.column[8]))
            self.paths.append(self.new)
            self.sizes.append(0)
        elif how & 7 == 4:
            path = len(self.paths) - 1 - token(self.column[7], self.column[8])
        else:
            path = (self.two[two] if how & 7 == 1 else self.one[one]) - 1
        assert path >= 0
        self.two[two] = self.one[one] = path + 1
        self.last = path + 1, last
        if not how & 8:
            self.sizes[path] += unzigzag(token(self.column[9], self.column[10]))
        return self.paths[path], self.sizes[path]


class Walk:
    """What is alive, by the rules of "What a digest means"; sums of one block at a time."""

    def __init__(self):
        self.live, self.taken, self.bytes, self.count, self.newest = {}, {}, 0, 0, 0

    def begin(self, start):
        self.nets, self.born, self.ended, self.low, self.high = {}, 0, 0, None, 0
        self.most, self.most_at = self.bytes, start

    def add(self, life, sign):
        node, size = life
        net = self.nets.setdefault(node, [0, 0])
        net[0] += sign * size
        net[1] += sign
        self.bytes += sign * size
        self.count += sign
        self.born += sign > 0
        self.ended += sign < 0

    def step(self, record):
        """The life that a free ends, or that a realloc takes."""
        self.low = record.ticks if self.low is None else min(self.low, record.ticks)
        self.high, self.newest = max(self.high, record.ticks), max(self.newest, record.ticks)
        freed = None
        if record.kind == REALLOC_BEGIN:
            freed = self.live.pop(record.address, None)
            self.taken.setdefault(record.stream, []).append((record.address, freed))
        elif record.kind == REALLOC_END and self.taken.get(record.stream):
            address, old = self.taken[record.stream].pop()
            if old and record.is_birth:
                self.add(old, -1)
            elif old:
                self.live[address] = old
        elif record.is_free:
            freed = self.live.pop(record.address, None)
            if freed:
                self.add(freed, -1)
        if record.is_birth and record.address:
            if record.address in self.live:
                self.add(self.live.pop(record.address), -1)
            self.live[record.address] = record.node, record.size
            self.add((record.node, record.size), 1)
        if self.bytes > self.most:
            self.most, self.most_at = self.bytes, self.newest
        return freed


def read_deltas(columns, count):
    source, node, nets = [Source(column) for column in columns[:6]], 0, {}
    for _ in range(count):
        node += token(source[0], source[1])
        nets[node] = [unzigzag(token(source[2], source[3])), unzigzag(token(source[4], source[5]))]
    assert all(each.ended() for each in source)
    return nets


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, version, _, _, _, self.start, _ = struct.unpack("<8sIIIIQQ", self.data[:40])
        assert magic == b"TMTRACE\n" and version in (1, 2)
        self.version = version
        assert struct.unpack("<Q", self.data[56:64])[0] == xxh64(self.data[:56])
        self.records, self.nodes, self.walk, self.modules, self.facts = [], Nodes(), Walk(), {}, {}
        self.supplement, self.listed = b"", []
        at, index = 64, struct.unpack("<Q", self.data[-16:-8])[0]
        assert self.data[-8:] == b"TMT.END\n"
        for number in range(10**6):
            header = self.data[at:at + 144]
            kind = self.read_block(header, at, number)
            if kind == 5:
                break
            self.listed.append((at, header))
            at += 144 + sum(struct.unpack("<II", header[12:20]))
        assert at == index

    def read_block(self, header, at, number):
        magic, kind, its_number, body_bytes, paths_bytes, count, path_count = struct.unpack("<4sIIIIII", header[:28])
        assert magic == b"TMTB" and its_number == number
        assert struct.unpack("<Q", header[136:])[0] == xxh64(header[:136])
        paths = self.data[at + 144:at + 144 + paths_bytes]
        body = self.data[at + 144 + paths_bytes:at + 144 + paths_bytes + body_bytes]
        assert struct.unpack("<QQ", header[36:52]) == (xxh64(body), xxh64(paths))
        first, = struct.unpack("<Q", header[52:60])
        if kind == 1:
            assert first == len(self.records)
            self.read_events(header, body, columns_of(paths), count, path_count)
        elif kind == 2:
            assert first == len(self.nodes.ip)
            self.nodes.read(body, count)
        elif kind in (3, 4, 6):
            source = [Source(column) for column in columns_of(body)]
            for _ in range(count if kind != 6 else 1):
                (self.read_module, self.read_fact, None, self.read_supplement)[kind - 3](source, first)
            assert source[-1].ended()
        elif kind == 5:
            self.check_index(columns_of(body)[0])
        return kind

    def read_events(self, header, body, paths, count, path_count):
        events, walk, ends = Events(body, self.version), self.walk, Ends(paths)
        assert len(events.records) == count
        start, live_bytes, live_count = struct.unpack("<QQQ", header[76:100])
        assert (live_bytes, live_count) == (walk.bytes, walk.count)
        walk.begin(start)
        for record in events.records:
            if record.ticks is None:
                continue
            freed = walk.step(record)
            if record.told:
                assert ends.next() == freed
        assert struct.unpack("<II", header[28:36]) == (walk.born, walk.ended)
        assert struct.unpack("<QQ", header[60:76]) == (walk.low, walk.high)
        assert struct.unpack("<QQ", header[116:132]) == (walk.most, walk.most_at)
        assert read_deltas(paths, path_count) == {node: net for node, net in sorted(walk.nets.items()) if net != [0, 0]}
        self.records += events.records

    def read_module(self, source, _):
        number, born, died, bias, start, size = (source[0].varint() for _ in range(6))
        build_id = source[0].take(source[0].varint())
        self.modules[number] = start, start + size, bias, build_id, source[0].take(source[0].varint())

    def read_fact(self, source, _):
        key = source[0].take(source[0].varint()).decode()
        self.facts[key] = source[0].take(source[0].varint())

    def read_supplement(self, source, offset):
        source[0].varint()
        piece = source[1].take(len(source[1].data))
        self.supplement = piece if offset == 0 else self.supplement + piece

    def check_index(self, data):
        source = Source(data)
        for at, header in self.listed:
            assert source.varint() == at and source.take(144) == header
        assert source.ended()


def compare_events(trace, path):
    shown = wrong = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if "event" not in event:
                continue
            record = trace.records[event["event"]]
            shown += 1
            for key, value in ("address", record.address), ("size_bytes", record.size), ("node", record.node):
                wrong += value is not None and event.get(key, value) != value
    print("events:", "as tidemark events shows them" if shown > 100 and not wrong else f"{wrong} of {shown} differ")


def compare_nodes(trace, database):
    bias = dict(database.execute("SELECT location.id, address + coalesce(bias, 0) FROM location LEFT JOIN module"
                                 " ON module.id = module WHERE mark = 0"))
    paths = list(database.execute("SELECT id, parent, location FROM path"))
    wrong = sum(trace.nodes.parent[node] != parent or trace.nodes.ip[node] != bias.get(location, trace.nodes.ip[node]) & MASK
                for node, parent, location in paths)
    print("nodes:", "those of the profile" if len(paths) > 10 and not wrong else f"{wrong} of {len(paths)} differ")


def compare_facts(trace, database):
    meta = {key: str(value) for key, value in database.execute("SELECT key, value FROM meta")}
    told = {key[len("meta."):]: value.decode() for key, value in trace.facts.items() if key.startswith("meta.")}
    modules = {number + 1: (start, end, bias, build_id, path.decode() or told["executable"])
               for number, (start, end, bias, build_id, path) in trace.modules.items()}
    same = all(modules[row[0]] == row[1:] for row in database.execute("SELECT id, start, end, bias, build_id, path FROM module"))
    same = same and told and all(meta.get(key) == value for key, value in told.items())
    print("facts and modules:", "those of the profile" if same else "differ")
    print("supplement:", "a packed profile" if trace.supplement[8:16] == b"TMKPACK1" else "none")


# ---- The profile ---------------------------------------------------------------------------

def decode_columns(body, rows):
    source, columns = Source(body), []
    while not source.ended():
        encoding = source.byte()
        end = source.varint() + source.at
        before = columns[source.varint()] if encoding == 5 else None
        numbers = []
        while source.at < end:
            numbers.append(source.varint())
        if encoding == 0:
            numbers = [0] * rows
        elif encoding == 1:
            numbers *= rows
        elif encoding == 3:
            numbers = [number - 1 & MASK for number in numbers]
        elif encoding == 4:
            total, numbers = 0, [unzigzag(number) for number in numbers]
            for at, change in enumerate(numbers):
                total = numbers[at] = total + change & MASK
        elif encoding == 5:
            numbers = [number + unzigzag(change) & MASK for number, change in zip(before, numbers)]
        assert len(numbers) == rows
        columns.append(numbers)
    return columns


def rows_of_blocks(database, block):
    names = [name for name, in database.execute("SELECT name FROM block_column WHERE block = ? ORDER BY number", (block,))]
    cursor = database.execute(f"SELECT * FROM {block}")
    fields = [each[0] for each in cursor.description]
    for values in cursor:
        beside = dict(zip(fields, values))
        body, count, first = beside.pop("body"), beside.pop("count"), beside.pop("first", None)
        for at, numbers in enumerate(zip(*decode_columns(body, count))):
            row = {**beside, **dict(zip(names, (None if number == NONE else number for number in numbers)))}
            if block == "path_block":
                row["id"] = first + at
                row["parent"] = row["id"] - row.pop("parent_distance")
            if block == "curve_block":
                row["path"] %= 2**32
            yield tuple(sorted(row.items()))


def compare_blocks(recorded, unpacked):
    for block, in sorted(recorded.execute("SELECT DISTINCT block FROM block_column").fetchall()):
        cursor = unpacked.execute(f"SELECT * FROM {block.removesuffix('_block')}")
        names = [each[0] for each in cursor.description]
        rows = sorted((tuple(sorted(zip(names, row))) for row in cursor), key=str)
        if rows != sorted(rows_of_blocks(recorded, block), key=str):
            print(f"{block}: other rows than unpacked")
    print("blocks: the rows that unpack writes")


# ---- The session file ----------------------------------------------------------------------

def read_log(log, statements):
    source, before, before_statement, kept = Source(log), [], None, []
    while not source.ended():
        statement = source.byte()
        count = len(statements[statement])
        bits = int.from_bytes(source.take((count + 7) // 8), "little")
        if statement != before_statement:
            before = [None] * count
        values, numbers = [], []
        for at in range(count):
            value = before[at]
            if bits >> at & 1:
                code = source.varint()
                value = (None if code == 0 else source.take(source.varint()) if code in (1, 2)
                         else struct.unpack("<d" if code == 3 else "<q", source.take(8))[0] if code in (3, 4)
                         else (before[at] or 0) + unzigzag(code - 5))
                numbers.append(value if code == 4 or code >= 5 else None)
            else:
                numbers.append(value)
            values.append(value)
        before, before_statement = numbers, statement
        kept.append((statement, values))
    return kept


def read_session(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"TMSESSN1" and data[8:12] == bytes(4)
    at, statements, rows = 16, None, 0
    while at < len(data):
        kind, size, said = struct.unpack("<IIQ", data[at:at + 16])
        content = data[at + 16:at + 16 + size]
        assert said == xxh64(content)
        if kind == 0x1e59414c:
            lines = content.decode().splitlines()
            assert lines[0] == "tidemark layout 1"
            statements = [line.split()[2:] for line in lines if line.startswith(("put ", "drop "))]
            name = said
        elif kind == 0x1e574f52:
            head = struct.unpack("<8I7Q", content[:88])
            assert head[0] == 88 and head[8] == name
            program = content[88:88 + head[6]].decode()
            body = subprocess.run(["zstd", "-dcq"], input=content[88 + head[6] + head[7]:], capture_output=True, check=True).stdout
            meta = {values[0]: values[1] for statement, values in read_log(body, statements) if statement == 0}
            assert meta[b"program"].decode() == program and meta[b"pid"] == head[2]
            rows += 1
        at += 16 + size
    print("session:", "its rows and their heads agree" if rows else "no rows")


if sys.argv[1] == "--session":
    read_session(sys.argv[2])
else:
    trace, database = Trace(sys.argv[1]), sqlite3.connect(sys.argv[3])
    compare_events(trace, sys.argv[2])
    compare_nodes(trace, database)
    if len(sys.argv) > 4:
        compare_facts(trace, database)
        compare_blocks(sqlite3.connect(sys.argv[4]), database)
