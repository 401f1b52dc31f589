import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOf, rootsByLine, rootsSaid, type HolderRow } from "../src/model/holders.ts";

const row = (id: number, parent: number, more: Partial<HolderRow>): HolderRow => ({
    id,
    parent,
    kind: "blocks",
    name: null,
    of: null,
    thread: null,
    merged: 0,
    own_bytes: 0,
    ...more,
});

test("the blocks of a line are held by the roots above them, however deep; what is summed up says nothing", () => {
    const at = { function: "f", file: "f.c", line: 7 };
    const roots = rootsByLine([
        row(1, 0, { kind: "rest", merged: 5, own_bytes: 99 }),
        row(2, 0, { kind: "variable", name: "table" }),
        row(3, 2, { function: "g", file: "f.c", line: 1, own_bytes: 10 }),
        row(4, 3, { ...at, own_bytes: 30 }),
        row(5, 0, { kind: "thread-local", name: "mine", thread: 12 }),
        row(6, 5, { ...at, own_bytes: 50 }),
        row(7, 0, { kind: "several", name: "shared" }),
        row(8, 7, { ...at, own_bytes: 20 }),
        row(9, 8, { kind: "rest", merged: 3, own_bytes: 4 }),
        row(10, 0, { function: "alone", own_bytes: 1 }),
    ]);
    const f = roots.get(lineOf("f", "f.c", 7));
    assert.deepEqual(Object.fromEntries(f!), {
        table: 30,
        "mine of thread 12": 50,
        "shared and others": 20,
    });
    assert.equal(rootsSaid(f), "mine of thread 12, table and 1 more");
    assert.equal(rootsSaid(roots.get(lineOf("g", "f.c", 1))), "table");
    assert.equal(rootsSaid(roots.get(lineOf("h", "f.c", 1))), "");
    assert.equal([...roots.values()].flatMap((sums) => [...sums.values()]).length, 5);
});
