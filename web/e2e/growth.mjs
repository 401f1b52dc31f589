/* What grew between two moments: the view says what the commands say of both, whatever one does in
 * it; and where a profile does not know it, it says how far off it may be, and the trace agrees. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { allocationTimes, report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

/* Functions at a moment of a trace, as tidemark at says it: those with anything of their own, and those
 * with anything below them. */
function levelsAt(world, ns) {
    const at = (...options) =>
        JSON.parse(
            execFileSync(
                world.tidemark,
                ["at", "--json", "--top=0", ...options, world.profiles.trace, `${ns}ns`],
                { encoding: "utf8", maxBuffer: 1 << 29 },
            ),
        );
    const by = ({ functions }, kind) =>
        Object.fromEntries(functions.map((row) => [row.function, row[kind].live_bytes]));
    const said = at();
    return {
        total: said.at.live_bytes,
        exclusive: by(said, "exclusive"),
        inclusive: by(at("--inclusive"), "inclusive"),
    };
}

/* By function: what began after `from` and is alive at `to`, as tidemark blocks says it. Times are whole
 * ns there, so that of a block that began at `from` itself it does not say whether it began after. */
function bornBetween(world, from, to) {
    const lines = execFileSync(
        world.tidemark,
        ["blocks", world.profiles.trace, "--json", "--top=0", `--at=${to}ns`],
        { encoding: "utf8", maxBuffer: 1 << 29 },
    );
    const least = {},
        most = {};
    const add = (sums, name, size) => {
        sums[name] = (sums[name] ?? 0) + size;
    };
    /* no line at all where nothing is alive at `to` */
    for (const line of lines.split("\n").filter(Boolean)) {
        const block = JSON.parse(line),
            name = block.frames[0].function;
        if (block.birth_ns >= Number(from) - 1) add(most, name, block.size_bytes);
        if (block.birth_ns > Number(from) + 1) add(least, name, block.size_bytes);
    }
    return { least, most };
}

const momentsOf = async (session) => {
    const query = new URLSearchParams((await session.state()).split("?")[1]);
    return [query.get("from"), query.get("to")];
};

const sumOf = (figures) => Object.values(figures).reduce((sum, value) => sum + value, 0);

