import assert from "node:assert/strict";
import { test } from "node:test";
import { highest, holders, noHolders, notable, prominence } from "../src/model/peaks.ts";

const peak = (
    bytes: number,
    shares: { bytes: number; node: number; function?: string; file?: string }[] | null,
    valley_bytes = 0,
) => ({ time_ns: 1, bytes, valley_bytes, rest_bytes: 0, shares });

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

test("a wave on the way to a higher peak is no peak to look at", () => {
    /* 276 ↘ 197 ↗ 501 ↘ 422 ↗ 501 ↘ 420 ↗ 1700 ↘ 1680 */
    const slope = [
        peak(276, null, 197),
        peak(501, null, 422),
        peak(501, null, 420),
        peak(1700, null, 1680),
    ];
    assert.deepEqual(
        slope.map((_, at) => prominence(slope, at)),
        [79, 81, 79, 1700],
    );
    assert.deepEqual(
        notable(slope).map(({ bytes }) => bytes),
        [1700],
    );
    const three = [
        peak(500, null, 100),
        peak(300, null, 200),
        peak(1000, null, 0),
        peak(400, null, 350),
    ];
    assert.deepEqual(
        three.map((_, at) => prominence(three, at)),
        [400, 100, 1000, 400],
    );
});

test("prominence is what a slow way finds", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 200; round++) {
        const peaks = Array.from({ length: 1 + random(8) }, () =>
            peak(100 + random(5) * 100, null, random(100)),
        );
        peaks.forEach((each, of) => {
            const saddles = peaks.flatMap((other, at) => {
                const higher = other.bytes > each.bytes || (other.bytes === each.bytes && at < of);
                const between = peaks
                    .slice(Math.min(at, of), Math.max(at, of))
                    .map((p) => p.valley_bytes);
                return higher ? [Math.min(...between)] : [];
            });
            assert.equal(prominence(peaks, of), each.bytes - Math.max(0, ...saddles));
        });
    }
});

test("that nobody held anything is said only where it is known", () => {
    assert.equal(noHolders("waiting", undefined), "Being added up…");
    assert.equal(noHolders("there", 0), "Nobody held anything.");
    assert.equal(noHolders("there", null), "Not known.");
    assert.equal(noHolders("there", undefined), "Not known.");
    assert.equal(noHolders("failed", undefined), "Not known.");
});
