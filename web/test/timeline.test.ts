import assert from "node:assert/strict";
import { test } from "node:test";
import { threadsOver } from "../src/views/timeline.tsx";

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
