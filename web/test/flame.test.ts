import assert from "node:assert/strict";
import { test } from "node:test";
import { frameAddress, frameOfAddress, type Flame } from "../src/model/flame.ts";

const names = ["main", "parse", "solve", "grow"];
const nameIn = (of: Flame) => (at: number) => names[of.frames[at]!.line] ?? "?";

/* Frames by [line, parent]; the root comes by itself. */
function flame(...rows: [number, number][]): Flame {
    const frame = (line: number, parent: number) => ({
        ...{ key: line, line, parent, depth: 0, start: 0, value: 1, self: 0, more: [] },
    });
    return { frames: [frame(-1, -1), ...rows.map((row) => frame(...row))], depth: 0, cut: 0 };
}

test("an address finds the same path where indices are others, or the nearest ancestor", () => {
    const one = flame([0, 0], [1, 1], [2, 1], [3, 3]);
    const other = flame([1, 0], [0, 0], [2, 2], [1, 2], [3, 3]);
    const address = frameAddress(one, 4, nameIn(one));
    assert.deepEqual(frameOfAddress(one, address, nameIn(one)), { at: 4, isWhole: true });
    assert.deepEqual(frameOfAddress(other, address, nameIn(other)), { at: 5, isWhole: true });
    const less = flame([0, 0], [2, 1]);
    assert.deepEqual(frameOfAddress(less, address, nameIn(less)), { at: 2, isWhole: false });
    assert.deepEqual(frameOfAddress(less, "12", nameIn(less)), { at: 0, isWhole: false });
    assert.deepEqual(frameOfAddress(less, "", nameIn(less)), { at: 0, isWhole: true });
});
