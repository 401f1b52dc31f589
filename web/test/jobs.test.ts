import assert from "node:assert/strict";
import { test } from "node:test";
import { ranksSaid, sumSaid } from "../src/views/jobs.tsx";

test("a sum of ranks says what is not known of it", () => {
    const say = (value: number) => `${value} s`;
    assert.equal(sumSaid([1, 2, 3], say), "6 s");
    assert.equal(sumSaid([1, null, 3], say), "at least 4 s");
    assert.equal(sumSaid([null, null], say), "not known how much");
    assert.equal(sumSaid([0], say), "0 s");
});

test("ranks are named by their numbers, and none is hidden that one word would have room for", () => {
    assert.equal(ranksSaid([7]), "rank 7");
    assert.equal(ranksSaid([1, 2, 3, 4, 5]), "ranks 1, 2, 3, 4, 5");
    assert.equal(
        ranksSaid(Array.from({ length: 64 }, (_, at) => at)),
        "ranks 0, 1, 2, 3 and 60 more",
    );
});
