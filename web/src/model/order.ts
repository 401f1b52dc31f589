/* Sorts many numbers by radix sort, 16 bits a pass. Half a million numbers take some ten
 * milliseconds, where sorting by comparison takes most of a second. */
import { atOnce, type Work } from "./slices.ts";

const DIGIT = 16,
    DIGITS = 1 << DIGIT;

/* Two words whose order as whole numbers is the order of the number; NaN like -Infinity, -0 like
 * 0. */
function wordsOf(keys: Float64Array): [Uint32Array, Uint32Array] {
    const low = new Uint32Array(keys.length),
        high = new Uint32Array(keys.length);
    const number = new Float64Array(1),
        words = new Uint32Array(number.buffer);
    const [lowAt, highAt] = new Uint8Array(new Uint16Array([1]).buffer)[0] ? [0, 1] : [1, 0];
    for (let at = 0; at < keys.length; at++) {
        const key = keys[at]!;
        number[0] = key !== key ? -Infinity : key + 0;
        const negative = words[highAt]! >>> 31;
        low[at] = negative ? ~words[lowAt]! : words[lowAt]!;
        high[at] = negative ? ~words[highAt]! : words[highAt]! ^ 0x80000000;
    }
    return [low, high];
}

/* Indices of `keys` from the least on, or from the most on; equal ones stay as they are. */
export function orderOf(keys: Float64Array, descending: boolean): Uint32Array {
    return atOnce(orderInSlices(keys, descending));
}
export function* orderInSlices(keys: Float64Array, descending: boolean): Work<Uint32Array> {
    const count = keys.length,
        words = wordsOf(keys);
    let order = new Uint32Array(count),
        other = new Uint32Array(count);
    for (let at = 0; at < count; at++) order[at] = at;
    const flip = descending ? DIGITS - 1 : 0;
    const places = new Uint32Array(DIGITS);
    for (const digits of [
        [0, 0],
        [0, DIGIT],
        [1, 0],
        [1, DIGIT],
    ] as const) {
        const word = words[digits[0]],
            shift = digits[1];
        yield;
        places.fill(0);
        for (let at = 0; at < count; at++) places[((word[at]! >>> shift) & (DIGITS - 1)) ^ flip]!++;
        if (count && places[((word[0]! >>> shift) & (DIGITS - 1)) ^ flip] === count)
            continue; /* all have this one */
        for (let digit = 0, sum = 0; digit < DIGITS; digit++) {
            const here = places[digit]!;
            places[digit] = sum;
            sum += here;
        }
        for (let i = 0; i < count; i++) {
            if ((i & 0xffff) === 0) yield;
            const at = order[i]!;
            other[places[((word[at]! >>> shift) & (DIGITS - 1)) ^ flip]!++] = at;
        }
        [order, other] = [other, order];
    }
    return order;
}
