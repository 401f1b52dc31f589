import assert from "node:assert/strict";
import { test } from "node:test";
import {
    bornOf,
    goneOf,
    growthOf,
    growthRows,
    growthSums,
    momentOf,
    rangeLevels,
    type Growth,
} from "../src/model/growth.ts";
import type { ColumnsDocument, Numbers } from "../src/data/columns.ts";
import { TreePasses, type Tree } from "../src/model/tree.ts";
import type { CallTree, Profile } from "../src/model/profile.ts";

/* main (key 0) calls a (1) and b (2), and b calls c (3); each is a path of its own. */
const tree: Tree = {
    nodeCount: 5,
    parent: Uint32Array.of(0, 0, 1, 1, 3),
    code: Uint32Array.of(0, 1, 2, 3, 4),
    codeFirstLine: Uint32Array.of(0, 1, 2, 3, 4),
    codeLineCount: Uint32Array.of(1, 1, 1, 1, 1),
    codeModule: new Int32Array(5),
    lineKey: Uint32Array.of(7, 0, 1, 2, 3),
    lineFile: new Int32Array(5).fill(-1),
    lineNumber: new Uint32Array(5),
    lineLibrary: new Uint8Array(5),
    lineWrapper: new Uint8Array(5),
    siteNode: Uint32Array.of(1, 2, 3, 4),
    keyCount: 8,
};
const names = {
    ofKey: (key: number) => ["main", "a", "b", "c"][key] ?? "?",
    fileOfKey: () => -1,
    moduleOfKey: () => -1,
    file: () => null,
    module: () => null,
};
const of = { tree, passes: new TreePasses(tree), names } as unknown as CallTree;

const document = (
    columns: Record<string, Numbers>,
    header: Record<string, unknown> = {},
): ColumnsDocument => ({
    header,
    columns: new Map(
        Object.entries(columns).map(([name, values]) => [name, { values, none: null }]),
    ),
});

/* Runs for 1,000 ns; a (node 2) and b (node 3) have curves, main and c never held much. */
function profileWith(columns: Record<string, ColumnsDocument>): Profile {
    const metrics: Record<string, number[]> = {
        live_bytes: [100, 0, 5000, 7],
        at_peak_bytes: [50, 40000, 9000, 0],
        peak_bytes: [100, 40000, 9000, 60],
    };
    return {
        durationNs: 1000,
        summary: {
            meta: {},
            program: { peak_ns: 400, live_bytes: 5107, at_peak_bytes: 49050 },
        },
        has: (name: string) => name in columns || (name === "at" && "at/300" in columns),
        metric: (name: string) => (name in metrics ? { recorded: true } : undefined),
        column: (name: string) => Promise.resolve(Float64Array.from(metrics[name]!)),
        columns: (name: string) => Promise.resolve(columns[name]!),
    } as unknown as Profile;
}
const curves = {
    curves: document({
        node: Uint32Array.of(2, 3),
        first: Uint32Array.of(0, 3, 5),
        time_ns: Float64Array.of(100, 400, 600, 200, 700),
        bytes: Float64Array.of(20000, 40000, 0, 9000, 5000),
        threshold_bytes: Float64Array.of(500, 8192),
        stretch_ns: Float64Array.of(0, 0),
    }),
    timeline: document(
        {
            requested_min: Float64Array.of(0, 29000, 9000, 5000),
            requested_max: Float64Array.of(29000, 49050, 45000, 5107),
        },
        { bucket_ns: 250 },
    ),
};

test("beginning, peak and end are exact; other moments are curves with their bounds, and no curve is no 0", async () => {
    const profile = profileWith(curves);
    const start = await momentOf(profile, of, -1, false);
    assert.deepEqual(
        [start.how, ...start.level, ...start.known],
        ["start", 0, 0, 0, 0, 1, 1, 1, 1],
    );
    const peak = await momentOf(profile, of, 400, true);
    assert.deepEqual(
        [peak.how, ...peak.level, ...peak.bound],
        ["peak", 50, 40000, 9000, 0, 0, 0, 0, 0],
    );
    for (const ns of [-1, 1000, 4711]) {
        const end = await momentOf(profile, of, ns, true);
        assert.deepEqual([end.how, ...end.level], ["end", 100, 0, 5000, 7]);
        assert.deepEqual([end.least, end.most], [5107, 5107]);
    }
    const between = await momentOf(profile, of, 300, true);
    assert.equal(between.how, "curves");
    assert.deepEqual([...between.known], [0, 1, 1, 0]);
    assert.deepEqual([...between.level], [0, 20000, 9000, 0]);
    assert.deepEqual([...between.bound], [0, 1000, 8192, 0], "5 %, or the threshold");
    assert.deepEqual([between.least, between.most], [29000, 49050]);

    const growth = await growthOf(profile, of, 300, -1);
    assert.deepEqual([...growth.change], [0, -20000, -4000, 0]);
    assert.deepEqual([...growth.most], [100, 0, 0, 60]);
    const rows = growthRows(of, growth, null, null, false, false);
    const main = rows.find((row) => row.name === "main")!;
    assert.ok(Number.isNaN(main.change) && Number.isNaN(main.before));
    assert.deepEqual([main.after, main.unknown, main.most], [100, 1, 100]);
    const all = growthRows(of, growth, null, null, true, false).find(({ key }) => key === 0)!;
    assert.deepEqual([all.change, all.bound, all.unknown, all.most], [-24000, 9192, 2, 160]);
    const sums = growthSums(growth, null, null);
    assert.deepEqual(
        [sums.before, sums.after, sums.change, sums.grown, sums.shrunk, sums.unknown],
        [29000, 5107, -24000, 0, 24000, 2],
    );
    assert.ok(Number.isNaN(sums.born));
});

