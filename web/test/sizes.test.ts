import assert from "node:assert/strict";
import { test } from "node:test";
import { evenly } from "../src/views/sizes.tsx";
import { spread } from "../src/views/spread.tsx";
import { listed } from "../src/model/tree.ts";

test("blocks of many call paths are counted by their mean in steps that can be left", () => {
    const count = 40_000,
        column = (of: (site: number) => number) =>
            Float64Array.from({ length: count }, (_, at) => of(at));
    const sums = column((site) => site * 7),
        times = column((site) => site % 5),
        low = column((site) => 1 + (site % 11)),
        high = column((site) => 20 + (site % 13));
    const sites = listed(Uint8Array.from(sums, (_, site) => (site % 3 ? 1 : 0)));
    const work = spread(sites, {
        sum: (site) => sums[site]!,
        times: (site) => times[site]!,
        low,
        high,
    });
    let steps = 0,
        step = work.next();
    for (; !step.done; step = work.next()) steps++;
    assert.ok(steps >= 6, `${steps} steps`);
    const blocks = new Map<number, number>();
    for (const site of sites) {
        if (!times[site]) continue;
        const bin = 2 ** Math.floor(Math.log2(sums[site]! / times[site]!));
        blocks.set(bin, (blocks.get(bin) ?? 0) + times[site]!);
    }
    assert.deepEqual(step.value, { low: 1, high: 32, blocks });
});

test("intervals of time are put in where nothing was born, and none twice for a ns of rounding", () => {
    const step = 38146.97265625;
    const born = [0, 1, 2, 5, 6, 700, 701, 1023];
    const xs = born.map((at) => Math.floor(1000 + at * step));
    const all = evenly(xs);
    assert.equal(all.length, 1024);
    for (const [at, x] of born.map((at, index) => [at, xs[index]!] as const))
        assert.equal(all[at], x);
    for (let at = 1; at < all.length; at++) assert.ok(all[at]! > all[at - 1]!);
    assert.deepEqual(evenly([7]), [7]);
    assert.deepEqual(evenly([0, 1, 1e12]), [0, 1, 1e12], "too many to be told apart");
});
