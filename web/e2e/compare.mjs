/* Two recordings beside each other: what the view opens with is what `diff --json` says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const unit = { peak_bytes: "bytes", resident_peak_bytes: "bytes", duration_ns: "ns" };
const unitOf = (name) => unit[name] ?? (name.endsWith("_bytes") ? "bytes" : "count");

/* Titles of the cells of one figure's row: difference, before, after. */
function titles(page, name) {
    return page
        .locator(`[data-figure=${name}] td[title]`)
        .evaluateAll((all) => all.map((each) => each.title));
}

export function testCompare(world) {
    test("compare opens on the figures of diff --json, and functions by the one that changed most", async (t) => {
        const files = [world.profiles.threads, world.profiles.fragments];
        const said = JSON.parse(
            execFileSync(world.tidemark, ["diff", "--json", ...files], { encoding: "utf8" }),
        );
        const server = await serve(world.tidemark, files);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await session.go("compare", { other: "1" });
        for (const { name, before, after, difference } of said.totals)
            assert.deepEqual(
                (await titles(page, name)).map((title) => title.replace("−", "-")),
                [difference, before, after].map((value) => exact(value, unitOf(name))),
                name,
            );
        const pressed = page.locator(".figures [aria-pressed=true]");
        assert.equal(await pressed.innerText(), "reallocations", "1,992 that went");
        await page.getByRole("button", { name: "bytes allocated", exact: true }).click();
        await session.settle();
        assert.match(await session.state(), /metric=alloc_bytes/);
        assert.equal(await pressed.innerText(), "bytes allocated");
        session.noErrors();
    });

    test("what did not change is folded: never ±0 first", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        await session.go("compare", { other: "1" });
        assert.doesNotMatch(await session.text(), /±0/);
        const folded = page.locator("details [data-figure]");
        const names = await folded.evaluateAll((all) => all.map((each) => each.dataset.figure));
        assert.ok(names.includes("alloc_count"), `the same program twice: ${names}`);
        assert.equal(await folded.first().isVisible(), false);
        await session.go("compare", { other: "1", metric: "alloc_count" });
        assert.match(await session.text(), /unchanged in sum/);
        assert.equal((await session.json("Functions before and after")).length, 0);
        await page.getByRole("button", { name: /^with \d+ unchanged$/ }).click();
        await session.settle();
        assert.ok((await session.json("Functions before and after")).length > 3);
        session.noErrors();
    });
}
