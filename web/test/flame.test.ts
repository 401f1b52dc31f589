import assert from "node:assert/strict";
import { test } from "node:test";
import { flameOf, frameAddress, frameOfAddress, type Flame } from "../src/model/flame.ts";
import { TreePasses, type Tree } from "../src/model/tree.ts";

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

test("a frame of very many call paths is opened in slices", () => {
    const count = 200_000;
    const tree: Tree = {
        nodeCount: count + 2,
        parent: Uint32Array.from({ length: count + 2 }, (_, node) => (node > 1 ? 1 : 0)),
        code: Uint32Array.from({ length: count + 2 }, (_, node) => Math.min(node, 2)),
        codeFirstLine: Uint32Array.of(0, 1, 2),
        codeLineCount: Uint32Array.of(1, 1, 1),
        codeModule: new Int32Array(3),
        lineKey: Uint32Array.of(2, 0, 1),
        lineFile: new Int32Array(3).fill(-1),
        lineNumber: new Uint32Array(3),
        lineLibrary: new Uint8Array(3),
        lineWrapper: new Uint8Array(3),
        siteNode: Uint32Array.from({ length: count }, (_, site) => site + 2),
        keyCount: 3,
    };
    const column = new Float64Array(count).fill(1),
        passes = new TreePasses(tree),
        work = flameOf(tree, passes, column, null, {
            hide: false,
            collapse: false,
            inverted: false,
            least: 0.0001,
            most: 1000,
        });
    let steps = 0;
    for (let step = work.next(); ; step = work.next(), steps++)
        if (step.done) {
            assert.deepEqual(
                step.value.frames.map(({ value }) => value),
                [count, count, count],
            );
            break;
        }
    /* root, main and what it calls: each in two passes over all paths, of at most 4,096 at once */
    assert.ok(steps > 5 * (count / 4096), `${steps} steps`);
});
