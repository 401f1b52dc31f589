/* Growth between two looks: what is 0, and what is not known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lookRows, others, sumOfFound, type Found } from "../src/model/looks.ts";

const found: Found[] = [
    { sample: 1, name: "f", detail: "blocks, a.c", bytes: 100, kind: "blocks" },
    { sample: 1, name: others, detail: "blocks", bytes: 40, kind: "blocks" },
    { sample: 2, name: "f", detail: "blocks, a.c", bytes: 50, kind: "blocks" },
    { sample: 2, name: "f", detail: "blocks, a.c", bytes: 25, kind: "blocks" },
    { sample: 2, name: "g", detail: "blocks, a.c", bytes: 30, kind: "blocks" },
    { sample: 2, name: "libc.so.6", detail: "file", bytes: 7, kind: "file" },
    { sample: 3, name: "g", detail: "blocks, a.c", bytes: null, kind: "blocks" },
];

test("growth between looks: no row is 0 where all are told, and not known where they are not", () => {
    const rows = lookRows(found, 1, 2, (sample, kind) => sample === 2 || kind !== "blocks");
    const by = new Map(rows.map((row) => [row.name, [row.before, row.after]]));
    assert.deepEqual(by.get("f"), [100, 75]);
    assert.deepEqual(by.get("g"), [null, 30], "it may be among the others of the first look");
    assert.deepEqual(by.get("libc.so.6"), [0, 7]);
    assert.deepEqual(by.get(others), [40, 0]);
});

test("growth between looks: what a look could not tell stays unknown, and so does the sum", () => {
    const rows = lookRows(found, 2, 3, () => true);
    const g = rows.find((row) => row.name === "g");
    assert.deepEqual([g!.before, g!.after], [30, null]);
    assert.equal(sumOfFound(found, 2), 112);
    assert.equal(sumOfFound(found, 3), null);
});
