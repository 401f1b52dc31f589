/* Work in slices gives what it gives at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce, inSlices, SharedWork, sortedTexts, type Work } from "../src/model/slices.ts";

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

test("work that is asked for twice at a time is done once", () => {
    const shared = new SharedWork();
    let made = 0;
    const make = function* (): Work<number> {
        for (let step = 0; step < 3; step++) yield;
        return ++made;
    };
    const one = shared.of("x", make),
        other = shared.of("x", make);
    assert.equal(one.next().done, false);
    assert.equal(other.next().done, false);
    one.return(undefined as never); /* who has begun it leaves */
    assert.deepEqual([other.next().done, other.next().value], [false, 1]);
    assert.equal(made, 1);
    assert.equal(atOnce(shared.of("x", make)), 2);
});

test("what goes wrong in work that several have asked for goes wrong for all of them", () => {
    const shared = new SharedWork();
    const make = function* (): Work<number> {
        yield;
        yield;
        throw new RangeError("no room");
    };
    const one = shared.of("x", make),
        other = shared.of("x", make);
    one.next();
    other.next();
    assert.throws(() => one.next(), /no room/);
    assert.throws(() => other.next(), /no room/);
    assert.equal(
        atOnce(
            shared.of("x", function* (): Work<number> {
                yield;
                return 1;
            }),
        ),
        1,
    );
});
