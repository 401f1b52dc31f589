/* What other tools recorded, and a whole job: a view says of them what is known and why the rest is not, and
 * nowhere that there was none of it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";
import { views } from "./views.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

/* As valgrind writes it: levels at four moments, the tree of one. */
const massif = ["desc: (none)", "cmd: ./server --quiet", "time_unit: ms"]
    .concat(
        [
            [0, 0, "empty"],
            [50, 65000, "empty"],
            [
                120,
                70000,
                "peak",
                "n2: 70000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.",
                " n1: 69000 0x1234: load (load.c:7)",
                "  n0: 69000 0x2345: main (main.c:3)",
                " n0: 1000 in 2 places, all below massif's threshold (1.00%)",
            ],
            [150, 400, "empty"],
        ].flatMap(([time, heap, kind, ...tree], at) => [
            "#-----------",
            `snapshot=${at}`,
            "#-----------",
            `time=${time}`,
            `mem_heap_B=${heap}`,
            "mem_heap_extra_B=16",
            "mem_stacks_B=0",
            `heap_tree=${kind}`,
            ...tree,
        ]),
    )
    .join("\n");

/* What nobody can say of a profile that does not tell. */
const untrue =
    /made no reallocation|every block was freed by|was not looked at|--no-looks|older than format|cut short has none|Recordings of format|record --h/;

export function testImported(world) {
    const make = (name, text) => {
        const file = join(world.work, `imported.${name}`);
        if (text) writeFileSync(file, `${text}\n`);
        const args = ["import", "--force", `--from=${name}`, "-o", `${file}.tmk`, file];
        execFileSync(world.tidemark, args, { stdio: ["ignore", "ignore", "inherit"] });
        return `${file}.tmk`;
    };
    const open = async (t, file) => {
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server);
        t.after(() => session.close());
        return session;
    };
    const everyView = async (session, why) => {
        for (const view of views) {
            await session.go(view);
            const text = await session.text();
            assert.doesNotMatch(text, untrue, view);
            assert.equal(await session.page.locator(".main [role=alert]").count(), 0, view);
            if (["sizes", "threads", "stacks", "globals", "held", "heat"].includes(view))
                assert.match(text, why, view);
        }
        session.noErrors();
    };

    test("massif's file: what it does not tell is not said to be nothing, and its levels are joined", async (t) => {
        const file = make("massif", massif),
            session = await open(t, file);
        await everyView(session, /recorded by massif/);
        await session.go("summary");
        assert.match(await session.text(), /Imported from massif/);
        assert.match(
            await session.text("ol.holders"),
            /\(below massif's threshold\)/,
            "words in brackets are no parameters",
        );
        await session.go("timeline");
        const chart = session.page.locator(".card", { hasText: "Levels" }).first();
        assert.match(await chart.innerText(), /straight between the moments that massif told/);
        const csv = await session.saved(chart.getByRole("button", { name: "CSV", exact: true }));
        const levels = csv.text
            .trim()
            .split("\n")
            .slice(1)
            .map((row) => row.split(",")[1]); /* live blocks, after the time */
        assert.ok(levels.length > 10);
        assert.deepEqual(
            levels.filter((level) => level === ""),
            [],
            "no hole between two moments",
        );
        assert.equal(Math.max(...levels.map(Number)), 70000);
        await session.go("leaks");
        assert.match(await session.text(), /never freed is not in this profile/);
        await session.go("growth");
        for (const name of ["after", "change", "grown", "shrunk"])
            assert.equal(await session.text(`[data-sum=${name}]`), "–", "known of no path");
        const { duration_ns: end } = report(world.tidemark, file).meta;
        await session.go("growth", { from: Math.round(end / 4), to: Math.round(end / 2) });
        assert.doesNotMatch(await session.text(), /NaN/);
    });

    test("heaptrack's file: what was never freed is in Leaks, as in the report", async (t) => {
        const raw = join(world.work, "imported.heaptrack");
        execFileSync(world.tidemark, [
            ...["export", "--to=heaptrack", "--force", "-o", raw],
            world.profiles.threads,
        ]);
        const file = make("heaptrack"),
            { program } = report(world.tidemark, file),
            session = await open(t, file);
        await everyView(session, /recorded by heaptrack/);
        await session.go("leaks");
        const rows = await session.json("Blocks alive at the end");
        assert.ok(program.live_bytes > 0);
        assert.equal(sum(rows.map((row) => row.bytes)), program.live_bytes);
        assert.equal(sum(rows.map((row) => row.count)), program.live_count);
        await session.go("leaks", { opt: "list:lost" });
        assert.doesNotMatch(await session.text(), /nothing is lost/i, "nobody knows");
    });

    test("a heap dump has neither a peak nor a duration: views show what it has, and no 0 ns", async (t) => {
        const dump = "heap_v2/1\n  t*: 3: 300 [5: 500]\n@ 0x1000 0x2000\n  t*: 3: 300 [5: 500]\n";
        const session = await open(t, make("jemalloc", `${dump}\nMAPPED_LIBRARIES:`));
        for (const view of views) {
            await session.go(view);
            assert.doesNotMatch(await session.text(), untrue, view);
            assert.doesNotMatch(await session.text(), /\b0 ns|Nothing was allocated/, view);
        }
        session.noErrors();
        for (const view of ["flame", "tree"]) {
            await session.go(view);
            assert.match(await session.text(), /live bytes/, view);
            assert.doesNotMatch(await session.text(), /was not recorded/, view);
        }
        await session.go("growth");
        assert.equal(await session.text("[data-sum=after]"), "300 B", "at the end");
    });

    test("a whole job: no view has zeros or advice for what each rank has alone", async (t) => {
        const session = await open(t, world.profiles.job);
        await everyView(session, /choose a rank/);
        await session.go("timeline");
        assert.equal(
            await session.page.locator(".card h2", { hasText: "Rates" }).count(),
            0,
            "when its ranks asked for memory is not kept, and not 0",
        );
        await session.go("summary");
        const peak = await session.text(".card:has([data-leak-verdict]) p");
        assert.match(peak, /at the peak each rank at its own moment/);
        await session.go("growth");
        assert.doesNotMatch(await session.text(), /the peak, at/, "the sum of peaks is at none");
        for (const list of ["owners", "paths", "heap", "mappings"]) {
            await session.go("resident", { opt: `list:${list}` });
            const text = await session.text();
            assert.doesNotMatch(text, /at 0 ns|this profile has no/, list);
            assert.doesNotMatch(text, /made no pass over the pages/, list);
            if (["heap", "mappings"].includes(list)) assert.match(text, /choose a rank/, list);
        }
        session.noErrors();
    });
}
