/* A profile that is still being recorded: the page follows it and keeps what was chosen. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { join } from "node:path";
import { growing } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";

/* Serves a file as soon as its recorder has saved something in it. */
async function serveOnce(tidemark, file) {
    for (;;) {
        const saved = existsSync(file) ? await serve(tidemark, [file]).catch(() => null) : null;
        if (saved) return saved;
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
}

export function testLive(world) {
    test("columns of another generation than the rest are not mixed with it: the page reads all of it again", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        let summaries = 0,
            columns = 0;
        await page.route("**/p/0/summary", (route) => {
            summaries++;
            return route.continue();
        });
        await page.route("**/p/0/columns/at_peak_bytes", async (route) => {
            const response = await route.fetch();
            await route.fulfill({
                response,
                headers: {
                    ...response.headers(),
                    ...(columns++ === 0 ? { "tidemark-generation": "77" } : {}),
                },
            });
        });
        await session.go("functions");
        await session.page.waitForSelector(".row");
        assert.deepEqual([summaries, columns], [1, 2]);
        session.noErrors();
        await session.close();
    });

    test("a recording grows on screen, without losing the selection, and ends", async (t) => {
        const file = join(world.work, "growing.tmk");
        const child = growing(t, world.tidemark, world.tools, file);
        const ended = new Promise((resolve) => child.on("exit", resolve));
        const server = await serveOnce(world.tidemark, file);
        const session = await Session.open(world.browser, server),
            { page } = session;
        assert.match(await session.text(".head"), /recording/);
        await session.go("functions");
        await page.waitForSelector(".row");
        const bytes = async () =>
            Math.max(...(await session.json("Functions")).map((row) => row.alloc_bytes));
        const first = await bytes();
        await page.locator(".head input[type=search]").fill("take");
        await session.rows("Functions").first().click();
        await page.waitForFunction(
            (before) =>
                [...document.querySelectorAll(".row [title]")].some(
                    (cell) => Number(cell.title.replace(/[^0-9]/g, "")) > before,
                ),
            first,
        );
        assert.ok((await bytes()) > first);
        assert.equal(await page.locator(".head input[type=search]").inputValue(), "take");
        await session.go("functions", { region: "growing" });
        const within = await bytes();
        assert.ok(
            within > 0 &&
                within <
                    (await (async () => {
                        await session.go("functions");
                        return bytes();
                    })()),
            "half of it is the region's",
        );
        await session.go("functions", { region: "growing" });
        await page.waitForFunction(
            (before) =>
                [...document.querySelectorAll(".row [title]")].some(
                    (cell) => Number(cell.title.replace(/[^0-9]/g, "")) > before,
                ),
            within,
        );
        assert.equal(
            await page.locator(".main [role=alert]").count(),
            0,
            "a region of what grows, too",
        );
        child.stdin.end();
        await ended;
        await page.waitForFunction(
            () => !/recording/.test(document.querySelector(".head").textContent),
        );
        await session.go("summary");
        assert.match(await session.text(), /exit status 0/);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a region of a recording comes, though cutting it takes longer than until the next commit", async (t) => {
        const file = join(world.work, "growing_slowly.tmk");
        const child = growing(t, world.tidemark, world.tools, file);
        const server = await serveOnce(world.tidemark, file);
        const session = await Session.open(world.browser, server),
            { page } = session;
        let asked = 0;
        await page.route(/region\/\d+\/summary$/, async (route) => {
            asked++;
            await new Promise((resolve) => setTimeout(resolve, 3500));
            await route.continue().catch(() => {}); /* who asked has gone */
        });
        await session.go("functions", { region: "growing" });
        await page.waitForSelector(".row");
        const most = () =>
            page.evaluate(() =>
                Math.max(
                    ...[...document.querySelectorAll(".row [title]")].map((cell) =>
                        Number(cell.title.replace(/[^0-9]/g, "")),
                    ),
                ),
            );
        const first = await most();
        await page.waitForFunction(
            (before) =>
                [...document.querySelectorAll(".row [title]")].some(
                    (cell) => Number(cell.title.replace(/[^0-9]/g, "")) > before,
                ),
            first,
            { timeout: 20000 },
        );
        assert.ok(asked >= 2 && asked <= 8, `${asked} requests`);
        child.stdin.end();
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a server that ends between two answers takes nothing away", async (t) => {
        const file = join(world.work, "halfway.tmk");
        const child = growing(t, world.tidemark, world.tools, file);
        const ended = new Promise((resolve) => child.on("exit", resolve));
        const server = await serveOnce(world.tidemark, file);
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("functions");
        await page.waitForSelector(".row");
        let refused = 0;
        /* from now on only what has grown is told, and nothing of it */
        await page.route(/\/api\/v1\/p\/0\/(?!summary)/, (route) => {
            refused++;
            return route.abort();
        });
        while (!refused) await page.waitForTimeout(50);
        await page.waitForTimeout(500);
        assert.ok((await page.locator(".row").count()) > 0, "what was there stays");
        assert.equal(await page.locator(".main [role=alert]").count(), 0);
        /* and what is not there is said, not shown from something else. Which views have all of their
         * data from before depends on how far the recording was when it was first read. */
        let said = false;
        for (const began = Date.now(); !said && Date.now() - began < 60000;)
            for (const view of ["timeline", "sizes", "threads", "realloc"]) {
                /* not session.go(): what grows may be fetched again before the page is calm */
                await page.evaluate((name) => void (location.hash = `#/${name}`), view);
                said ||= await page
                    .waitForFunction(
                        () => /does not answer/.test(document.querySelector(".main")?.textContent),
                        null,
                        { timeout: 5000 },
                    )
                    .then(
                        () => true,
                        () => false,
                    );
            }
        assert.ok(said, "no view says that the server does not answer");
        await page.unroute(/\/api\/v1\/p\/0\/(?!summary)/);
        await session.go("functions");
        await page.waitForSelector(".row");
        child.stdin.end();
        await ended;
        await session.close();
        await server.stop();
    });

    test("a recording that nobody tells of any more is said to be no longer followed, and what was there stays", async (t) => {
        const file = join(world.work, "forsaken.tmk");
        const child = growing(t, world.tidemark, world.tools, file);
        const ended = new Promise((resolve) => child.on("exit", resolve));
        const server = await serveOnce(world.tidemark, file);
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("functions");
        await page.waitForSelector(".row");
        assert.match(await session.text(".head"), /recording/);
        await server.stop();
        await page.waitForFunction(() =>
            /no longer followed/.test(document.querySelector(".head [role=status]")?.textContent),
        );
        assert.ok((await page.locator(".row").count()) > 0);
        child.stdin.end();
        await ended;
        await session.close();
    });
}
