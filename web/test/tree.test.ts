import assert from "node:assert/strict";
import { test } from "node:test";
import { buildFlame } from "../src/model/flame.ts";
import { callEdges, edgesOf, pruneGraph, toDot } from "../src/model/graph.ts";
import { TreePasses, both, listed, type Tree } from "../src/model/tree.ts";
import { checkTree, type CallTree } from "../src/model/profile.ts";
import { groundOf, sumOf, throughFunction } from "../src/model/sandwich.ts";
import { atOnce } from "../src/model/slices.ts";

/* A random tree, one to three lines a code; recursion is common since there are few functions. */
function randomTree(random: () => number): Tree {
    const nodes = 2 + Math.floor(random() * 60),
        codes = 2 + Math.floor(random() * 12),
        functions = 2 + Math.floor(random() * 6);
    const first: number[] = [],
        counts: number[] = [],
        keys: number[] = [],
        library: number[] = [];
    for (let code = 0; code < codes; code++) {
        first.push(keys.length);
        counts.push(code ? 1 + Math.floor(random() * 3) : 1);
        for (let i = 0; i < counts[code]!; i++) {
            keys.push(code ? Math.floor(random() * functions) : functions + 3);
            library.push(random() < 0.3 ? 1 : 0);
        }
    }
    const parent = new Uint32Array(nodes),
        code = new Uint32Array(nodes);
    for (let node = 1; node < nodes; node++) {
        parent[node] = Math.floor(random() * node);
        code[node] = 1 + Math.floor(random() * (codes - 1));
    }
    const sites = [...Array(nodes).keys()].filter((node) => node && random() < 0.5);
    return {
        nodeCount: nodes,
        parent,
        code,
        codeFirstLine: Uint32Array.from(first),
        codeLineCount: Uint32Array.from(counts),
        codeModule: new Int32Array(codes),
        lineKey: Uint32Array.from(keys),
        lineFile: new Int32Array(keys.length).fill(-1),
        lineNumber: new Uint32Array(keys.length),
        lineLibrary: Uint8Array.from(library),
        lineWrapper: Uint8Array.from(library, (is) => (is && random() < 0.5 ? 1 : 0)),
        siteNode: Uint32Array.from(sites),
        keyCount: functions + 4,
    };
}

/* Frames of a path, innermost first, the slow way. */
function frames(tree: Tree, node: number): number[] {
    const lines = [];
    for (; node; node = tree.parent[node]!)
        for (let i = 0; i < tree.codeLineCount[tree.code[node]!]!; i++)
            lines.push(tree.codeFirstLine[tree.code[node]!]! + i);
    return lines;
}

