/* An axis always has room for its ticks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisRange } from "../src/model/axis.ts";

test("a range with room stays as it is", () => {
    assert.deepEqual(axisRange(0, 0.5), [0, 0.5]);
    assert.deepEqual(axisRange(1e9, 1e9 + 1), [1e9, 1e9 + 1]);
    assert.deepEqual(axisRange(0, 2 ** 62), [0, 2 ** 62]);
});

test("a moment becomes a range around it whose tenths can be told apart", () => {
    for (const at of [0, 1, 101281084, 4.5e12, 2 ** 62, -7]) {
        const [low, high] = axisRange(at, at);
        assert.ok(low < at && high > at, `${low} ${high}`);
        assert.ok(
            low + (high - low) / 100 > low && high - (high - low) / 100 < high,
            `${low} ${high}`,
        );
    }
});
