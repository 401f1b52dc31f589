/* Who freed whose blocks: what is not known is not none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNoPairs } from "../src/views/threads.tsx";

const threads = (...freed: (number | null)[]) =>
    freed.map((freed_elsewhere_count) => ({ freed_elsewhere_count }));
const rest = { owner: null, freer: null, count: 12, bytes: 0 };

test("nobody freed another's blocks where each thread says so", () => {
    assert.match(whyNoPairs(threads(0, 0), null), /^None: every block was freed by the thread/);
    assert.match(whyNoPairs(threads(0), []), /^None/);
});

test("who freed whose blocks is not known where a thread does not say", () => {
    for (const [of, exchanges] of [
        [threads(null), null],
        [threads(0, null), []],
        [[], null],
    ] as const)
        assert.match(whyNoPairs(of, exchanges), /^Not known/);
});

test("blocks freed elsewhere are counted where the pairs are not known", () => {
    assert.equal(
        whyNoPairs(threads(3, 4), null),
        "7 blocks were freed by other threads than asked for them; which these were is not known.",
    );
    assert.match(whyNoPairs(threads(12, 0), [rest]), /^12 blocks/);
    assert.match(whyNoPairs(threads(1, 0), []), /^1 block was/);
});