const seed = Number(process.env["SEED"] ?? Date.now() % 1e9);
function randoms(from: number): () => number {
    let state = from >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

test(`who asked through a wrapper, and through which (SEED=${seed})`, () => {
    let common = 0;
    for (let round = 0; round < 300; round++) {
        const tree = randomTree(randoms(seed + round)),
            passes = new TreePasses(tree),
            lines = passes.exclusiveLines(true);
        const byKey = new Map<number, Set<number>>();
        tree.siteNode.forEach((node, site) => {
            const path = frames(tree, node),
                before = path.slice(0, path.indexOf(lines[site]!)),
                wrapper = before.findLast((line) => tree.lineWrapper[line]) ?? -1;
            assert.equal(passes.wrapperLine(node, lines[site]!), wrapper);
            const key = tree.lineKey[lines[site]!]!;
            byKey.set(
                key,
                (byKey.get(key) ?? new Set()).add(wrapper < 0 ? -1 : tree.lineKey[wrapper]!),
            );
        });
        passes.wrapperLines(true).forEach((line, key) => {
            const all = [...(byKey.get(key) ?? [-1])],
                expected = all.length === 1 ? all[0] : -1;
            assert.equal(line < 0 ? -1 : tree.lineKey[line], expected, `key ${key}`);
            if (expected !== undefined && expected >= 0) common++;
        });
        assert.ok(passes.wrapperLines(false).every((line) => line === -1));
    }
    assert.ok(common > 0);
});

test(`the site of a node is found without a list of all nodes, and of sites that do not rise (SEED=${seed})`, () => {
    for (let round = 0; round < 300; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            sites = [...tree.siteNode];
        if (round % 3 === 1) sites.sort(() => random() - 0.5);
        if (round % 3 === 2) sites.push(...sites.slice(-2)); /* one node's twice */
        const made = { ...tree, siteNode: Uint32Array.from(sites) },
            known = new TreePasses(made).siteOfNode(),
            passes = new TreePasses(made);
        for (let node = 0; node <= tree.nodeCount; node++)
            assert.equal(passes.siteOf(node), known[node] ?? -1, `node ${node} of ${sites}`);
    }
});

test(`what a pane says of a function equals the slow way (SEED=${seed})`, () => {
    for (let round = 0; round < 300; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            passes = new TreePasses(tree),
            of = { tree, passes } as unknown as CallTree,
            hide = random() < 0.5;
        const column = Float64Array.from(tree.siteNode, () => Math.floor(random() * 100) - 30);
        const wanted =
            random() < 0.5 ? null : Uint8Array.from(tree.siteNode, () => (random() < 0.6 ? 1 : 0));
        const counts = (site: number) => !wanted || !!wanted[site],
            drawn = column.map((value) => Math.max(0, value)),
            sites = [...tree.siteNode.keys()].filter(counts);
        const ground = atOnce(groundOf(passes, column, wanted, hide));
        assert.deepEqual([...ground.column], [...drawn]);
        assert.deepEqual(ground.edges, callEdges(passes, drawn, wanted, hide));
        assert.equal(
            ground.whole,
            sites.reduce((sum, site) => sum + drawn[site]!, 0),
        );
        for (let key = 0; key < tree.keyCount; key++) {
            const through = atOnce(throughFunction(of, key, wanted, hide)),
                lines = passes.exclusiveLines(hide);
            const inside = sites.filter((site) =>
                frames(tree, tree.siteNode[site]!).some((line) => tree.lineKey[line] === key),
            );
            const own = sites.filter((site) => tree.lineKey[lines[site]!] === key);
            assert.deepEqual([...through.inclusive], inside);
            assert.deepEqual([...through.exclusive], own);
            assert.deepEqual([...listed(through.isThrough)], inside);
            assert.equal(
                sumOf(column, through.inclusive),
                inside.reduce((sum, site) => sum + column[site]!, 0),
            );
        }
    }
});

test(`passes equal the slow way (SEED=${seed})`, () => {
    for (let round = 0; round < 300; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            passes = new TreePasses(tree);
        checkTree(tree);
        const column = Float64Array.from(tree.siteNode, () => Math.floor(random() * 100));
        const wanted =
            random() < 0.5 ? null : Uint8Array.from(tree.siteNode, () => (random() < 0.6 ? 1 : 0));
        const hide = random() < 0.5;
        const exclusive = new Float64Array(tree.keyCount),
            inclusive = new Float64Array(tree.keyCount),
            edges = new Map<string, number>();
        tree.siteNode.forEach((node, site) => {
            if (wanted && !wanted[site]) return;
            const path = frames(tree, node),
                shown = path.filter((line) => !hide || !tree.lineLibrary[line]);
            exclusive[tree.lineKey[shown[0] ?? path[0]!]!]! += column[site]!;
            for (const key of new Set(
                (shown.length ? shown : path.slice(0, 1)).map((line) => tree.lineKey[line]!),
            ))
                inclusive[key]! += column[site]!;
            const calls = new Set<string>();
            for (let i = 0; i + 1 < shown.length; i++)
                calls.add(`${tree.lineKey[shown[i + 1]!]} ${tree.lineKey[shown[i]!]}`);
            for (const call of calls) edges.set(call, (edges.get(call) ?? 0) + column[site]!);
        });
        assert.deepEqual([...passes.exclusiveByKey(column, wanted, hide)], [...exclusive]);
        assert.deepEqual([...passes.inclusiveByKey(column, wanted, hide)], [...inclusive]);
        for (const edge of callEdges(passes, column, wanted, hide)) {
            assert.equal(
                edge.value,
                edges.get(`${edge.from} ${edge.to}`),
                `call ${edge.from} → ${edge.to}`,
            );
            edges.delete(`${edge.from} ${edge.to}`);
        }
        assert.deepEqual(
            [...edges].filter(([, value]) => value > 0),
            [],
        );
    }
});

test(`calls of what grew, went, or is not known have their callers (SEED=${seed})`, () => {
    for (let round = 0; round < 300; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            hide = random() < 0.5,
            edges = new Map<string, number>();
        const column = Float64Array.from(tree.siteNode, () =>
            random() < 0.1 ? NaN : Math.floor(random() * 3) - 1,
        );
        tree.siteNode.forEach((node, site) => {
            const shown = frames(tree, node).filter((line) => !hide || !tree.lineLibrary[line]),
                calls = new Set<string>();
            for (let i = 0; i + 1 < shown.length; i++)
                calls.add(`${tree.lineKey[shown[i + 1]!]} ${tree.lineKey[shown[i]!]}`);
            for (const call of calls) edges.set(call, (edges.get(call) ?? 0) + column[site]!);
        });
        const found = callEdges(new TreePasses(tree), column, null, hide);
        assert.deepEqual(
            new Map(found.map(({ from, to, value }) => [`${from} ${to}`, value])),
            new Map([...edges].filter(([, value]) => value !== 0)),
        );
    }
});

test(`a sum with a part that is not known is not known, itself or inclusive (SEED=${seed})`, () => {
    let unknown = 0;
    for (let round = 0; round < 300; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            passes = new TreePasses(tree),
            hide = random() < 0.5;
        const column = Float64Array.from(tree.siteNode, () => (random() < 0.1 ? NaN : 1));
        const slow = new Float64Array(tree.keyCount);
        tree.siteNode.forEach((node, site) => {
            const path = frames(tree, node),
                shown = path.filter((line) => !hide || !tree.lineLibrary[line]);
            for (const key of new Set(
                (shown.length ? shown : path.slice(0, 1)).map((line) => tree.lineKey[line]!),
            ))
                slow[key]! += column[site]!;
        });
        const inclusive = passes.inclusiveByKey(column, null, hide);
        assert.deepEqual([...inclusive], [...slow]);
        passes.exclusiveByKey(column, null, hide).forEach((value, key) => {
            if (Number.isNaN(value)) assert.ok(Number.isNaN(inclusive[key]), `key ${key}`);
        });
        unknown += inclusive.filter(Number.isNaN).length;
    }
    assert.ok(unknown > 0);
});

test(`the flame graph holds every path once (SEED=${seed})`, () => {
    for (let round = 0; round < 200; round++) {
        const random = randoms(seed + round),
            tree = randomTree(random),
            passes = new TreePasses(tree);
        const column = Float64Array.from(tree.siteNode, () => Math.floor(random() * 100));
        const hide = random() < 0.5,
            inverted = random() < 0.5;
        const flame = buildFlame(tree, passes, column, null, {
            hide,
            collapse: false,
            inverted,
            least: 0,
            most: 1e6,
        });
        const expected = new Map<string, number>();
        tree.siteNode.forEach((node, site) => {
            if (!column[site]) return;
            const all = frames(tree, node);
            let path = all.filter((line) => !hide || !tree.lineLibrary[line]);
            if (!path.length) path = [all[0]!];
            const keys = path.map((line) => tree.lineKey[line]!);
            if (!inverted) keys.reverse();
            const name = keys.join(";");
            expected.set(name, (expected.get(name) ?? 0) + column[site]!);
        });
        const found = new Map<string, number>();
        flame.frames.forEach((frame, at) => {
            if (!at || !frame.self) return;
            const keys = [];
            for (let up = at; up > 0; up = flame.frames[up]!.parent)
                keys.push(flame.frames[up]!.key);
            found.set(keys.reverse().join(";"), frame.self);
        });
        assert.deepEqual([...found].sort(), [...expected].sort());
        flame.frames.forEach((frame, at) => {
            if (!at) return;
            const parent = flame.frames[frame.parent]!;
            assert.ok(
                frame.start >= parent.start &&
                    frame.start + frame.value <= parent.start + parent.value,
            );
        });
    }
});

test("a tree that would lead the passes astray is refused", () => {
    const tree = randomTree(randoms(7));
    assert.throws(
        () => checkTree({ ...tree, parent: tree.parent.map((_, node) => node) }),
        /before its parent/,
    );
    assert.throws(() => checkTree({ ...tree, code: tree.code.map(() => 9999) }), /unknown code/);
    assert.throws(() => checkTree({ ...tree, siteNode: Uint32Array.of(tree.nodeCount) }), /site/);
});

test("masks of both", () => {
    assert.equal(both(null, null), null);
    assert.deepEqual([...both(Uint8Array.of(1, 1, 0), Uint8Array.of(1, 0, 0))!], [1, 0, 0]);
});

test("DOT cannot be broken out of", () => {
    const graph = pruneGraph([{ from: 0, to: 1, value: 5 }], [5, 5], [0, 5], {
        focus: -1,
        least: 1,
        up: 1,
        down: 1,
        most: 10,
    });
    const dot = toDot(graph, {
        name: () => 'x"]; evil [label="\\',
        full: () => 'y"]; evil [label="\\',
        value: String,
        total: 5,
        inclusive: [5, 5],
        exclusive: [0, 5],
        focus: -1,
        dark: false,
    });
    assert.ok(!/[^\\]"\]; evil/.test(dot));
});

test("another column is added up by strands of the tree, not node by node", () => {
    const deep = 400_000;
    const tree: Tree = {
        nodeCount: deep,
        parent: Uint32Array.from({ length: deep }, (_, node) => Math.max(0, node - 1)),
        code: Uint32Array.from({ length: deep }, (_, node) => (node ? 1 + (node % 2) : 0)),
        codeFirstLine: Uint32Array.of(0, 1, 2),
        codeLineCount: Uint32Array.of(1, 1, 1),
        codeModule: new Int32Array(3),
        lineKey: Uint32Array.of(2, 0, 1),
        lineFile: new Int32Array(3).fill(-1),
        lineNumber: new Uint32Array(3),
        lineLibrary: new Uint8Array(3),
        lineWrapper: new Uint8Array(3),
        siteNode: Uint32Array.of(deep / 2, deep - 1),
        keyCount: 3,
    };
    const passes = new TreePasses(tree),
        first = passes.inclusiveByKey(Float64Array.of(3, 4), null, false);
    assert.deepEqual([...first], [7, 7, 0]);
    assert.deepEqual(callEdges(passes, Float64Array.of(3, 4), null, false), [
        { from: 1, to: 0, value: 7 },
        { from: 0, to: 1, value: 7 },
    ]);
    for (const work of [
        passes.inclusiveByKeyInSlices(Float64Array.of(30, 40), null, false),
        edgesOf(passes, Float64Array.of(30, 40), null, false),
    ]) {
        let steps = 0;
        while (!work.next().done) steps++;
        assert.ok(steps < 8, `${steps} steps`);
    }
});
