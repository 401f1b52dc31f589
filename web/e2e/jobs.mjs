/* A job: its ranks side by side, one of them chosen for every view, two compared. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

export function testJobs(world) {
    test("a job: every view opens; a rank that is chosen is what each view shows, and its figures are its report's", async () => {
        const server = await serve(world.tidemark, [world.profiles.job]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        for (const view of views) {
            await session.go(view);
            assert.ok((await session.text(".view")).trim().length > 0, `${view} says something`);
            assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.go("jobs");
        await session.accessible("jobs");
        const reports = world.profiles.ranks.map((file) => report(world.tidemark, file));
        const rows = await session.json("Ranks");
        assert.deepEqual(
            rows.map((row) => [row.rank, row.peak_bytes, row.alloc_count]),
            reports.map(({ program }, rank) => [
                rank,
                program.peak_bytes,
                program.alloc_count + program.realloc_count,
            ]),
        );

        await session.rows("Ranks").nth(1).click();
        await session.settle();
        assert.match(await session.text(".chips"), /rank 1[\s\S]*all of the job/);
        await session.go("summary", {
            rank: new URLSearchParams((await session.state()).split("?")[1]).get("rank"),
        });
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(reports[1].program.peak_bytes, "bytes"),
        );
        await page.locator("nav a", { hasText: "Functions" }).click();
        await session.settle();
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            reports[1].program.alloc_count,
        );
        await page.getByLabel("Rank", { exact: true }).selectOption({ label: "all ranks" });
        await session.settle();
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            reports.reduce((sum, { program }) => sum + program.alloc_count, 0),
        );

        await session.go("jobs", { opt: "a:1,b:2" });
        await page.getByRole("link", { name: "Which functions differ" }).click();
        await session.settle();
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "before" }).getAttribute("title"),
            exact(reports[1].program.at_peak_bytes, "bytes"),
        );
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "after" }).getAttribute("title"),
            exact(reports[0].program.at_peak_bytes, "bytes"),
        );
        session.noErrors();
        await session.close();
        await server.stop();
    });
}
