import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceMark, findFocus, keyOfChoice, placedMark } from "../src/model/focus.ts";
import { titleOf, type CallTree, type Profile } from "../src/model/profile.ts";
import { focusOn, placeToSee } from "../src/model/owners.ts";
import { TreePasses, type Tree } from "../src/model/tree.ts";
import { focusKey, shownMetric, sitesKey, wantedSites } from "../src/state/profiles.ts";
import { state } from "../src/state/state.ts";
import { initial } from "../src/state/url.ts";
import { keptRows } from "../src/views/functions.tsx";
import { titlesApart } from "../src/views/timeline.tsx";

/* Of two files each has a function of one name: main (0) calls <main> of a.pl (1) and of b.pl (2). */
const tree: Tree = {
    nodeCount: 4,
    parent: Uint32Array.of(0, 0, 1, 1),
    code: Uint32Array.of(0, 1, 2, 3),
    codeFirstLine: Uint32Array.of(0, 1, 2, 3),
    codeLineCount: Uint32Array.of(1, 1, 1, 1),
    codeModule: new Int32Array(4).fill(-1),
    lineKey: Uint32Array.of(3, 0, 1, 2),
    lineFile: new Int32Array(4).fill(-1),
    lineNumber: new Uint32Array(4),
    lineLibrary: new Uint8Array(4),
    lineWrapper: new Uint8Array(4),
    siteNode: Uint32Array.of(2, 3),
    keyCount: 4,
};
const files = ["main.c", "/x/a.pl", "/x/b.pl", null];
const of = {
    tree,
    passes: new TreePasses(tree),
    names: {
        ofKey: (key: number) => ["main", "<main>", "<main>", "[no call path]"][key] ?? "?",
        ofLine: (line: number) => ["", "main", "<main>", "<main>"][line] ?? "?",
        fileOfKey: (key: number) => key,
        moduleOfKey: () => -1,
        file: (file: number) => files[file] ?? null,
        module: () => null,
    },
} as unknown as CallTree;

test("work that takes a while counts the paths of the state that it began with", () => {
    const now = { ...initial, view: "flame", fn: 2 };
    state.value = { ...initial, view: "flame" };
    assert.equal(wantedSites(of), null);
    assert.deepEqual([...wantedSites(of, now)!], [0, 1]);
    assert.deepEqual([...wantedSites(of, { ...now, fn: -1, node: 2 })!], [1, 0]);
    assert.notEqual(focusKey(now), focusKey());
    const profile = {
        has: () => false,
        metric: (name: string) => ({ name, recorded: true }),
    } as unknown as Profile;
    assert.equal(shownMetric(profile, "at_peak_bytes"), "at_peak_bytes");
    assert.equal(
        shownMetric(profile, "at_peak_bytes", { ...now, metric: "alloc_count" }),
        "alloc_count",
    );
});

test("a range or a setting is not of which paths count", () => {
    const now = { ...initial, view: "source", fn: 2 };
    for (const other of [{ from: 5 }, { to: 9 }, { metric: "alloc_count" }, { hide: !now.hide }])
        assert.equal(sitesKey({ ...now, ...other }), sitesKey(now));
    for (const other of [{ fn: 1 }, { node: 2 }, { search: "size:>4096" }])
        assert.notEqual(sitesKey({ ...now, ...other }), sitesKey(now));
});

test("rows of the same columns are made once, whichever of them is the first", async () => {
    const kept = new Map<string, Promise<unknown>>();
    const profile = {
        work: <T>(key: string, make: () => Promise<T>) => {
            if (!kept.has(key)) kept.set(key, make());
            return kept.get(key) as Promise<T>;
        },
    };
    let made = 0;
    const make = () => Promise.resolve([].slice(0, ++made));
    const now = { ...initial, view: "functions" };
    await keptRows(profile, ["live_bytes", "alloc_count"], true, now, make);
    await keptRows(profile, ["alloc_count", "live_bytes"], true, now, make);
    assert.equal(made, 1);
    await keptRows(profile, ["alloc_count", "live_bytes"], false, now, make);
    await keptRows(profile, ["alloc_count"], true, now, make);
    await keptRows(profile, ["alloc_count", "live_bytes"], true, { ...now, hide: !now.hide }, make);
    assert.equal(made, 4);
});

test("single blocks of the end are not those of the peak", () => {
    const now = { ...initial, view: "flame", search: "age:>1s" };
    assert.notEqual(focusKey(now), focusKey({ ...now, metric: "live_bytes" }));
    assert.equal(
        focusKey({ ...initial, metric: "live_bytes" }),
        focusKey({ ...initial, metric: "alloc_bytes" }),
        "of whole call paths the metric is told apart elsewhere",
    );
});

test("of functions of one name a link leads to that of its file", () => {
    for (const key of [1, 2]) {
        const { fn, at } = focusOn("<main>", files[key]);
        assert.equal(findFocus(of, { fn: fn!, node: -1, at: at! }).fn, key);
        assert.equal(keyOfChoice(of, choiceMark("<main>", files[key]!)), key);
    }
    const owner = {
        kind: "blocks",
        function: "<main>",
        file: "/elsewhere/b.pl",
        count: 1,
        resident_bytes: 1,
        proportional_bytes: 1,
        swapped_bytes: 0,
    };
    const { fn, at } = placeToSee(owner);
    assert.equal(findFocus(of, { fn: fn!, node: -1, at: at! }).fn, 2);
    assert.equal(keyOfChoice(of, placedMark("<main>", "").replace(".", "")), 1, "of an old link");
    assert.equal(keyOfChoice(of, choiceMark("nobody", "")), -1);
});

test("what every file of a script has is told apart by its file", () => {
    assert.equal(titleOf("<main>", "/x/a.pl"), "<main> of a.pl");
    assert.equal(titleOf("<module>", "/x/a.py"), "<module> of a.py");
    assert.equal(titleOf("<main>", null), "<main>");
    assert.equal(titleOf("<function:12>", "/x/a.lua"), "<function:12>");
});

test("no two curves of a legend read the same", () => {
    const long = "std::map<std::string, std::vector<int>>::insert";
    assert.deepEqual(
        titlesApart([
            ["a", "x.c:1"],
            ["b", "x.c:2"],
        ]),
        ["a", "b"],
    );
    assert.deepEqual(
        titlesApart([
            ["a", "x.c:1"],
            ["a", "y.c:2"],
            ["c", ""],
        ]),
        ["a, x.c:1", "a, y.c:2", "c"],
    );
    assert.equal(
        new Set(
            titlesApart([
                [`${long}_one`, "m"],
                [`${long}_two`, "m"],
            ]),
        ).size,
        2,
    );
    assert.equal(
        new Set(
            titlesApart([
                ["a", ""],
                ["a", ""],
                ["a", ""],
            ]),
        ).size,
        3,
    );
});
