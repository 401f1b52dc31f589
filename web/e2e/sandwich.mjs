/* The pane below a flame graph: the chosen function's figures are the report's, its callers and callees
 * those of the call tree; the search counts and leads from match to match. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { report } from "./profiles.mjs";
import { exact, pictureOf, Session } from "./session.mjs";

export function testSandwich(world) {
    test("what the pane of a chosen function needs is there before the first is chosen", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        const soon = ["columns/temporary_count", "columns/free_count", "curves"].map((name) =>
            page.waitForRequest((request) => request.url().includes(name)),
        );
        await session.go("flame", { search: "Table::fill" });
        await Promise.all(soon);
        const asked = [];
        page.on("request", (request) => asked.push(request.url()));
        await page.locator(".icicle").focus();
        await page.keyboard.press("n");
        await session.settle();
        assert.match(await session.text("[data-sandwich]"), /temporary/);
        assert.deepEqual(asked, []);
        session.noErrors();
    });

    test("flame graph: search counts and steps; the chosen function has figures, callers and callees in place", async (t) => {
        const session = await Session.open(world.browser, world.server, {
            viewport: { width: 1280, height: 900 },
        });
        t.after(() => session.close());
        const { page } = session;
        const said = report(
            world.tidemark,
            world.profiles.threads,
            ...["--functions", "--inclusive", "--top", "1000"],
        ).functions.rows.find((row) => row.function === "Table::fill(int)");
        const pane = page.locator("[data-sandwich]");
        await session.go("flame", { search: "Table::fill" });
        assert.equal(await pane.count(), 0, "nothing is chosen yet");
        const { text } = await session.saved(session.button("CSV"));
        const frames = text.split("\n").filter((line) => line.includes("Table::fill(int)")).length;
        assert.match(await session.text("[data-matches]"), new RegExp(`^${frames} frames?`));
        await page.locator(".icicle").focus();
        await page.keyboard.press("n");
        await session.settle();
        assert.match(await session.text("[data-matches]"), new RegExp(`^1 of ${frames} frames?`));
        await page.getByRole("button", { name: "Next match" }).click();
        await session.settle();
        assert.match(
            await session.text("[data-matches]"),
            new RegExp(`^${frames > 1 ? 2 : 1} of ${frames} frames?`),
        );
        assert.match(await pane.innerText(), /Table::fill/);
        const rowOf = (title) =>
            pane
                .locator("tr", { has: page.locator("th", { hasText: new RegExp(`^${title}$`) }) })
                .locator("td");
        const peak = rowOf("bytes at peak");
        assert.equal(
            await peak.nth(0).getAttribute("title"),
            exact(said.inclusive.at_peak_bytes, "bytes"),
        );
        assert.equal(
            await peak.nth(2).getAttribute("title"),
            exact(said.exclusive.at_peak_bytes, "bytes"),
        );
        assert.equal(
            await rowOf("allocations").nth(0).getAttribute("title"),
            exact(said.inclusive.alloc_count, "count"),
        );
        await session.accessible("sandwich");

        /* callers and callees are those of the call tree's table */
        const names = (list) =>
            pane
                .locator(`ol[aria-label="${list}"] a`)
                .evaluateAll((all) => all.map((each) => each.title));
        const [callers, callees] = [await names("Callers"), await names("Callees")];
        const address = await session.state();
        await pane.getByRole("button", { name: "only paths through it" }).click();
        await session.settle();
        const fn = new URLSearchParams((await session.state()).split("?")[1]).get("fn");
        await session.go("tree", { fn, opt: "as:table" });
        for (const [label, shown] of [
            ["by callers", callers],
            ["by callees", callees],
        ])
            assert.deepEqual(
                shown.slice().sort(),
                (await session.json(label))
                    .slice(0, 6)
                    .map((row) => row.name)
                    .filter((name) => name !== "Table::fill(int)")
                    .sort(),
                label,
            );
        assert.ok(callers.length > 0);

        /* a caller becomes the chosen one, by its name in the address */
        await page.evaluate((hash) => {
            location.hash = hash;
        }, address);
        await session.settle();
        await pane.locator('ol[aria-label="Callers"] a').first().click();
        await session.settle();
        assert.match(decodeURIComponent(await session.state()), /sel:[a-z0-9]+-[a-z0-9]+/);
        assert.equal(await pane.locator("b").first().getAttribute("title"), callers[0]);
        await pane.getByRole("button", { name: "Close the pane" }).click();
        await session.settle();
        assert.equal(await pane.count(), 0);

        const canvas = page.locator(".icicle canvas");
        for (const hue of ["fn", "size", "life"]) {
            const before = await pictureOf(canvas);
            await page.getByLabel("Colour").selectOption(hue);
            await session.settle();
            await session.looksOther(canvas, before);
        }
        session.noErrors();
    });

    test("a zoomed flame graph has all of it above; a click there leads elsewhere, in the address", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        const zoomOf = async () =>
            decodeURIComponent(await session.state()).match(/zoom:([^,&]*)/)?.[1];
        await session.go("flame", { metric: "alloc_bytes" });
        const map = page.locator("[data-minimap] canvas");
        assert.equal(await map.count(), 0, "nothing is zoomed");
        await page.locator(".icicle canvas").click({ position: { x: 40, y: 45 } });
        await session.settle();
        const first = await zoomOf();
        assert.ok(first);
        const { width } = await map.boundingBox();
        await map.click({ position: { x: width - 3, y: 44 } });
        await session.settle();
        const second = await zoomOf();
        assert.notEqual(second, first, "the frame at the right end is another");
        await map.click({ position: { x: 3, y: 2 } });
        await session.settle();
        assert.equal(await zoomOf(), undefined, "the root is all of it");
        assert.equal(await map.count(), 0);
        session.noErrors();
    });

    test("colours by growth in a range, and by time without use: the frame says the figure, what is not known is striped", async (t) => {
        const files = [world.profiles.spike, ...(world.profiles.heat ? [world.profiles.heat] : [])];
        const server = await serve(world.tidemark, files);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const peak = report(world.tidemark, world.profiles.spike).program.peak_ns;
        const choice = page.getByRole("combobox", { name: "Colour" });
        const tip = async (x, y) => {
            await page.locator(".icicle canvas").hover({ position: { x, y } });
            return session.text("[role=tooltip]");
        };
        await session.go("flame", {});
        assert.ok(
            await choice.locator("option[value=growth]").evaluate((option) => option.disabled),
            "of a range alone",
        );
        await session.go("flame", { from: Math.round(peak / 4), to: peak });
        await choice.selectOption("growth");
        await session.settle();
        assert.match(await session.state(), /colour(:|%3A)growth/);
        assert.match(await session.text(".legend"), /more\s*as it was\s*less\s*not known/);
        assert.match(await tip(40, 45), /beginning 0 B, at its end 24\.0 MiB: \+24\.0 MiB/);
        if (world.profiles.heat) {
            const uses = report(world.tidemark, world.profiles.heat).page_uses;
            const sum = (of) => uses.reduce((total, row) => total + of(row), 0);
            const idle = sum((row) => row.lag_kib_ms + row.drag_kib_ms + row.unwritten_kib_ms);
            await session.go("flame", { profile: 1, metric: "alloc_bytes", opt: "colour:idle" });
            const said = await tip(40, 27);
            const shown = Number(/unused ([0-9.]+) %/.exec(said)?.[1]);
            const all = (100 * idle) / sum((row) => row.life_kib_ms);
            assert.ok(Math.abs(shown - all) < 0.1, `${said}: all of main's is ${all} %`);
        }
        session.noErrors();
    });
}
