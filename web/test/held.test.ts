/* Who holds what grew between two looks of one recording, and what numbers of a document read as. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { floatsOf } from "../src/data/columns.ts";
import {
    callersApart,
    childrenOf,
    grownBetween,
    groupName,
    nameOf,
    rowAddress,
    rowOfAddress,
    searchedOf,
    treeRows,
    withParents,
    type HeldLooks,
} from "../src/model/held.ts";

const holder = (id: number, parent: number, name: string, kept: number[], kind = "blocks") => ({
    id,
    parent,
    kind,
    name,
    of: null,
    thread: null,
    merged: kind === "rest" ? 3 : 0,
    retained_bytes: kept,
    retained_blocks: kept.map((bytes) => bytes / 10),
});
const look = (sample: number, bytes: number) => ({
    sample,
    at: "at a snapshot",
    time_ns: sample,
    held: { blocks: bytes / 10, bytes },
    lost: { blocks: 0, bytes: 0 },
});
const looks: HeldLooks = {
    looks: [look(3, 100), look(5, 400), look(6, 300)],
    holders: [
        holder(1, 0, "shrinks", [90, 50, 0]),
        holder(2, 0, "grows", [10, 330, 0]),
        holder(3, 2, "below", [0, 300, 0]),
        holder(4, 0, "rest", [0, 20, 0], "rest"),
        holder(5, 0, "later", [0, 0, 300]),
    ],
};

test("between two looks each holder has what it kept at both, and who came later is not there", () => {
    const grown = grownBetween(looks, 3, 5)!;
    assert.deepEqual(
        grown.rows.map(({ name, before, after, change, blocks }) => [
            name,
            before,
            after,
            change,
            blocks,
        ]),
        [
            ["shrinks", 90, 50, -40, -4],
            ["grows", 10, 330, 320, 32],
            ["below", 0, 300, 300, 30],
            ["rest", 0, 20, 20, 2],
        ],
    );
    assert.deepEqual([grown.before.held.bytes, grown.after.held.bytes], [100, 400]);
    assert.equal(grownBetween(looks, 3, 4), null);
});

test("what grew most stands first, and what is summed up last", () => {
    const { rows } = grownBetween(looks, 3, 5)!;
    const names = (open: boolean) =>
        treeRows(
            childrenOf(rows, (row) => row.change),
            () => open,
        ).map((row) => [row.says, row.level]);
    assert.deepEqual(names(false), [
        ["grows", 1],
        ["shrinks", 1],
        ["3 more", 1],
    ]);
    assert.deepEqual(names(true)[1], ["below", 2]);
    assert.deepEqual(
        withParents(rows, (row) => row.name === "below").map((row) => row.name),
        ["grows", "below"],
    );
});

test("numbers of 64 bits are those that Number() has", () => {
    const values = BigUint64Array.of(
        0n,
        1n,
        2n ** 32n - 1n,
        2n ** 32n,
        2n ** 53n - 1n,
        2n ** 53n + 1n,
        2n ** 63n + 1025n,
        2n ** 64n - 1n,
    );
    assert.deepEqual([...floatsOf(values)], [...values].map(Number));
});

test("several are named by the first of them, and how many more there are", () => {
    const named = { kind: "variable", of: "/lib/libx.so", thread: null };
    const several = (names: string[], more: number | null) =>
        nameOf({
            ...named,
            kind: "several",
            name: names[0]!,
            sharers: names.map((name) => ({
                ...named,
                name,
                reached_blocks: 1,
                reached_bytes: 10,
                direct_bytes: 0,
                alone_blocks: 0,
                alone_bytes: 0,
            })),
            more_sharers: more,
        });
    assert.equal(several(["a", "b"], 0), "a of libx.so, b of libx.so");
    assert.equal(several(["a", "b", "c"], 0), "a of libx.so, b of libx.so, c of libx.so");
    assert.equal(several(["a", "b", "c", "d"], 0), "a of libx.so, b of libx.so and 2 more");
    assert.equal(several(["a", "b", "c"], 1234), "a of libx.so, b of libx.so and 1,235 more");
    assert.equal(several(["a", "b", "c"], null), "a of libx.so, b of libx.so and others");
    /* a recording of before has no more than the first */
    assert.equal(nameOf({ ...named, kind: "several", name: "a" }), "a of libx.so and others");
    assert.equal(nameOf({ ...named, name: "a" }), "a of libx.so");
});

test("rows that read the same are told apart by the first caller that differs, as far out as it takes", () => {
    const paths: Record<number, string[]> = {
        7: ["load", "main"],
        8: ["load", "run", "main"],
        9: ["parse", "main"],
        10: ["parse"] /* it ends: what tells it from the one before is that it has no more */,
    };
    const row = (id: number, node: number, more: object = {}) => ({
        ...holder(id, 0, "make", [0]),
        function: "make",
        node,
        ...more,
    });
    const apart = (rows: ReturnType<typeof row>[]) =>
        Object.fromEntries(callersApart(rows, (node) => paths[node]!));
    assert.deepEqual(apart([row(1, 7), row(2, 8)]), { 1: "main", 2: "run" });
    assert.deepEqual(apart([row(1, 7), row(2, 9)]), { 1: "load", 2: "parse" });
    assert.deepEqual(apart([row(1, 7), row(2, 8), row(3, 9)]), { 1: "main", 2: "run", 3: "parse" });
    assert.deepEqual(apart([row(1, 9), row(2, 10)]), { 1: "main" });
    /* one path twice, and those that are told apart by name, line or parent */
    assert.deepEqual(apart([row(1, 7), row(2, 7)]), {});
    const others = [{ function: "other" }, { line: 3 }, { parent: 9 }, { merged: 2 }, { node: 0 }];
    for (const more of others) assert.deepEqual(apart([row(1, 7), row(2, 8, more)]), {});
});

test("a row is found by the names that lead to it, whatever its number", () => {
    const { holders } = looks,
        moved = [holder(7, 0, "new", [0]), holder(8, 0, "grows", [0]), holder(9, 8, "below", [0])];
    const address = rowAddress(holders, 3);
    assert.equal(rowOfAddress(holders, address), 3);
    assert.equal(rowOfAddress(moved, address), 9);
    assert.equal(rowOfAddress(moved, rowAddress(holders, 1)), 0, "it is gone");
    for (const nothing of ["", "x", `${address}.x`])
        assert.equal(rowOfAddress(holders, nothing), 0);
    for (const each of holders)
        assert.equal(rowOfAddress(holders, rowAddress(holders, each.id)), each.id);
});

test("a search finds what is several's by each that holds it, and rows by their type", () => {
    const sharer = { ...holder(1, 0, "registry", [0], "variable"), of: "/usr/lib/libx.so" };
    const several = {
        ...holder(1, 0, "first", [0], "several"),
        sharers: [
            {
                ...sharer,
                reached_blocks: 1,
                reached_bytes: 1,
                direct_bytes: 0,
                alone_blocks: 0,
                alone_bytes: 0,
            },
        ],
    };
    assert.match(searchedOf(several).function, /registry/);
    assert.match(searchedOf(several).module!, /libx\.so/);
    assert.equal(groupName({ ...sharer, type: "Mesh" }), "Mesh");
    assert.equal(groupName({ ...sharer, library: "libx.so" }), "libx.so");
});
