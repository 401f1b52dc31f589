/* Cells of CSV, there and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { charted, readSheet } from "../src/model/csv.ts";

test("cells: numbers, texts with all that needs quotes, nothing", () => {
    const sheet = readSheet('a,"b, c",d\r\n1,"x ""y""\r\nz",\r\n-2.5e3,plain,007\r\n');
    assert.deepEqual(sheet, {
        names: ["a", "b, c", "d"],
        rows: [
            [1, 'x "y"\r\nz', null],
            [-2500, "plain", "007"],
        ],
    });
});

test("random tables survive", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const texts = ['"', ",", "\r\n", "é", "x", " ", "''"];
    for (let round = 0; round < 300; round++) {
        const columns = 1 + random(4);
        const row = () =>
            Array.from({ length: columns }, () =>
                random(2)
                    ? random(1000)
                    : "t" +
                      Array.from({ length: random(5) }, () => texts[random(texts.length)]).join(""),
            );
        const names = Array.from({ length: columns }, (_, at) => `c${at}`),
            rows = Array.from({ length: random(6) }, row);
        const cell = (value: number | string) =>
            typeof value === "number" ? String(value) : `"${value.replaceAll('"', '""')}"`;
        const text = [names, ...rows].map((each) => each.map(cell).join(",") + "\r\n").join("");
        assert.deepEqual(readSheet(text), { names, rows });
    }
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
