import assert from "node:assert/strict";
import { test } from "node:test";
import { sumSaid } from "../src/views/jobs.tsx";

test("a sum of ranks says what is not known of it", () => {
    const say = (value: number) => `${value} s`;
    assert.equal(sumSaid([1, 2, 3], say), "6 s");
    assert.equal(sumSaid([1, null, 3], say), "at least 4 s");
    assert.equal(sumSaid([null, null], say), "not known how much");
    assert.equal(sumSaid([0], say), "0 s");
});
