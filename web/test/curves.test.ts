import assert from "node:assert/strict";
import { test } from "node:test";
import {
    boundAt,
    crests,
    highestNear,
    levelAt,
    raised,
    snapped,
    sumsAt,
    type Curves,
} from "../src/model/curves.ts";

/* One path that rises for an instant, and one that stays. */
const curves: Curves = {
    node: Uint32Array.of(1, 2),
    first: Uint32Array.of(0, 3, 4),
    time: Float64Array.of(5, 1234, 1235, 100),
    level: Float64Array.of(10, 9000, 10, 70),
    threshold: Float64Array.of(1, 1),
    stretch: Float64Array.of(0, 0),
};

test("each interval is shown at its highest instant: no crest lies between two samples", () => {
    const edges = Float64Array.of(0, 1000, 2000, 3000);
    const x = crests(curves, [0, 1], edges, -1);
    assert.deepEqual([...x], [100, 1234, 2000]);
    assert.deepEqual(
        [...x].map((ns) => levelAt(curves, 0, ns) + levelAt(curves, 1, ns)),
        [80, 9070, 80],
    );
    assert.deepEqual([...crests(curves, [0, 1], edges, 2500)], [100, 1234, 2500]);
    assert.deepEqual([...crests(curves, [], edges, -1)], [0, 1000, 2000]);
});

test("crests are found where many curves change at one time, as the slow way finds them", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 200; round++) {
        const time: number[] = [],
            first = [0];
        for (let curve = 0; curve < 5; curve++) {
            const own = new Set(Array.from({ length: random(9) }, () => random(60)));
            time.push(...[...own].sort((a, b) => a - b));
            first.push(time.length);
        }
        const many = {
            ...curves,
            first: Uint32Array.from(first),
            time: Float64Array.from(time),
            level: Float64Array.from(time, () => random(50)),
        };
        const all = [0, 1, 2, 3, 4],
            edges = Float64Array.of(3, 10, 11, 30, 55);
        const sum = (ns: number) => all.reduce((sum, each) => sum + levelAt(many, each, ns), 0);
        crests(many, all, edges, -1).forEach((at, interval) => {
            const moments = Array.from(
                { length: edges[interval + 1]! - edges[interval]! },
                (_, ns) => edges[interval]! + ns,
            );
            const most = Math.max(...moments.map(sum));
            assert.equal(
                at,
                moments.find((ns) => sum(ns) === most),
            );
        });
    }
});

test("a click near a crest means the crest; elsewhere it means the instant before", () => {
    const x = [100, 1234, 2000],
        heights = [80, 9070, 80];
    assert.equal(snapped(x, heights, 1200, 50), 1234);
    assert.equal(snapped(x, heights, 1280, 50), 1234);
    assert.equal(snapped(x, heights, 1900, 50), 1234);
    assert.equal(snapped(x, heights, 1990, 50), 2000);
    assert.equal(snapped([], [], 7, 5), 7);
});

test("of a level that swings, a moment is known as well as the extremes near it let it be", () => {
    const swinging: Curves = { ...curves, stretch: Float64Array.of(50, 0) };
    assert.equal(boundAt(curves, 0, 1300), 1);
    assert.equal(boundAt(curves, 0, 1234), 450);
    assert.equal(boundAt(swinging, 0, 1234), 8990);
    assert.equal(boundAt(swinging, 0, 1280), 8990);
    assert.equal(boundAt(swinging, 0, 1300), 1);
    assert.equal(boundAt(swinging, 1, 120), 3.5);
});

test("who swings is not drawn as others: up to what the level has room for", () => {
    const swinging: Curves = { ...curves, stretch: Float64Array.of(50, 0) };
    assert.equal(highestNear(curves, 0, 1280), 10);
    assert.equal(highestNear(swinging, 0, 1280), 9000);
    assert.equal(highestNear(swinging, 0, 1300), 10);
    assert.deepEqual(raised([10, 70], [9000, 70], 9070), [9000, 70]);
    assert.deepEqual(raised([10, 70], [9000, 70], 80), [10, 70]);
    assert.deepEqual(raised([10, 70], [9000, 70], 50), [10, 70], "no room: as the curves say");
    assert.deepEqual(raised([0, 0], [300, 100], 200), [150, 50]);
});

test("sums over rising instants are those of each curve at each instant", () => {
    for (let round = 0; round < 100; round++) {
        const points = Array.from({ length: 3 }, () => Math.floor(Math.random() * 6)),
            first = [0];
        for (const count of points) first.push(first.at(-1)! + count);
        const time = points.flatMap((count) =>
            Array.from({ length: count }, () => Math.floor(Math.random() * 20)).sort(
                (a, b) => a - b,
            ),
        );
        const some: Curves = {
            node: Uint32Array.of(1, 2, 3),
            first: Uint32Array.from(first),
            time: Float64Array.from(time),
            level: Float64Array.from(time, () => Math.floor(Math.random() * 1000)),
            threshold: new Float64Array(3),
            stretch: new Float64Array(3),
        };
        const instants = Float64Array.of(0, 1, 1, 4.5, 10, 19, 30);
        for (const chosen of [[], [1], [0, 2], [0, 1, 2]])
            assert.deepEqual(
                [...sumsAt(some, chosen, instants)],
                [...instants].map((ns) =>
                    chosen.reduce((sum, curve) => sum + levelAt(some, curve, ns), 0),
                ),
            );
    }
});

test("what is near a moment is found without a look at the whole curve", () => {
    const count = 100_000;
    let reads = 0;
    const time = new Proxy(
        Float64Array.from({ length: count }, (_, at) => at * 10),
        {
            get(of, key) {
                reads++;
                return Reflect.get(of, key) as unknown;
            },
        },
    );
    const long: Curves = {
        ...curves,
        node: Uint32Array.of(1),
        first: Uint32Array.of(0, count),
        time,
        level: Float64Array.from({ length: count }, (_, at) => at % 1000),
        threshold: Float64Array.of(1),
        stretch: Float64Array.of(50),
    };
    assert.equal(highestNear(long, 0, 500_000), 999);
    assert.equal(boundAt(long, 0, 500_000), 999);
    assert.ok(reads < 200, `${reads} reads`);
});
