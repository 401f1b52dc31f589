/* What the pane below a flame graph adds up is what the graph gives width to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnPart, unknownIn, unknownSaid, wentPart } from "../src/model/sandwich.ts";

test("what went and what is not known has no width, and both are said", () => {
    const column = [5, -3, NaN, 0, 2];
    assert.deepEqual([...drawnPart(column)], [5, 0, 0, 0, 2]);
    assert.deepEqual([...wentPart(column)], [0, -3, 0, 0, 0]);
    assert.equal(unknownIn(column, null), 1);
    assert.equal(unknownIn(column, Uint8Array.of(1, 1, 0, 1, 1)), 0);
    assert.equal(unknownSaid(0), "");
    assert.match(unknownSaid(1), /of one more call path/);
    assert.match(unknownSaid(2000), /of 2,000 more call paths/);
});
