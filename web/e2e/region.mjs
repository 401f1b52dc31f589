/* Regions that the program named: one chosen holds in every view, with the report's figures; what
 * is not known by region says so. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { allocationTimes, report } from "./profiles.mjs";
import { colorSchemes, serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

const metrics = ["at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count"];
const unknown = {
    threads: /each thread/,
    stacks: /regions have none/,
    globals: /whole program's/,
    resident: /whole process/,
};
const query = (hash) => new URLSearchParams(hash.split("?")[1] ?? "");

/* The figures of the page at this state are those of a report. */
async function isLike(session, said, state, where) {
    await session.go("summary", state);
    for (const [term, metric, unit] of [
        ["Peak of live blocks", "peak_bytes", "bytes"],
        ["Asked for in all", "alloc_bytes", "bytes"],
        ["Allocations", "alloc_count", "count"],
        ["Frees", "free_count", "count"],
    ])
        assert.equal(
            await session.fact(term).getAttribute("title"),
            exact(said.program[metric], unit),
            `${where}: ${term}`,
        );
    await session.go("functions", state);
    const rows = await session.json("Functions");
    for (const metric of metrics)
        assert.equal(
            rows.reduce((sum, row) => sum + row[metric], 0),
            said.program[metric],
            `${where}: ${metric}`,
        );
    for (const each of said.functions.rows) {
        if (!each.function) continue;
        const row = rows.find((other) => other.function === each.function);
        for (const metric of metrics)
            assert.equal(
                row?.[metric] ?? 0,
                each.exclusive[metric],
                `${where}: ${each.function} ${metric}`,
            );
    }
    return rows;
}

