/* The pane below a flame graph: the chosen function's figures are the report's, its callers and callees
 * those of the call tree; the search counts and leads from match to match. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { exact, pictureOf, Session } from "./session.mjs";

export function testSandwich(world) {
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
}
