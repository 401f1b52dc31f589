import assert from "node:assert/strict";
import { test } from "node:test";
import { findFocus, focusAddress } from "../src/model/focus.ts";
import type { CallTree } from "../src/model/profile.ts";

/* A call tree whose every node has a code and a line of its own; nodes of one name and file are of one
 * function. */
function treeOf(
    nodes: readonly (readonly [parent: number, name: string, file?: string, line?: number])[],
): CallTree {
    const functions = [...new Set(nodes.map(([, name, file]) => `${name}\n${file ?? ""}`))];
    const key = nodes.map(([, name, file]) => functions.indexOf(`${name}\n${file ?? ""}`));
    const part = (of: number, at: number) => functions[of]!.split("\n")[at]!;
    return {
        tree: {
            keyCount: functions.length,
            nodeCount: nodes.length,
            parent: Uint32Array.from(nodes, ([parent]) => parent),
            code: Uint32Array.from(nodes, (_, at) => at),
            codeFirstLine: Uint32Array.from(nodes, (_, at) => at),
            lineNumber: Uint32Array.from(nodes, ([, , , line]) => line ?? 1),
        },
        names: {
            ofKey: (of: number) => part(of, 0),
            ofLine: (line: number) => part(key[line]!, 0),
            fileOfKey: (of: number) => of,
            file: (of: number) => part(of, 1) || null,
            moduleOfKey: () => -1,
            module: () => null,
        },
    } as unknown as CallTree;
}

const before = treeOf([
    [0, ""],
    [0, "main"],
    [1, "parse"],
    [2, "node_new"],
    [1, "save"],
]);
const later = treeOf([
    [0, ""],
    [0, "init"],
    [0, "main"],
    [2, "save"],
    [2, "parse"],
    [4, "node_new"],
    [4, "list_new"],
]);

test("a focus is found in a recording where its numbers are others", () => {
    const at = focusAddress(before, 2, 3);
    assert.equal(before.names.ofKey(2), "parse");
    assert.deepEqual(findFocus(before, { fn: 2, node: 3, at }), {
        fn: 2,
        node: 3,
        at,
        gone: false,
    });
    const found = findFocus(later, { fn: 2, node: 3, at });
    assert.equal(later.names.ofKey(found.fn), "parse");
    assert.deepEqual([found.node, found.at, found.gone], [5, at, false]);
});

test("a path that is gone falls back to its nearest caller, a function to nothing; both are said", () => {
    const at = focusAddress(later, 5, 6); /* list_new, and main parse list_new */
    assert.equal(later.names.ofKey(5), "node_new");
    const found = findFocus(before, { fn: -1, node: 6, at });
    assert.deepEqual([found.node, found.gone], [2, true]);
    const none = findFocus(before, { fn: 1, node: -1, at: focusAddress(later, 1, -1) }); /* init */
    assert.deepEqual([none.fn, none.at, none.gone], [-1, "", true]);
});

test("without names the numbers are taken, if there are such", () => {
    assert.deepEqual(findFocus(before, { fn: 2, node: -1, at: "" }).fn, 2);
    assert.deepEqual(findFocus(before, { fn: 99, node: 99, at: "" }), {
        fn: -1,
        node: -1,
        at: "",
        gone: true,
    });
});

test("an address is no better than what it says", () => {
    for (const at of ["~", "~~~", "....", "~....", "x", "~" + ".".repeat(5000)])
        for (const [fn, node] of [
            [2, 3],
            [-1, 3],
            [2, -1],
        ] as const) {
            const found = findFocus(before, { fn, node, at });
            assert.ok(found.fn < before.tree.keyCount && found.node < before.tree.nodeCount);
        }
});

test("functions of one name are told apart by their files; without the file the name counts", () => {
    const two = treeOf([
        [0, ""],
        [0, "init", "a.c"],
        [0, "init", "b.c"],
    ]);
    const turned = treeOf([
        [0, ""],
        [0, "init", "b.c"],
        [0, "init", "a.c"],
    ]);
    for (const fn of [1, 2]) {
        const found = findFocus(turned, { fn, node: -1, at: focusAddress(two, fn, -1) });
        assert.deepEqual([found.fn, found.gone], [3 - fn, false]);
    }
    const moved = treeOf([
        [0, ""],
        [0, "init", "c.c"],
    ]);
    assert.equal(findFocus(moved, { fn: 2, node: -1, at: focusAddress(two, 2, -1) }).fn, 1);
});

test("two calls of one function on a path are told apart by their lines, or it is said that they are not", () => {
    const first = treeOf([
        [0, ""],
        [0, "main", "m.c", 10],
        [1, "make"],
        [0, "main", "m.c", 20],
        [3, "make"],
    ]);
    const turned = treeOf([
        [0, ""],
        [0, "main", "m.c", 20],
        [1, "make"],
        [0, "main", "m.c", 10],
        [3, "make"],
    ]);
    const at = focusAddress(first, -1, 2);
    assert.deepEqual(
        [findFocus(turned, { fn: -1, node: 2, at })].map(({ node, gone }) => [node, gone])[0],
        [4, false],
    );
    const shifted = treeOf([
        [0, ""],
        [0, "main", "m.c", 11],
        [1, "make"],
        [0, "main", "m.c", 21],
        [3, "make"],
    ]);
    assert.equal(
        findFocus(shifted, { fn: -1, node: 2, at }).gone,
        true,
        "which of both is not known",
    );
    const one = treeOf([
        [0, ""],
        [0, "main", "m.c", 11],
        [1, "make"],
    ]);
    assert.deepEqual(
        [findFocus(one, { fn: -1, node: 4, at })].map(({ node, gone }) => [node, gone])[0],
        [2, false],
    );
});
