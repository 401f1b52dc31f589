import assert from "node:assert/strict";
import { test } from "node:test";
import { mostChanged, pairFigures, scaleBetween } from "../src/model/compare.ts";

test("functions are compared by the figure that changed most, and small figures do not win", () => {
    const before = { peak_bytes: 1000, alloc_count: 26_000, temporary_count: 8, live_bytes: 10 };
    const rows = pairFigures(before, { ...before, peak_bytes: 1500, temporary_count: 0 }, 1);
    assert.equal(mostChanged(rows), "at_peak_bytes");
    assert.equal(mostChanged(pairFigures(before, before, 1)), null);
});

test("a figure that one run lacks is not known, and counts as no change", () => {
    const rows = pairFigures({ peak_bytes: 10, resident_peak_bytes: null }, { live_bytes: 5 }, 2);
    assert.deepEqual(
        rows.map(({ name, before, after }) => [name, before, after]),
        [
            ["peak_bytes", 10, null],
            ["live_bytes", null, 10],
        ],
    );
    assert.equal(mostChanged(rows), null);
    const [time] = pairFigures({ duration_ns: 4 }, { duration_ns: 8 }, 2);
    assert.equal(time!.after, 8, "a duration is never scaled");
});

test("runs of which it is not known how long they were are not scaled", () => {
    assert.equal(scaleBetween(200, 100), 2);
    for (const [before, after] of [
        [0, 100],
        [100, 0],
        [null, 100],
        [100, undefined],
        [NaN, 100],
        [100, NaN],
    ] as const)
        assert.equal(scaleBetween(before, after), null);
});
