/* A million call paths whose sums are known: the page says them, in every view, and stays alive. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

export function testMany(world) {
    test("a million call paths", async () => {
        const { many, sums } = world.profiles;
        const server = await serve(world.tidemark, [many]);
        const session = await Session.open(world.browser, server);
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(sums.at_peak_bytes, "bytes"),
        );
        for (const view of views) {
            await session.go(view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.go("functions");
        const rows = await session.json("Functions");
        assert.equal(rows.length, 10000);
        assert.equal(
            rows.reduce((total, row) => total + row.at_peak_bytes, 0),
            sums.at_peak_bytes,
        );
        assert.equal(
            rows.reduce((total, row) => total + row.alloc_count, 0),
            sums.alloc_count,
        );
        assert.ok(
            (await session.rows("Functions").count()) < 100,
            "only rows in sight are in the document",
        );
        await session.page.locator(".table .scroll").focus();
        await session.page.keyboard.press("End");
        await session.settle();
        await session.go("leaks");
        assert.equal(
            await session.page.locator(".bar-row b").first().getAttribute("title"),
            exact(sums.live_bytes, "bytes"),
        );
        await session.close();
        await server.stop();
    });
}
