/* Levels of memory: one chosen holds in every view, with the figures of report --of. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

/* Of a version that did not follow mappings. */
const old = fileURLToPath(new URL("../../tests/golden/profile-v1.tmk", import.meta.url));
const levels = ["mapped", "all", "resident"];
const metrics = ["at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count"];
const peaks = {
    mapped: "Mapped at most",
    all: "Peak of live blocks",
    resident: "Resident, of the look shown",
};
const heapOnly = {
    threads: /kept of the heap/,
    stacks: /no part of what is shown/,
    globals: /no part of what is shown/,
    resident: /all resident memory/,
};
const query = (hash) => new URLSearchParams(hash.split("?")[1] ?? "");

/* The figures of the page at this level are those of a report. */
async function isLike(session, said, level) {
    await session.go("summary", { of: level });
    assert.equal(
        await session.fact(peaks[level]).getAttribute("title"),
        exact(said.program.peak_bytes, "bytes"),
        `${level}: peak`,
    );
    await session.go("functions", { of: level });
    const rows = await session.json("Functions");
    for (const metric of metrics) {
        if (said.program[metric] === null) continue;
        assert.equal(
            rows.reduce((sum, row) => sum + row[metric], 0),
            said.program[metric],
            `${level}: ${metric}`,
        );
    }
    for (const each of said.functions.rows.filter((row) => row.function))
        assert.equal(
            rows.find((row) => row.function === each.function)?.at_peak_bytes ?? 0,
            each.exclusive.at_peak_bytes ?? 0,
            `${level}: ${each.function}`,
        );
    await session.go("flame", { of: level, metric: "at_peak_bytes" });
    const { text } = await session.saved(session.button("folded stacks"));
    assert.equal(
        text
            .trim()
            .split("\n")
            .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0),
        said.program.at_peak_bytes,
        `${level}: the flame graph's sum`,
    );
}

export function testLevel(world) {
    const functions = ["--functions", "--top", "1000000"];
    const said = (level) =>
        report(world.tidemark, world.profiles.levels, "--of", level, ...functions);
    const open = async (t, other) => {
        const server = await serve(world.tidemark, [world.profiles.levels, other]);
        const session = await Session.open(world.browser, server);
        t.after(async () => {
            await session.close();
            await server.stop();
        });
        return session;
    };

    test("a level of memory holds in every view, with the figures of report --of", async (t) => {
        const session = await open(t, world.profiles.levels),
            { page } = session;
        await session.go("summary");
        assert.deepEqual(
            await page.locator(".head select[aria-label=Memory] option").allInnerTexts(),
            ["heap", "mapped", "heap and mapped", "resident"],
        );
        assert.ok(said("mapped").program.peak_bytes >= 100 << 20);
        for (const level of levels) await isLike(session, said(level), level);
        for (const level of levels)
            for (const view of views) {
                await session.go(view, { of: level });
                assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
                const text = (await session.text(".view")).trim();
                assert.ok(text.length > 0, `${view} says something`);
                if (heapOnly[view]) assert.match(text, heapOnly[view], view);
                await session.accessible(`${view} of ${level}`);
                assert.deepEqual(session.errors.splice(0), [], `${view} of ${level}`);
            }
    });

    test("a level is chosen, taken off, and in the address", async (t) => {
        const session = await open(t, old),
            { page } = session;
        const choice = page.locator(".head select[aria-label=Memory]");
        await session.go("functions");
        const heap = await session.json("Functions");
        await choice.selectOption("mapped");
        await session.settle();
        assert.equal(query(await session.state()).get("of"), "mapped");
        const mapped = await session.json("Functions");
        assert.equal(mapped.length, 1);
        assert.equal(mapped[0].function, "map_and_touch");
        await page.locator(".nav a", { hasText: "Call tree" }).click();
        await session.settle();
        assert.equal(query(await session.state()).get("of"), "mapped", "from view to view");
        await page.getByRole("button", { name: "Take off: of mapped" }).click();
        await session.settle();
        assert.equal(query(await session.state()).get("of"), null);
        await session.go("functions");
        assert.deepEqual(await session.json("Functions"), heap);
        await session.go("functions", { of: "mapped", region: "load" });
        assert.match(await session.text(".view"), /not known by region/);
        await session.go("functions", { profile: "1" });
        assert.equal(await choice.count(), 0, "a profile without levels has no choice");
        await session.go("functions", { profile: "1", of: "mapped" });
        assert.match(await session.text(".view"), /does not say what the program mapped/);
        session.noErrors();
    });

    test("one file has the levels too", async () => {
        const file = join(world.work, "levels.html");
        execFileSync(world.tidemark, ["html", "-o", file, world.profiles.levels]);
        const context = await world.browser.newContext({
            viewport: { width: 1280, height: 720 },
            acceptDownloads: true,
        });
        const page = await context.newPage();
        const session = new Session(page, pathToFileURL(file).href);
        await page.goto(session.base);
        await session.settle();
        for (const level of levels) await isLike(session, said(level), level);
        session.noErrors();
        await context.close();
    });
}