test("the sum of paths of which none is known is not known, and no 0", async () => {
    const profile = profileWith(curves);
    const growth = await growthOf(profile, of, 300, -1);
    growth.from.known.fill(0);
    growth.known.fill(0);
    const sums = growthSums(growth, null, null);
    assert.ok(sums.unknown > 0);
    for (const name of ["before", "change", "grown", "shrunk", "bound"] as const)
        assert.ok(Number.isNaN(sums[name]), name);
    assert.equal(sums.after, 5107, "all are known at the end");
});

test("a curve whose threshold is not known has a bound that is not known, and so have sums with it", async () => {
    const vague = new Map(curves.curves.columns);
    vague.set("threshold_bytes", { values: Float64Array.of(500, NaN), none: null });
    const profile = profileWith({ ...curves, curves: { header: {}, columns: vague } });
    const growth = await growthOf(profile, of, 300, -1);
    assert.deepEqual([...growth.bound], [0, 1000, NaN, 0]);
    const rows = growthRows(of, growth, null, null, true, false);
    const boundOf = (of: number) => rows.find(({ key }) => key === of)!.bound;
    assert.deepEqual([0, 1, 2].map(boundOf), [NaN, 1000, NaN]);
    assert.ok(Number.isNaN(growthSums(growth, null, null).bound));
});

test("a trace's moments are its own; what is born and what is gone make up the change", async () => {
    const at = (bytes: number[], more = {}) =>
        document(
            { node: Uint32Array.of(2, 3), bytes: Float64Array.from(bytes) },
            { live_bytes: bytes[0]! + bytes[1]!, missing_blocks: 0, rough: false, ...more },
        );
    const profile = profileWith({ ...curves, "at/300": at([700, 300]), "at/1000": at([900, 100]) });
    const growth = await growthOf(profile, of, 300, -1);
    assert.deepEqual([growth.from.how, growth.to.how], ["trace", "trace"]);
    assert.deepEqual([...growth.change], [0, 200, -200, 0]);
    assert.deepEqual([...growth.bound, ...growth.most], [0, 0, 0, 0, 0, 0, 0, 0]);
    const born = bornOf(of, { node: [3, 2], bytes: [50, 500] });
    assert.deepEqual([...born], [0, 500, 50, 0]);
    assert.deepEqual([...goneOf(growth, born)], [0, 300, 250, 0]);
    const sums = growthSums(growth, born, Uint8Array.of(0, 1, 1, 0));
    assert.equal(sums.born - sums.gone, sums.change);
    assert.deepEqual([sums.born, sums.gone], [550, 550]);
    const damaged = profileWith({ "at/300": at([1, 2], { rough: true }) });
    assert.match((await momentOf(damaged, of, 300, true)).doubt, /cannot be read/);
});

test("rows add up to the sums, whatever the levels are", () => {
    for (let round = 0; round < 200; round++) {
        const any = () => Float64Array.from({ length: 4 }, () => Math.floor(Math.random() * 1000));
        const moment = (level: Float64Array) => ({
            ns: 0,
            how: "trace" as const,
            level,
            known: new Uint8Array(4).fill(1),
            bound: new Float64Array(4),
            least: null,
            most: null,
            doubt: "",
        });
        const [before, after] = [any(), any()];
        const growth: Growth = {
            from: moment(before),
            to: moment(after),
            change: after.map((value, site) => value - before[site]!),
            known: new Uint8Array(4).fill(1),
            bound: new Float64Array(4),
            most: new Float64Array(4),
        };
        const born = after.map((value) => Math.floor(value * Math.random()));
        const sums = growthSums(growth, born, null);
        const rows = growthRows(of, growth, born, null, false, false);
        for (const name of ["change", "before", "after", "born", "gone"] as const)
            assert.equal(
                rows.reduce((sum, row) => sum + row[name], 0),
                sums[name],
                name,
            );
        assert.equal(sums.grown - sums.shrunk, sums.change);
    }
});

test("the highest moment of a range lies in it, and is one whose level is known", async () => {
    const levels = (values: number[]) => ({
        timeline: document(
            { requested_max: Float64Array.from(values), requested_min: Float64Array.from(values) },
            { bucket_ns: 100 },
        ),
        curves: curves.curves,
    });
    const at = async (values: number[], from: number, to: number) => {
        const { at, whole } = await rangeLevels(profileWith(levels(values)), of, from, to);
        return [at, whole];
    };
    const values = [10, 20, 30, 40, 90, 50, 60, 70, 80, 85];
    assert.deepEqual(await at(values, -1, -1), [400, 90], "the peak is at 400");
    assert.deepEqual(await at(values, 410, 440), [440, 90], "not at 400, which lies before it");
    assert.deepEqual(await at(values, 460, 480), [460, 90]);
    assert.deepEqual(await at(values, 0, 400), [350, 40], "what begins with its end is not in it");
    assert.deepEqual(await at([NaN, 20, NaN, 40, NaN, 50, 60, 70, 80, 85], 0, 380), [350, 40]);
    assert.deepEqual(await at([NaN, NaN, 5], 0, 150), [150, null]);
});
