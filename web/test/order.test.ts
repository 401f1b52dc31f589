/* The radix order is the order by comparison, whatever the numbers are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { orderOf } from "../src/model/order.ts";

const odd = [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    Infinity,
    -Infinity,
    NaN,
    Number.MAX_VALUE,
    Number.MIN_VALUE,
    2 ** 53,
    -(2 ** 53),
    65535,
    65536,
    2 ** 32,
];

function plainly(keys: Float64Array, descending: boolean): number[] {
    const value = (at: number) => (Number.isNaN(keys[at]!) ? -Infinity : keys[at]!);
    const order = (a: number, b: number) =>
        value(a) === value(b) ? 0 : value(a) < value(b) ? -1 : 1;
    return [...keys.keys()].sort((a, b) => (descending ? order(b, a) : order(a, b)));
}

test("it is the order by comparison, equal ones as they were", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    let state = seed;
    const random = () => ((state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 8) / 2 ** 24;
    for (let round = 0; round < 300; round++) {
        const keys = Float64Array.from({ length: Math.floor(random() * 60) }, () => {
            const kind = random();
            return kind < 0.3
                ? odd[Math.floor(random() * odd.length)]!
                : kind < 0.6
                  ? Math.floor(random() * 4)
                  : (random() - 0.3) * 2 ** Math.floor(random() * 70);
        });
        for (const descending of [false, true])
            assert.deepEqual(
                [...orderOf(keys, descending)],
                plainly(keys, descending),
                `seed ${seed}: ${keys}`,
            );
    }
});
