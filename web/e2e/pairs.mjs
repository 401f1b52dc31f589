/* What is shown is of what is chosen, also where something else is chosen while it is on its way: figures, names and
 * units are of one choice, and what is kept for coming back is what its address says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

/* Goes there, and does not wait until it is there. */
const leaveFor = (page, hash) =>
    page.evaluate((to) => {
        location.hash = to;
    }, hash);

const foldedSum = async (session) => {
    const { text } = await session.saved(session.button("folded stacks"));
    return sum(
        text
            .trim()
            .split("\n")
            .map((line) => Number(/ (\d+)$/.exec(line)[1])),
    );
};

export function testPairs(world) {
    test("source: another metric is that of the functions beside it, and of the chosen line", async (t) => {
        const file = world.profiles.threads,
            server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server);
        t.after(() => session.close());
        const said = report(world.tidemark, file, "--functions", "--top", "1000").functions.rows;
        for (const metric of ["", "alloc_count", "alloc_bytes"]) {
            await session.go("source", { metric, opt: "list:functions" });
            assert.equal(
                sum((await session.json("Functions")).map((row) => row.value)),
                sum(said.map((row) => row.exclusive[metric || "at_peak_bytes"])),
                metric,
            );
        }
        /* the line with most is chosen: its paths have the metric of now */
        const paths = async (metric) => {
            await session.go("source", { metric });
            return session.page
                .locator(".leading a")
                .evaluateAll((all) => all.map((each) => each.textContent));
        };
        const first = await paths("alloc_count");
        assert.ok(first.length > 0);
        await paths("alloc_bytes");
        const later = await paths("alloc_bytes");
        assert.ok(
            later.every((text) => /B$/.test(text)),
            `bytes have a unit: ${later}`,
        );
        await session.page.reload();
        await session.settle();
        assert.deepEqual(
            await session.page
                .locator(".leading a")
                .evaluateAll((all) => all.map((each) => each.textContent)),
            later,
        );
        session.noErrors();
    });

    test("a metric that is chosen while another is on its way does not take its place", async (t) => {
        const file = world.profiles.threads,
            server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session,
            { program } = report(world.tidemark, file);
        t.after(() => session.close());
        let go;
        const held = new Promise((resolve) => {
            go = resolve;
        });
        await page.route(/\/paths$/, async (route) => {
            await held;
            await route.continue();
        });
        const asked = page.waitForRequest(/\/paths$/);
        await leaveFor(page, "#/flame?metric=alloc_count");
        await asked;
        await leaveFor(page, "#/flame?metric=live_bytes");
        go();
        await session.settle();
        assert.equal(await foldedSum(session), program.live_bytes);
        await session.back();
        assert.match(await session.state(), /alloc_count/);
        assert.match(
            await page.locator(".icicle").getAttribute("aria-label"),
            /^Flame graph of allocations,/,
        );
        assert.equal(await foldedSum(session), program.alloc_count);
        session.noErrors();
    });
}
