import assert from "node:assert/strict";
import { test } from "node:test";
import { evenly } from "../src/views/sizes.tsx";

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
