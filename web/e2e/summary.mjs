/* The first page: the answer is in sight at once, in one order on every screen, it is what the commands
 * say, and every part of it leads to what it is made of. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { exact, Session } from "./session.mjs";
import { serve, useDist } from "./serve.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

export function testSummary(world) {
    const open = async (t, kind, viewport) => {
        const server = await serve(world.tidemark, [world.profiles[kind]]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server, { viewport });
        t.after(() => session.close());
        return session;
    };

    test("summary: the answer is above the fold, and What ran is last, on every screen", async (t) => {
        const order = [];
        for (const viewport of [
            { width: 1280, height: 800 },
            { width: 390, height: 844 },
            { width: 1920, height: 1080 },
        ]) {
            const session = await open(t, "threads", viewport);
            const cards = await session.page.locator(".main .card").evaluateAll((all) =>
                all.map((card) => ({
                    title: card.querySelector("h2").textContent,
                    bottom: card.getBoundingClientRect().bottom,
                    top: card.getBoundingClientRect().top,
                })),
            );
            order.push(cards.map(({ title }) => title));
            assert.match(cards[0].title, /resident$/);
            assert.deepEqual(
                cards.slice(1, 4).map(({ title }) => title),
                ["Largest holders", "Heap and leaks", "What to look at"],
            );
            assert.equal(cards.at(-1).title, "What ran");
            if (viewport.width === 1280)
                for (const { title, bottom } of cards.slice(0, 5))
                    assert.ok(bottom <= viewport.height, `${title} ends at ${bottom}`);
            if (viewport.width === 390)
                for (let at = 1; at < cards.length; at++)
                    assert.ok(cards[at].top >= cards[at - 1].bottom, cards[at].title);
            session.noErrors();
        }
        assert.deepEqual(order[1], order[0]);
        assert.deepEqual(order[2], order[0]);
    });

    test("summary: owners add up to what is resident, the holders and the verdict are the commands'", async (t) => {
        for (const kind of ["threads", "fragments", "nameless"]) {
            const file = world.profiles[kind],
                said = report(world.tidemark, file);
            const session = await open(t, kind, { width: 1280, height: 800 }),
                { page } = session;
            const bytesOf = (title) => Number(title.replace(/[^\d]/g, ""));
            const parts = await page
                .locator("ul.parts .number[title]")
                .evaluateAll((all) => all.map((each) => each.title));
            const own = sum(
                said.owners
                    .filter((each) => each.kind === "tool")
                    .map((each) => each.resident_bytes),
            );
            assert.equal(sum(parts.map(bytesOf)), said.resident_bytes - own, kind);
            assert.ok(own > 0);
            assert.equal(
                await page.locator("[data-tool] a").getAttribute("title"),
                exact(own, "bytes"),
            );
            const first = execFileSync(world.tidemark, ["report", file], { encoding: "utf8" });
            assert.equal(
                await page.locator(".main .card h2").first().innerText(),
                `${/^Resident {2}(\S+ \S+) after/m.exec(first)[1]} resident`,
                "as the command’s first screen says it",
            );
            /* a bar is as long as its figure */
            const bars = await page
                .locator("ol.holders li")
                .evaluateAll((all) =>
                    all.map((each) => [
                        Number(each.querySelector("b").title.replace(/[^\d]/g, "")),
                        each.querySelector(".bar").getBoundingClientRect().width,
                    ]),
                );
            for (const [bytes, width] of bars)
                assert.ok(
                    Math.abs(width / bars[0][1] - bytes / bars[0][0]) < 0.01,
                    `${kind}: ${bytes} B in ${width} px, ${bars[0]}`,
                );
            const holders = await page
                .locator("ol.holders b")
                .evaluateAll((all) => all.map((each) => each.title));
            assert.equal(holders.length, 3);
            const rows = new Map();
            for (const owner of said.owners.filter((each) => each.kind !== "tool")) {
                const key = owner.function
                    ? `${owner.kind} ${owner.function} ${owner.line}`
                    : `${owner.kind} ${owner.name} ${owner.module} ${owner.thread} ${rows.size}`;
                rows.set(key, (rows.get(key) ?? 0) + owner.resident_bytes);
            }
            assert.deepEqual(
                holders,
                [...rows.values()]
                    .sort((a, b) => b - a)
                    .slice(0, 3)
                    .map((bytes) => exact(bytes, "bytes")),
                kind,
            );
            const leaks = spawnSync(world.tidemark, ["leaks", file], { encoding: "utf8" });
            assert.ok(
                (await session.text("[data-leak-verdict]")).startsWith(leaks.stdout.split("\n")[0]),
                kind,
            );
            session.noErrors();
        }
    });

    test("summary: what there is stands there before all is added up, and nobody is said to hold nothing", async (t) => {
        const scripts = [];
        for (const [kind, holders] of [
            ["threads", 3],
            ["many", 0],
        ]) {
            const server = await serve(world.tidemark, [world.profiles[kind]]);
            t.after(() => server.stop());
            const context = await world.browser.newContext({
                viewport: { width: 1280, height: 800 },
            });
            t.after(() => context.close());
            const page = await context.newPage(),
                released = [];
            page.on("request", (request) => scripts.push(request.url()));
            await useDist(page);
            await page.route("**/top", async (route) => {
                await new Promise((resolve) => released.push(resolve));
                await route.continue();
            });
            await page.goto(server.url);
            await page.locator(".card h2", { hasText: "What to look at" }).waitFor();
            await page.waitForFunction(
                (count) => document.querySelectorAll("ol.holders b").length === count,
                holders,
            );
            const largest = page.locator("[data-headline] .card").nth(1);
            if (!holders) assert.match(await largest.innerText(), /Being added up/);
            assert.doesNotMatch(await page.locator("main").innerText(), /Nobody held anything/);
            while (!released.length) await page.waitForTimeout(20);
            released.forEach((release) => release());
            await page.waitForSelector("html:not([data-busy])");
            assert.equal(await page.locator("ol.holders b").count(), 3, kind);
        }
        assert.ok(scripts.some((url) => url.endsWith("/app.js")));
        assert.ok(
            !scripts.some((url) => url.endsWith("/code.js")),
            "what draws source text is not loaded for the first page",
        );
    });

    test("summary: every part, ledger row, holder and insight leads to what it is made of", async (t) => {
        const session = await open(t, "threads", { width: 1280, height: 800 }),
            { page } = session;
        const said = report(world.tidemark, world.profiles.threads);
        const links = await page
            .locator("ul.parts a, ol.holders a, dl[data-ledger] dt a, ul.insights .sentence a")
            .evaluateAll((all) => all.map((each) => [each.textContent, each.getAttribute("href")]));
        const rows = await page.locator("dl[data-ledger] dt").count();
        assert.equal(await page.locator("dl[data-ledger] dt a").count(), rows - 1, "but the sum");
        assert.equal(
            await page.locator("ul.insights li").count(),
            await page.locator("ul.insights .sentence a").count(),
        );
        assert.ok(links.length > 12);
        for (const [title, href] of links) {
            await page.evaluate((hash) => {
                location.hash = hash;
            }, href);
            await session.settle();
            assert.equal(await page.locator(".main [role=alert]").count(), 0, title);
            assert.equal(await page.locator("[data-focus-gone]").count(), 0, `${title} ${href}`);
        }
        await session.go("resident");
        const owners = await session.json("Owners of resident memory");
        assert.equal(sum(owners.map((row) => row.resident_bytes)), said.resident_bytes);
        await session.go("summary");
        await page.locator(".parts-bar a").first().click();
        await session.settle();
        assert.match(
            decodeURIComponent(await session.state()),
            /#\/resident\?opt=list:owners,kind:\w+/,
        );
        const chosen = await session.json("Owners of resident memory");
        assert.ok(chosen.length && chosen.length < owners.length);
        assert.equal(new Set(chosen.map((row) => row.kind)).size, 1);
        session.noErrors();
    });

    test("metrics are grouped, and what a view shows now is said beside them", async (t) => {
        const session = await open(t, "threads", { width: 1280, height: 800 }),
            { page } = session;
        await session.go("functions");
        assert.equal(await session.text("[data-now]"), "now: bytes at peak");
        assert.ok((await page.locator(".head optgroup").count()) >= 4);
        await session.go("functions", { metric: "alloc_count" });
        assert.equal(await session.text("[data-now]"), "now: allocations");
        await session.go("threads");
        assert.equal(await page.locator("[data-now]").count(), 0, "it has no such metric");
        session.noErrors();
    });
}
