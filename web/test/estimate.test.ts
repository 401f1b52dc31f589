import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf, errorText } from "../src/model/estimate.ts";

test("errors of estimates are the text report's", () => {
    const interval = 65536;
    assert.equal(errorOf(interval, 1024), 128451); /* one sample: 1.96 intervals */
    assert.equal(errorText(interval, interval, 1024), "1 sample");
    assert.equal(errorText(interval, 3 * interval, 3 * 1024), "3 samples");
    assert.equal(errorText(interval, 4 * interval, 4 * 1024), "±250 KiB");
    assert.equal(errorText(interval, 1 << 20, 0), "±0 B");
});
