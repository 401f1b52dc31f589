/* Rows of SQL, and what a picture of them can be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { charted, readSheet } from "../src/model/sheet.ts";

test("nothing, numbers and texts stay apart", () => {
    const text =
        '{"columns":["a","a"],"rows":[[1,null],["","1"],[-2.5e3,"9007199254740993"]],"more":true}';
    assert.deepEqual(readSheet(text), {
        names: ["a", "a"],
        rows: [
            [1, null],
            ["", "1"],
            [-2500, "9007199254740993"],
        ],
        more: true,
    });
});

test("a picture is of numbers, and of more than one", () => {
    const of = (rows: (number | string | null)[][]) => charted({ names: ["a", "b", "c"], rows });
    assert.equal(of([["x", 1, 2]]), null);
    assert.deepEqual(
        of([
            ["x", "t", 2],
            ["y", null, 3],
        ]),
        { label: "c", at: 2 },
    );
    assert.deepEqual(
        of([
            ["x", 1, 2],
            ["y", null, 3],
            ["z", 2, 3],
        ]),
        { label: "b", at: 1 },
    );
    assert.equal(
        of([
            ["x", -1, "t"],
            ["y", 2, "u"],
        ]),
        null,
    );
});
