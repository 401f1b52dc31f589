import assert from "node:assert/strict";
import { test } from "node:test";
import { readMachine } from "../src/views/machine.tsx";
import { threadsOver, tonesOf } from "../src/views/timeline.tsx";

test("threads over time: each counts from the interval in which it began to that in which it ended", () => {
    const timeline = { x: Float64Array.from([0, 10, 20, 30]), bucketNs: 10 };
    const threads = [
        { start_ns: 0, end_ns: null },
        { start_ns: 12, end_ns: 28 },
        { start_ns: 25, end_ns: 25 },
        { start_ns: 500, end_ns: null },
        { start_ns: 31, end_ns: 900 },
    ];
    assert.deepEqual([...threadsOver(timeline, threads)], [1, 2, 3, 2]);
    assert.deepEqual([...threadsOver({ x: new Float64Array(0), bucketNs: 10 }, threads)], []);
});

test("functions keep the colours of their places in the whole run, whatever range is shown", () => {
    const places = new Map([5, 9, 2, 7, 1, 3, 8, 4, 6].map((key, place) => [key, place]));
    const whole = tonesOf([5, 9, 2, 7, 1, 3, 8], places);
    assert.equal(new Set(whole).size, 7);
    const part = tonesOf([8, 2, 5], places);
    assert.deepEqual(part, [whole[6], whole[2], whole[0]]);
    /* 4 has the colour of 5, which was larger; alone it has its own */
    const both = tonesOf([4, 5], places);
    assert.equal(both[1], whole[0]);
    assert.notEqual(both[0], both[1]);
    assert.deepEqual(tonesOf([4], places), [whole[0]]);
    assert.equal(new Set(tonesOf([100, 200, 4, 6], places)).size, 4);
});

test("the machine over time: what is more than it has is a gap, what is 0 throughout has no line", () => {
    const columns: Record<string, number[]> = {
        time_ns: [100, 200, 300],
        available_bytes: [50, 2 ** 63, 40],
        free_bytes: [NaN, NaN, NaN],
        cached_bytes: [7, 8, 9],
        swapped_bytes: [0, 0, 0],
        group_bytes: [5, 5, 5],
        group_limit_bytes: [1000, 1000, 1000],
    };
    const document = {
        header: {},
        columns: new Map(
            Object.entries(columns).map(([name, values]) => [
                name,
                { values: Float64Array.from(values), none: null },
            ]),
        ),
    };
    const { x, series, least } = readMachine(document, 100);
    assert.deepEqual([...x], [100, 200, 300]);
    assert.deepEqual(
        series.map(({ title }) => title),
        ["available", "cached", "control group", "its limit"],
    );
    assert.deepEqual([...(series[0]!.values as (number | null)[])], [50, null, 40]);
    assert.deepEqual(least, { bytes: 40, time: 300 });
    assert.equal(readMachine(document, null).series[0]!.values[1], 2 ** 63);
});
