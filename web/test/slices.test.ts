/* Work in slices gives what it gives at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce, inSlices, sortedTexts } from "../src/model/slices.ts";

test("texts are sorted as sort() sorts them", async () => {
    let seed = 5;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (const count of [0, 1, 2, 2047, 2048, 2049, 9000]) {
        const texts = Array.from(
            { length: count },
            () => "aBé\u{1f600}_ ~"[random(8)] + String(random(count + 1)),
        );
        const wanted = [...texts].sort();
        assert.deepEqual(atOnce(sortedTexts(texts)), wanted);
        assert.deepEqual(await inSlices(sortedTexts(texts)), wanted);
    }
});
