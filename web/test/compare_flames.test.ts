import assert from "node:assert/strict";
import { test } from "node:test";
import { diffFlames } from "../src/model/compare.ts";
import { buildFlame, type Flame } from "../src/model/flame.ts";
import { TreePasses, type Tree } from "../src/model/tree.ts";

/* large and f are called by the root; f calls g. */
const tree: Tree = {
    nodeCount: 4,
    parent: Uint32Array.of(0, 0, 0, 2),
    code: Uint32Array.of(0, 1, 2, 3),
    codeFirstLine: Uint32Array.of(0, 1, 2, 3),
    codeLineCount: Uint32Array.of(1, 1, 1, 1),
    codeModule: new Int32Array(4),
    lineKey: Uint32Array.of(3, 0, 1, 2),
    lineFile: new Int32Array(4).fill(-1),
    lineNumber: new Uint32Array(4),
    lineLibrary: new Uint8Array(4),
    lineWrapper: new Uint8Array(4),
    siteNode: Uint32Array.of(1, 3),
    keyCount: 4,
};
const names = ["large", "f", "g", "?"];
const namer = {
    identity: (line: number) => tree.lineKey[line]!,
    name: (identity: number) => names[identity]!,
    place: () => "",
};
const flameOf = (...column: number[]) =>
    buildFlame(tree, new TreePasses(tree), column, null, {
        hide: false,
        collapse: false,
        inverted: false,
        least: 0.0005,
        most: 100,
    });

test("what is too narrow to be opened in one of two runs does not look new in the other", () => {
    /* g holds 40 in both; beside a million it is not opened */
    const both = diffFlames(flameOf(1_000_000, 40), namer, flameOf(60, 40), namer, 1);
    both.names.forEach((name, at) => {
        if (name === "f" || name === "g") assert.equal(both.before[at], both.after[at], name);
    });
    assert.ok(both.names.includes("f"), "it is there itself");
    const alike = diffFlames(flameOf(60, 40), namer, flameOf(60, 80), namer, 1);
    const g = alike.names.indexOf("g");
    assert.deepEqual([alike.before[g], alike.after[g]], [40, 80], "and is opened where it may be");
    const fresh = diffFlames(flameOf(1_000_000, 0), namer, flameOf(60, 40), namer, 1);
    assert.ok(fresh.names.includes("g"), "what is in one alone is open");
});

test("a call path of very many frames is no reason to fail", () => {
    const depth = 50_000;
    const chain: Flame = {
        frames: Array.from({ length: depth }, (_, at) => ({
            key: at,
            line: at,
            parent: at - 1,
            depth: at,
            start: 0,
            value: 5,
            self: at === depth - 1 ? 5 : 0,
            more: [],
        })),
        depth: depth - 1,
        cut: 0,
    };
    const each = { identity: (line: number) => line, name: String, place: () => "" };
    const { frames, before, after, names } = diffFlames(chain, each, chain, each, 2);
    assert.equal(frames.length, depth);
    assert.deepEqual(
        [before.at(-1), after.at(-1), names.at(-1), frames.at(-1)!.parent],
        [5, 10, String(depth - 1), depth - 2],
    );
});

test("children stand side by side, the widest first", () => {
    const { frames, names } = diffFlames(flameOf(30, 70), namer, flameOf(90, 20), namer, 1);
    assert.deepEqual(
        frames.map(({ parent, depth, start, value }, at) => [
            names[at],
            parent,
            depth,
            start,
            value,
        ]),
        [
            ["all", -1, 0, 0, 160],
            ["large", 0, 1, 0, 90],
            ["f", 0, 1, 90, 70],
            ["g", 2, 2, 90, 70],
        ],
    );
});