export function testRegion(world) {
    const open = async (t, files) => {
        const server = await serve(world.tidemark, files);
        const session = await Session.open(world.browser, server);
        t.after(async () => {
            await session.close();
            await server.stop();
        });
        return session;
    };
    const functions = ["--functions", "--top", "1000000"];

    test("a region holds in every view, with the figures of report --region", async (t) => {
        const file = world.profiles.regions,
            session = await open(t, [file]),
            { page } = session;
        const choice = page.locator(".head select[aria-label=Region]");
        assert.deepEqual(await choice.locator("option").allInnerTexts(), [
            "all regions",
            "load",
            "solve",
            "step",
        ]);
        const whole = report(world.tidemark, file, ...functions);
        for (const region of ["load", "solve", "step"]) {
            const said = report(world.tidemark, file, "--region", region, ...functions);
            assert.ok(
                said.program.alloc_count > 0 &&
                    said.program.alloc_count < whole.program.alloc_count,
            );
            await isLike(session, said, { region }, region);
        }
        /* and in the words of --filter, when they are typed to their end */
        await session.go("functions", { search: "region:step & main" });
        await page.waitForFunction(() => /[?&]region=step/.test(location.hash));
        assert.equal(await choice.inputValue(), "step");
        /* by keys: who fills it in by script changes nothing to Firefox */
        await page.locator(".head input[type=search]").fill("");
        await page.locator(".head input[type=search]").pressSequentially("region:load");
        assert.equal(await choice.inputValue(), "step", "it may be the beginning of another");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => /[?&]region=load/.test(location.hash));
        assert.equal(await page.locator(".head input[type=search]").inputValue(), "");
        await session.go("summary", { region: "solve" });
        assert.equal(await session.fact("Entered").getAttribute("title"), "2");
        assert.equal(await session.fact("Resident at most").count(), 0, "unknown, and not 0");

        for (const colorScheme of colorSchemes) {
            await page.emulateMedia({ colorScheme });
            for (const view of views) {
                await session.go(view, { region: "solve" });
                assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
                assert.match(await session.text(".chips"), /region solve/, view);
                const text = (await session.text(".view")).trim();
                assert.ok(text.length > 0, `${view} says something`);
                if (unknown[view]) {
                    assert.match(text, unknown[view], view);
                    assert.equal(
                        await page.locator(".view table, .view .table, .view canvas").count(),
                        0,
                        `${view}: no figures that are not the region's`,
                    );
                }
                await session.accessible(`${view} of a region, ${colorScheme}`);
                assert.deepEqual(session.errors.splice(0), [], view);
            }
        }
        await session.go("timeline", { region: "solve" });
        assert.match(await session.text(".chips"), /not by region/);
        const { text: svg } = await session.saved(
            page
                .locator(".card", { hasText: "Levels" })
                .getByRole("button", { name: "SVG", exact: true }),
        );
        assert.match(svg, />solve<\/text>/, "what stands in the chart is in the picture");
        assert.ok(svg.includes(">solved</text>") && !svg.includes(">load</text>"));
        await session.go("sizes", { region: "solve" });
        assert.match(await session.text(".view"), /500 B to 4.88 KiB/);
        await session.go("flame", { region: "load" });
        const { text: folded } = await session.saved(session.button("folded stacks"));
        assert.equal(
            folded
                .trim()
                .split("\n")
                .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0),
            100 * 1000,
        );
        await session.go("source", { region: "load", file: "regions.cpp" });
        assert.ok(
            await page.evaluate(
                () =>
                    document.querySelector(".source-text").shadowRoot.querySelectorAll(".cm-line")
                        .length > 10,
            ),
        );
    });

    test("a region is chosen, taken off, and in the address; what is in focus stays", async (t) => {
        const session = await open(t, [world.profiles.regions, world.profiles.threads]),
            { page } = session;
        const choice = page.locator(".head select[aria-label=Region]");
        await session.go("functions");
        const all = await session.json("Functions");
        await choice.selectOption("load");
        await session.settle();
        assert.equal(query(await session.state()).get("region"), "load");
        assert.equal((await session.json("Functions")).length, 1);
        await page.locator(".nav a", { hasText: "Flame graph" }).click();
        await session.settle();
        assert.equal(query(await session.state()).get("region"), "load", "from view to view");
        await session.back();
        await session.back();
        assert.deepEqual(await session.json("Functions"), all, "back undoes");

        await session.go("functions", { region: "load" });
        await session.rows("Functions").first().click({ button: "right" });
        await page.getByRole("menuitem", { name: /focus/i }).first().click();
        await session.settle();
        assert.match(await session.text(".chips"), /function grab/);
        await page.getByRole("button", { name: "Take off: region load" }).click();
        await session.settle();
        assert.match(
            await session.text(".chips"),
            /function grab/,
            "numbers of functions are those of the whole",
        );
        assert.ok((await session.json("Functions"))[0].alloc_count > 100);

        await session.go("threads", { region: "load" });
        await session.press("show the whole program");
        assert.equal(query(await session.state()).get("region"), null);
        assert.ok((await session.rows("Threads").count()) >= 3);
        await session.go("timeline");
        const { regions } = report(world.tidemark, world.profiles.regions);
        assert.deepEqual(
            (await session.json("Regions"))
                .map((row) => [row.name, row.calls, row.asked_bytes])
                .sort(),
            regions
                .map(({ name, total }) => [
                    name,
                    total.alloc_count + total.realloc_count,
                    total.alloc_bytes + total.realloc_bytes,
                ])
                .sort(),
            "reallocations too, as report --show regions",
        );
        await session.rows("Regions").locator("a", { hasText: "step" }).click();
        await session.settle();
        assert.equal(query(await session.state()).get("region"), "step");

        await session.go("functions", { region: "nowhere" });
        assert.match(await session.text(".view"), /no region “nowhere”.*load, solve, step/);
        await session.go("functions", { region: "solve", from: "1000", to: "2000" });
        assert.match(await session.text(".chips"), /only a trace tells/);
        await session.go("functions", { region: "solve", metric: "resident_bytes" });
        assert.match(await session.text(".chips"), /not known by region/);
        await session.go("functions", { profile: "1" });
        assert.equal(await choice.count(), 0, "no region, no choice");
        await session.go("functions", { profile: "1", region: "solve" });
        assert.match(await session.text(".view"), /the program named none/);
        session.noErrors();
    });

    test("a region in a range of a trace is what replay and report say of it", async (t) => {
        const session = await open(t, [world.profiles.regionsTrace]);
        const solve = report(world.tidemark, world.profiles.regions).regions.find(
            (each) => each.name === "solve",
        );
        /* from the 50th of the 100 blocks of "load" */
        const times = allocationTimes(
            world.tidemark,
            world.profiles.regionsTrace,
            "--min-size=1000",
            "--max-size=1000",
        );
        assert.equal(times.length, 100);
        const from = String(times[50]),
            to = String(solve.last_ns);
        const part = join(world.work, "region_part.tmk");
        execFileSync(world.tidemark, [
            "replay",
            "-q",
            `--from=${from}ns`,
            `--to=${to}ns`,
            "-o",
            part,
            world.profiles.regionsTrace,
        ]);
        for (const region of ["load", "solve"]) {
            const said = report(world.tidemark, part, "--region", region, ...functions),
                whole = report(world.tidemark, world.profiles.regions, "--region", region);
            assert.ok(
                said.program.alloc_count > 0 &&
                    said.program.alloc_count <= whole.program.alloc_count,
            );
            if (region === "load") assert.ok(said.program.alloc_count < 100);
            await isLike(session, said, { region, from, to }, `${region} in the range`);
        }
        await session.go("functions", {
            region: "solve",
            from: "0",
            to: String(Math.floor(solve.first_ns / 2)),
        });
        assert.match(
            await session.text(".view"),
            /no thread had been in this region when the window ended/,
        );
        session.errors.splice(0); /* the browser says that this was a 404 */
    });

    test("two profiles are compared region by region", async (t) => {
        const session = await open(t, [
            world.profiles.regions,
            world.profiles.moreRegions,
            world.profiles.threads,
        ]);
        const said = [world.profiles.regions, world.profiles.moreRegions].map(
            (file) => report(world.tidemark, file, "--region", "load").program.alloc_bytes,
        );
        await session.go("compare", { other: "1", region: "load", metric: "alloc_bytes" });
        const totals = await session.page
            .locator(".bar-row span[title]:has(b)")
            .evaluateAll((all) => all.map((each) => each.title));
        assert.deepEqual(
            totals.slice(0, 2),
            said.map((value) => exact(value, "bytes")),
        );
        await session.go("compare", { other: "1", region: "load", opt: "as:time" });
        assert.match(await session.text(".view"), /not by region/);
        await session.go("compare", { other: "2", region: "load" });
        assert.match(await session.text(".view"), /threads.tmk: There is no region “load”/);
        session.noErrors();
    });

    test("one file has the regions where they are small, and says so where they are not", async () => {
        const file = join(world.work, "regions.html");
        execFileSync(world.tidemark, [
            "html",
            "-o",
            file,
            world.profiles.regions,
            world.profiles.moreRegions,
        ]);
        const context = await world.browser.newContext({
            viewport: { width: 1280, height: 720 },
            acceptDownloads: true,
        });
        const page = await context.newPage();
        const session = new Session(page, pathToFileURL(file).href);
        await page.goto(session.base);
        await session.settle();
        const said = report(
            world.tidemark,
            world.profiles.regions,
            "--region",
            "solve",
            ...functions,
        );
        await isLike(session, said, { region: "solve" }, "in the file");
        for (const view of views) {
            await session.go(view, { region: "solve" });
            assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.go("functions", { profile: "1" });
        assert.equal(await page.locator(".head select[aria-label=Region]").count(), 0);
        await session.go("functions", { profile: "1", region: "solve" });
        assert.match(await session.text(".view"), /too large.*tidemark serve/);
        await session.go("timeline", { profile: "1" });
        assert.match(await session.text(".view"), /43 regions/);
        assert.match(await session.text(".view"), /tidemark serve/);
        session.noErrors();
        await context.close();
    });
}
