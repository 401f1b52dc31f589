/* Functions over time: picture, legend and address say what `report --json` says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

export function testCurves(world) {
    test("functions over time: the crest is there, a click finds it, the legend restacks", async (t) => {
        const file = join(world.work, "spike.tmk");
        execFileSync(world.tidemark, ["record", "-q", "-o", file, join(world.tools, "web_spike")]);
        const said = report(world.tidemark, file, "--functions", "--top", "10");
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await session.go("timeline");
        const card = page.locator(".chart", {
            has: page.getByRole("group", { name: /^Live bytes of the largest functions/ }),
        });
        const save = (what) => session.saved(card.getByRole("button", { name: what, exact: true }));

        const [head, ...rows] = (await save("CSV")).text.trim().split("\n");
        const titles = head.split(","),
            figures = rows.map((row) => row.split(",").map(Number));
        const sums = figures.map(([, ...parts]) => parts.reduce((sum, part) => sum + part, 0));
        assert.equal(Math.max(...sums), said.program.peak_bytes, "the sum is the level");
        const spike = said.functions.rows.find((row) => row.function === "rise_and_fall");
        const column = titles.indexOf("rise_and_fall");
        assert.ok(column > 0, head);
        assert.equal(
            Math.max(...figures.map((row) => row[column])),
            (spike.exclusive ?? spike).at_peak_bytes,
        );

        const crest = figures[sums.indexOf(Math.max(...sums))][0];
        assert.equal(crest, said.program.peak_ns);
        const over = card.locator(".u-over"),
            { width } = await over.boundingBox();
        const [from, to] = [figures[0][0], figures.at(-1)[0]];
        await over.click({
            position: { x: Math.round((width * (crest - from)) / (to - from)), y: 60 },
        });
        await session.settle();
        const address = decodeURIComponent(await session.state());
        assert.match(address, new RegExp(`at:${said.program.peak_ns}\\b`));
        assert.match(
            await session.text(),
            /Who held memory at[\s\S]*rise_and_fall[\s\S]*keep_little/,
        );

        const ticks = async () =>
            [...(await save("SVG")).text.matchAll(/>(\d+(?:\.\d+)?) MiB</g)].map((each) =>
                Number(each[1]),
            );
        assert.ok(Math.max(...(await ticks())) >= 16);
        await card.locator(".u-legend .u-label", { hasText: "rise_and_fall" }).click();
        await session.settle();
        assert.ok(
            Math.max(0, ...(await ticks())) < 8,
            "what the legend hides lifts nothing any more",
        );
        session.noErrors();
    });

    test("an area is as high as what it stands for: its axis begins at 0 in a range too", async (t) => {
        const file = join(world.work, "slope.tmk");
        const slope =
            '@a = ("x" x 2e7); for (1 .. 40) { push @b, "x" x 2e5; select undef, undef, undef, 0.02 }';
        execFileSync(world.tidemark, ["record", "-q", "-o", file, "perl", "-e", slope]);
        const { meta } = report(world.tidemark, file),
            end = Number(meta.duration_ns);
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await session.go("timeline", { from: Math.round(end * 0.6), to: Math.round(end * 0.9) });
        for (const name of [/^Live bytes of the largest functions/, /^Memory over time/]) {
            const card = page.locator(".chart", { has: page.getByRole("group", { name }) });
            const { text } = await session.saved(
                card.getByRole("button", { name: "SVG", exact: true }),
            );
            assert.match(text, />0(?: B)?</, `${name} begins at 0`);
        }
        session.noErrors();
    });

    test("the machine over time: the picture's figures are those of report --json", async (t) => {
        const file = join(world.work, "machine.tmk");
        execFileSync(world.tidemark, ["record", "-q", "-o", file, "sleep", "1"]);
        const said = report(world.tidemark, file).machine_memory;
        assert.ok(said.length > 1);
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await session.go("timeline");
        const card = page.locator(".chart", {
            has: page.getByRole("group", { name: "Memory of the whole machine over time" }),
        });
        const csv = await session.saved(card.getByRole("button", { name: "CSV", exact: true }));
        const [head, ...rows] = csv.text.trim().split("\n");
        const column = head.split(",").indexOf("available");
        assert.ok(column > 0, head);
        assert.deepEqual(
            rows.map((row) => row.split(",").map(Number)).map((row) => [row[0], row[column]]),
            said.map((moment) => [moment.time_ns, moment.available_bytes]),
        );
        const least = Math.min(...said.map((moment) => moment.available_bytes));
        await page.getByTitle(exact(least, "bytes")).first().waitFor();
        session.noErrors();
    });

    test("separate peaks: the four highest, and a click beside a peak's line means its instant", async (t) => {
        const file = join(world.work, "peaks.tmk");
        execFileSync(world.tidemark, [
            ...["record", "-q", "-o", file, join(world.tools, "web_spike"), "7"],
        ]);
        const said = report(world.tidemark, file);
        assert.equal(said.peaks.length, 8);
        const named = [...said.peaks].sort((a, b) => b.bytes - a.bytes).slice(0, 4);
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const titles = await page
            .locator("table[aria-label='Separate peaks'] .figure")
            .evaluateAll((all) => all.map((each) => each.title));
        assert.deepEqual(
            titles,
            named.sort((a, b) => a.time_ns - b.time_ns).map(({ bytes }) => exact(bytes, "bytes")),
        );
        /* The lowest stands out by 2 MiB, and the highest has 26. */
        assert.match(await session.text(), /4 highest of 7 separate peaks/i);
        await session.go("timeline");
        const over = page.locator(".chart").first().locator(".u-over"),
            { width } = await over.boundingBox();
        const saved = await session.saved(
            page.locator(".chart").first().getByRole("button", { name: "CSV", exact: true }),
        );
        const times = saved.text.trim().split("\n").slice(1);
        const [from, to] = [times[0], times.at(-1)].map((row) => Number(row.split(",")[0]));
        for (const { time_ns } of [named[1], named[3]]) {
            const x = (width * (time_ns - from)) / (to - from) + 2;
            await over.click({ position: { x, y: 100 } });
            await session.settle();
            const address = decodeURIComponent(await session.state());
            assert.match(address, new RegExp(`at:${time_ns}\\b`));
        }
        session.noErrors();
    });

    test("a range says level and growth as the curves of report --json do; colours stay as they are", async (t) => {
        const file = join(world.work, "range.tmk");
        execFileSync(world.tidemark, ["record", "-q", "-o", file, join(world.tools, "web_spike")]);
        const said = report(world.tidemark, file);
        const levelOf = (name, ns) =>
            said.curves
                .filter((curve) => curve.function === name)
                .map(({ points }) => points.findLast(([time]) => time <= ns)?.[1] ?? 0)
                .reduce((sum, level) => sum + level, 0);
        const peak = said.program.peak_ns,
            names = ["rise_and_fall", "keep_little"];
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        for (const [from, to] of [
            [1, peak],
            [peak, Math.round(peak * 1.2)],
            [peak, -1],
        ]) {
            await session.go("functions", { from, to });
            const rows = await session.json("Functions");
            for (const name of names) {
                const growth = levelOf(name, to < 0 ? Infinity : to) - levelOf(name, from);
                const row = rows.find((each) => each.function === name);
                assert.equal(row?.range_growth ?? 0, growth, `${name} from ${from} to ${to}`);
                assert.ok(!row || !("alloc_bytes" in row), "columns are of the range alone");
            }
        }
        await session.go("functions", { from: 1, to: peak });
        await session.press("growth");
        const grown = names.reduce((sum, name) => sum + levelOf(name, peak), 0);
        assert.match(await session.text("[data-range]"), /26\.0 MiB more, 0 B less/);
        assert.match(await session.state(), /metric=range_growth/);
        await session.go("flame", { from: 1, to: peak, metric: "range_growth" });
        const { text } = await session.saved(session.button("folded stacks"));
        assert.equal(
            text
                .trim()
                .split("\n")
                .reduce((sum, line) => sum + Number(/ (\d+)$/.exec(line)[1]), 0),
            grown,
        );
        await session.go("functions", { from: 1, to: peak, opt: "columns:alloc_bytes" });
        const heads = await page.getByRole("columnheader").allInnerTexts();
        assert.ok(
            heads.some((head) => /bytes allocated.*whole run/is.test(head)),
            heads.join(" | "),
        );

        const colours = async (query) => {
            await session.go("timeline", query);
            const legend = page
                .locator(".chart", {
                    has: page.getByRole("group", { name: /^Live bytes of the largest functions/ }),
                })
                .locator(".u-legend .u-series");
            return Object.fromEntries(
                await legend.evaluateAll((rows) =>
                    rows.map((row) => [
                        row.querySelector(".u-label").textContent,
                        row.querySelector(".u-marker")?.style.borderColor ||
                            row.querySelector(".u-marker")?.style.border,
                    ]),
                ),
            );
        };
        const whole = await colours({});
        assert.ok(whole.keep_little && whole.keep_little !== whole.rise_and_fall);
        const part = await colours({ from: Math.round(peak * 0.75), to: Math.round(peak * 0.95) });
        assert.equal(part.rise_and_fall, undefined, "it is not in the range");
        assert.equal(part.keep_little, whole.keep_little);
        session.noErrors();
    });

    test("flame zoom: a link names the same function with another metric; what is gone is said", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        const folded = async () =>
            (await session.saved(session.button("CSV"))).text
                .split("\n")
                .map((row) => row.split(","));
        await session.go("flame", { metric: "alloc_bytes" });
        const canvas = page.locator(".icicle canvas");
        await canvas.click({ position: { x: 40, y: 45 } });
        await session.settle();
        const opt = new URLSearchParams((await session.state()).split("?")[1]).get("opt");
        const [, , , name] = (await folded()).find((row) => row[2] === "2");
        assert.match(opt, /^zoom:[a-z0-9.]+$/);
        assert.equal(decodeURIComponent(opt).split(".").length, 2, `${opt}: ${name}`);
        for (const metric of ["alloc_bytes", "at_peak_bytes"]) {
            await session.go("flame", { metric, opt });
            assert.equal(await page.locator("[data-gone]").count(), 0, metric);
        }
        await session.go("flame", { opt: `${opt}.zzzzz` });
        assert.match(await page.locator("[data-gone]").innerText(), /not in this graph.*nearest/);
        assert.doesNotMatch(await page.locator("[data-gone]").innerText(), /all of it/);
        await session.go("flame", { opt: "zoom:12" });
        assert.match(await page.locator("[data-gone]").innerText(), /all of it/);
        session.noErrors();
    });
}
