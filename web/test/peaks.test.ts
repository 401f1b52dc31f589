import assert from "node:assert/strict";
import { test } from "node:test";
import { highest, holders, notable } from "../src/model/peaks.ts";

const peak = (
    bytes: number,
    shares: { bytes: number; node: number; function?: string; file?: string }[] | null,
) => ({ time_ns: 1, bytes, valley_bytes: 0, rest_bytes: 0, shares });

test("call paths of one call site hold together, the largest leads to it", () => {
    const held = holders(
        peak(100, [
            { bytes: 30, node: 1, function: "a" },
            { bytes: 25, node: 2, function: "b" },
            { bytes: 10, node: 3, function: "b" },
            { bytes: 20, node: 4 },
            { bytes: 15, node: 5 },
        ]),
    );
    assert.deepEqual(
        held.map((each) => [each.function, each.bytes, each.node]),
        [
            ["b", 35, 2],
            ["a", 30, 1],
            [undefined, 20, 4],
            [undefined, 15, 5],
        ],
    );
    assert.deepEqual(
        holders(
            peak(100, [
                { bytes: 1, node: 1, function: "a", file: "x.c" },
                { bytes: 2, node: 2, function: "a", file: "y.c" },
            ]),
        ).map((each) => each.bytes),
        [2, 1],
    );
    assert.deepEqual(holders(peak(100, null)), []);
});

test("what is no tenth of the highest is none to look at, and the four highest are named", () => {
    const heights = (peaks: readonly { bytes: number }[]) => peaks.map(({ bytes }) => bytes);
    assert.deepEqual(
        heights(notable([peak(99, null), peak(1000, null), peak(100, null)])),
        [1000, 100],
    );
    assert.deepEqual(notable([]), []);
    const curtain = [7, 9, 7, 8, 7, 1000, 700, 990, 700, 980, 700].map((high) => peak(high, null));
    const found = highest(curtain);
    assert.deepEqual(heights(found), [1000, 700, 990, 980]);
    assert.equal(found[1], curtain[6], "of equally high ones the earlier");
});
