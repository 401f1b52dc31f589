/* A million call paths whose sums are known: the page says them, in every view, and stays alive. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

/* How many rows the table had meanwhile, its head included, and what it said in their place; and the
 * sums of a search that were shown beside rows that they are not the sums of. */
async function shownWhile(session, change) {
    await session.page.evaluate(() => {
        const found = () => document.querySelector("[data-found]")?.title,
            first = found();
        window.foundEarly = [];
        const shown = (window.shownRows = []),
            look = () => {
                if (document.querySelector(".table").ariaBusy === "true" && found() !== first)
                    window.foundEarly.push(found());
                const says = document.querySelector(".table .empty")?.textContent,
                    rows = document.querySelector(".table .scroll").ariaRowCount;
                if (shown.at(-1) !== (says ?? rows)) shown.push(says ?? rows);
            };
        look();
        window.rowsWatched = new MutationObserver(look);
        window.rowsWatched.observe(document.querySelector(".main"), {
            attributes: true,
            childList: true,
            subtree: true,
        });
    });
    await change();
    return session.page.evaluate(() => {
        window.rowsWatched.disconnect();
        return [window.shownRows, window.foundEarly];
    });
}

export function testMany(world) {
    test("what a search has left stays until what it leaves of other rows is there", async () => {
        const server = await serve(world.tidemark, [world.profiles.many]);
        const session = await Session.open(world.browser, server);
        const search = "1";
        await session.go("functions", { search });
        await session.page.evaluate(() => {
            document.querySelector(".table .scroll").scrollTop = 5000;
        });
        const found = () => session.page.locator("[data-found]").getAttribute("title");
        const foundAtPeak = await found();
        const [functions, early] = await shownWhile(
            session,
            () => session.go("functions", { search, metric: "slack_bytes" }) /* new rows */,
        );
        assert.deepEqual([...new Set(functions)].length, 1, functions.join());
        assert.deepEqual(early, [], "no sum comes before its rows");
        assert.notEqual(await found(), foundAtPeak);
        assert.equal(
            await session.page.evaluate(() => document.querySelector(".table .scroll").scrollTop),
            5000,
        );
        /* a list that was sorted before, and is searched again */
        for (const hide of ["1", "0", "1"]) await session.go("leaks", { search, hide });
        const [leaks] = await shownWhile(session, () => session.back());
        assert.deepEqual([...new Set(leaks)].length, 1, leaks.join());
        session.noErrors();
        await session.close();
        await server.stop();
    });

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
