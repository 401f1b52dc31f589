import assert from "node:assert/strict";
import { test } from "node:test";
import { childrenOf, depthFirst, downRows } from "../src/model/down.ts";
import type { Flame, FlameFrame } from "../src/model/flame.ts";
import { SvgBrush } from "../src/widgets/svg.ts";

const frame = (parent: number, depth: number, value: number): FlameFrame => ({
    key: depth,
    line: depth,
    parent,
    depth,
    start: 0,
    value,
    self: 0,
    more: [],
});
/* all 100 → a 80 → (b 70, c 10); all → d 20 */
const flame: Flame = {
    frames: [frame(-1, 0, 100), frame(0, 1, 80), frame(0, 1, 20), frame(1, 2, 70), frame(1, 2, 10)],
    depth: 2,
    cut: 0,
};

test("rows of the tree table: where most is stands open, and what was turned by hand stays so", () => {
    const children = childrenOf(flame);
    assert.deepEqual(
        downRows(flame, children, new Map()).map((row) => row.at),
        [0, 1, 3, 4, 2],
    );
    assert.deepEqual(
        downRows(flame, children, new Map([[1, false]])).map((row) => [row.at, row.open]),
        [
            [0, true],
            [1, false],
            [2, null],
        ],
    );
    assert.deepEqual(
        downRows(flame, children, new Map([[0, false]])).map((row) => row.at),
        [0],
    );
});

test("rows that a search goes through stand in the order of the table", () => {
    assert.deepEqual(depthFirst(flame, childrenOf(flame)), [0, 1, 3, 4, 2]);
});

test("a chart as SVG holds no markup of strangers", () => {
    const brush = new SvgBrush();
    brush.fillStyle = '"><script>';
    brush.fillText("<b>\u0000&\ud800", 1.234, 2);
    const text = brush.text(10, 20, "#fff");
    assert.doesNotMatch(text, /<script|<b>|\u0000|\ud800/);
    assert.match(text, /x="1.23"/);
});