export function testGrowth(world) {
    test("growth of a trace: what at and blocks say of the moments, after a drag, a zoom, a legend's click, by link", async (t) => {
        const server = await serve(world.tidemark, [world.profiles.trace]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const title = (name) => page.locator(`[data-sum=${name}]`).first().getAttribute("title");
        const agrees = async (from, to) => {
            const [before, after] = [levelsAt(world, from), levelsAt(world, to)],
                born = bornBetween(world, from, to);
            const change = after.total - before.total;
            const figure = async (name) => Number((await title(name)).replace(/[^0-9]/g, ""));
            const came = await figure("born");
            assert.equal(await title("before"), exact(before.total, "bytes"));
            assert.equal(await title("after"), exact(after.total, "bytes"));
            assert.ok(came >= sumOf(born.least) && came <= sumOf(born.most), `${came} were born`);
            assert.equal(await figure("gone"), came - change);
            return { before, after, born, change };
        };
        const rowsAgree = async ({ before, after, born }, kind, fewest = 2) => {
            const rows = await session.json("Growth by function");
            const named = [
                ...new Set([...Object.keys(before[kind]), ...Object.keys(after[kind])]),
            ].filter((name) => name !== "null" && (before[kind][name] || after[kind][name]));
            assert.ok(named.length >= fewest, named.join());
            for (const name of named) {
                const row = rows.find((each) => each.function === name);
                const [a, b] = [before[kind][name] ?? 0, after[kind][name] ?? 0];
                assert.deepEqual([row?.before, row?.after, row?.change], [a, b, b - a], name);
                if (kind !== "exclusive") continue;
                assert.ok(row.born >= (born.least[name] ?? 0), `${name} was born`);
                assert.ok(row.born <= (born.most[name] ?? 0), `${name} was born`);
                assert.equal(row.gone, row.before - (row.after - row.born), `${name} is gone`);
                assert.ok(row.gone >= 0, `no more is gone than there was: ${name}`);
            }
            return rows;
        };
        const times = allocationTimes(world.tidemark, world.profiles.trace);
        const [from, to] = [0.3, 0.6].map((part) => String(times[Math.floor(times.length * part)]));
        await session.go("growth", { from, to, opt: "same:1" });
        assert.match(await session.text("[data-exactness]"), /^Exact, from the trace\.$/);
        const said = await agrees(from, to);
        const rows = await rowsAgree(said, "exclusive");
        await page.locator(".head").getByRole("button", { name: "inclusive" }).click();
        await session.settle();
        await rowsAgree(said, "inclusive");
        await page.locator(".head").getByRole("button", { name: "inclusive" }).click();
        await session.settle();

        /* the same in the views of call paths */
        await session.go("functions", { from, to, metric: "range_growth" });
        assert.match(await session.text("[data-range]"), /exact, from the trace/);
        for (const row of await session.json("Functions"))
            assert.equal(
                row.range_growth,
                /* it may have come and gone in between */
                rows.find((each) => each.function === row.function)?.change ?? 0,
                row.function,
            );

        /* a drag over the chart: two moments, in the address */
        await session.go("growth", { opt: "same:1" });
        const over = page.locator(".chart .u-over").first(),
            box = await over.boundingBox();
        await page.mouse.move(box.x + 0.25 * box.width, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + 0.5 * box.width, box.y + 42, { steps: 4 });
        await page.mouse.up();
        await session.settle();
        const dragged = await momentsOf(session);
        assert.ok(Number(dragged[0]) > 0 && Number(dragged[1]) > Number(dragged[0]), dragged);
        /* on a busy machine nothing may be alive at either */
        await rowsAgree(await agrees(...dragged), "exclusive", 0);

        /* what the legend hides is the chart's alone */
        await page.locator(".u-legend .u-label", { hasText: "live blocks" }).click();
        await session.settle();
        assert.deepEqual(await momentsOf(session), dragged);
        await agrees(...dragged);

        /* a click moves the nearer moment, here B */
        await over.click({ position: { x: Math.round(0.7 * box.width), y: 40 } });
        await session.settle();
        const moved = await momentsOf(session);
        assert.equal(moved[0], dragged[0]);
        assert.ok(Number(moved[1]) > Number(dragged[1]));
        const last = await agrees(...moved);

        /* the graph, zoomed; and a link to it, in another page */
        await session.press("difference flame graph");
        const change = page.locator("[data-zoomed] b");
        assert.equal(
            await change.getAttribute("title"),
            exact(last.change, "bytes").replace("-", "−"),
            "all of it",
        );
        await page.locator(".icicle canvas").click({ position: { x: 60, y: 27 } });
        await session.settle();
        const zoomed = await session.text("[data-zoomed]");
        assert.doesNotMatch(zoomed, /^all:/);
        const link = await session.state();
        const other = await Session.open(world.browser, server);
        t.after(() => other.close());
        await other.page.goto(server.url.replace(/#.*/, "") + link);
        await other.page.reload();
        await other.settle();
        assert.equal(await other.text("[data-zoomed]"), zoomed);
        assert.deepEqual(await momentsOf(other), moved);
        /* of paths that did not change it leaves out the levels, and says so */
        const exactly = await change.getAttribute("title");
        await session.press("only what changed");
        if (exactly !== "0 B") {
            assert.match(await session.text(), /levels are those of the paths that changed/);
            assert.equal(await change.getAttribute("title"), exactly);
        }
        session.noErrors();
        other.noErrors();
    });

    test("growth of a profile: exact at beginning, peak and end; by curves else, as far off as it says", async (t) => {
        const server = await serve(world.tidemark, [world.profiles.traced]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const said = report(world.tidemark, world.profiles.traced, "--functions", "--top", "10000");
        const peak = said.program.peak_ns;
        for (const [from, to, at, then] of [
            [-1, -1, () => 0, (row) => row.exclusive.live_bytes],
            [-1, peak, () => 0, (row) => row.exclusive.at_peak_bytes],
            [peak, -1, (row) => row.exclusive.at_peak_bytes, (row) => row.exclusive.live_bytes],
        ]) {
            await session.go("growth", { from, to, opt: "same:1" });
            assert.match(await session.text("[data-exactness]"), /^Exact: /);
            const rows = await session.json("Growth by function");
            assert.ok(!("bound" in rows[0]));
            for (const each of said.functions.rows.filter((row) => row.function)) {
                const row = rows.find((other) => other.function === each.function);
                const [before, after] = [at(each), then(each)];
                assert.equal(
                    row?.change ?? 0,
                    after - before,
                    `${each.function}: ${from} to ${to}`,
                );
            }
        }
        const end = Number(said.meta.duration_ns);
        let unknown = 0,
            known = 0;
        for (const [low, high] of [
            [0.2, 0.5],
            [0.31, 0.62],
            [0.4, 0.9],
        ]) {
            const [from, to] = [low, high].map((part) => Math.round(end * part));
            await session.go("growth", { from, to, opt: "same:1,unknown:1" });
            assert.match(await session.text("[data-exactness]"), /By curves.*no curve/s);
            const [before, after] = [levelsAt(world, from), levelsAt(world, to)];
            for (const row of await session.json("Growth by function")) {
                const [a, b] = [before, after].map((each) => each.exclusive[row.function] ?? 0);
                const off = Math.abs(b - a - (row.change ?? 0));
                assert.ok(
                    off <= (row.bound ?? 0) + (row.most ?? Infinity),
                    `${row.function}: ${b - a}, and it says ${JSON.stringify(row)}`,
                );
                if (row.change === null) {
                    unknown++;
                    assert.ok(row.unknown > 0);
                } else known++;
            }
        }
        assert.ok(unknown > 0 && known > 0, `${unknown} not known, ${known} known`);

        /* the timeline's range leads here */
        await session.go("timeline", { from: 1000000, to: end - 1000000 });
        await page.getByRole("link", { name: "what grew in this range" }).click();
        await session.settle();
        assert.deepEqual(await momentsOf(session), ["1000000", String(end - 1000000)]);
        assert.match(await session.state(), /^#\/growth/);
        await session.go("growth", { from: Math.round(end * 0.4), to: Math.round(end * 0.9) });

        /* by name */
        await page.getByRole("combobox", { name: "Moment A" }).selectOption(String(peak));
        await session.settle();
        assert.equal((await momentsOf(session))[0], String(Math.min(peak, Math.round(end * 0.9))));
        session.noErrors();
    });

    test("a path without a curve grew by nobody knows what, not by 0: here and in a range's columns", async (t) => {
        const file = join(world.work, "growth.tmk");
        execFileSync(world.tidemark, ["record", "-q", "-o", file, join(world.tools, "web_spike")]);
        const peak = report(world.tidemark, file).program.peak_ns;
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server);
        t.after(() => session.close());
        const from = String(Math.round(peak / 4));
        await session.go("growth", { from, to: peak });
        assert.deepEqual(
            (await session.json("Growth by function")).map((row) => [row.function, row.change]),
            [
                ["rise_and_fall", 24 << 20],
                ["keep_little", 2 << 20],
            ],
        );
        await session.press("with 1 not known");
        const main = (await session.json("Growth by function")).find(
            (row) => row.function === "main",
        );
        assert.deepEqual(
            [main.change, main.before, main.unknown, main.most],
            [null, null, 1, 1000],
        );
        assert.match(await session.state(), /unknown/);
        await session.go("functions", { from, to: peak, opt: "columns:alloc_bytes" });
        const row = (await session.json("Functions")).find((each) => each.function === "main");
        assert.equal(row.alloc_bytes, 1000);
        assert.deepEqual([row.range_growth, row.range_bytes], [null, null]);
        session.noErrors();
    });
}
