/* One search in every view, as --filter of the commands has it, with what it leaves and how much that is. What
 * an address says that makes no sense is said; lists that are cut say so and can be seen whole. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { allocationTimes, report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

export function testSearch(world) {
    test("tables of threads, stacks, variables and functions take a regular expression, and say of how many", async (t) => {
        const session = await Session.open(world.browser, world.server);
        t.after(() => session.close());
        const said = report(world.tidemark, world.profiles.threads, "--functions", "--top", "1000");
        const last = said.threads.at(-1).tid,
            tids = said.threads.filter(({ tid }) => String(tid) !== String(last)).length;
        const foot = (label) =>
            session.page
                .locator(".table", {
                    has: session.page.locator(`.scroll[aria-label="${label}"]`),
                })
                .locator("[data-rows-shown]")
                .innerText();
        for (const [view, label] of [
            ["threads", "Threads"],
            ["stacks", "Stacks of threads"],
        ]) {
            await session.go(view, { search: `\\b${last}\\b` });
            await session.hasRows(label, 1);
            assert.match(await foot(label), new RegExp(`^1 of ${said.threads.length} rows`));
            await session.go(view, { search: `!\\b${last}\\b` });
            await session.hasRows(label, tids);
        }
        const named = said.globals.variables.filter(({ name }) => /^handed/.test(name));
        assert.ok(named.length > 0);
        await session.go("globals", { search: "function:^handed" });
        await session.hasRows("Variables", named.length);
        assert.equal(
            await session.page.locator(".table [data-sum]").getAttribute("title"),
            exact(sum(named.map(({ bytes }) => bytes)), "bytes"),
        );
        await session.go("source", {
            opt: "list:functions",
            search: "^(lose$|Table::fill)",
        });
        await session.hasRows("Functions", 2);
        session.noErrors();
    });

    test("the search says how much its functions have, as the flame graph and report --filter do", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        const words = "function:^(Table::fill|lose)",
            found = () => page.locator("[data-found]").getAttribute("title");
        const said = report(world.tidemark, world.profiles.threads, "--functions", "--top", "1000");
        const rows = said.functions.rows.filter((row) => /^(Table::fill|lose)/.test(row.function));
        assert.ok(rows.length > 1);
        await session.go("functions", { search: words });
        assert.equal(
            await found(),
            exact(sum(rows.map((row) => row.exclusive.at_peak_bytes)), "bytes"),
        );
        await session.go("functions", { search: words, inclusive: "1" });
        const inclusive = await found();
        await session.go("flame", { search: words });
        assert.equal(inclusive, await found());
        assert.equal(
            inclusive,
            exact(
                sum(
                    report(
                        world.tidemark,
                        world.profiles.threads,
                        ...["--filter", words, "--functions", "--top", "1000"],
                    ).functions.rows.map((row) => row.exclusive.at_peak_bytes),
                ),
                "bytes",
            ),
        );
        /* rows of the call tree that nobody has opened are found, one after the other */
        await session.go("tree", { opt: "as:down", search: "function:^Table::fill" });
        const marks = page.locator(".table mark");
        const all = Number(/^(\d+) row/.exec(await session.text("[data-matches]"))[1]);
        assert.ok(all > 0);
        await page.getByRole("button", { name: "Next match" }).click();
        await session.settle();
        assert.match(await session.text("[data-matches]"), new RegExp(`^1 of ${all} row`));
        assert.match(await page.locator(".row[aria-selected=true]").innerText(), /Table::fill/);
        assert.ok((await marks.count()) > 0);
        session.noErrors();
    });

    test("the call graph says how many functions the search finds, and leads from one to the next", async (t) => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        t.after(() => session.close());
        await session.go("tree", { search: "function:e" });
        const matches = () => session.text("[data-matches]"),
            all = Number(/^(\d+) function/.exec(await matches())[1]),
            drawn = await page
                .locator(".graph g.node:not(.faded) title")
                .evaluateAll((list) => list.map((each) => each.parentElement.id));
        assert.ok(all > 1);
        assert.equal(drawn.length, all);
        /* whatever font the browser has, names are within their boxes */
        const sticksOut = await page.locator(".graph g.node").evaluateAll((nodes) =>
            nodes.some((node) => {
                const room = node.querySelector("polygon").getBoundingClientRect();
                return [...node.querySelectorAll("text")].some(
                    (text) => text.getBoundingClientRect().width > room.width,
                );
            }),
        );
        assert.ok(!sticksOut);
        const comeTo = page.locator(".graph g.node.come-to"),
            seen = [];
        for (let at = 1; at <= all; at++) {
            await page.getByRole("button", { name: "Next match" }).click();
            await session.settle();
            assert.match(await matches(), new RegExp(`^${at} of ${all} function`));
            const node = await comeTo.boundingBox(),
                room = await page.locator(".chart.graph").boundingBox();
            assert.ok(Math.abs(node.x + node.width / 2 - room.x - room.width / 2) < 3);
            assert.ok(Math.abs(node.y + node.height / 2 - room.y - room.height / 2) < 3);
            seen.push(await comeTo.getAttribute("id"));
        }
        assert.deepEqual(seen.sort(), drawn.sort());
        await page.locator(".chart.graph").press("n");
        assert.match(await matches(), new RegExp(`^1 of ${all} function`));
        await page.locator(".chart.graph").press("N");
        assert.match(await matches(), new RegExp(`^${all} of ${all} function`));
        await session.accessible("the call graph, searched");
        await session.go("tree", { search: "function:no such function" });
        assert.match(await session.text("[data-found]"), /^search: 0 of the functions/);
        assert.equal(await page.locator("[data-matches]").count(), 0);
        session.noErrors();
    });

    test("an address of no profile says so", async (t) => {
        const session = await Session.open(world.browser, world.server);
        t.after(() => session.close());
        const { page } = session;
        for (const profile of ["-5", "77"]) {
            await page.evaluate((hash) => (location.hash = hash), `#/functions?profile=${profile}`);
            await page.reload();
            await page.waitForSelector("[role=alert]");
            assert.match(
                await session.text("[role=alert]"),
                new RegExp(`There is no profile number ${profile} here`),
            );
        }
        await session.go("compare", { other: "77" });
        assert.match(await session.text(), /There is no profile number 77/);
        session.noErrors();
    });

    test("of growth the pane says what the frame shows, and what went beside it", async (t) => {
        /* from soon after its first block, which it frees: more is kept at the end */
        const file = join(world.work, "spike.tmt");
        execFileSync(world.tidemark, [
            ...["record", "-q", "--trace", "-o", join(world.work, "spike.tmk")],
            join(world.tools, "web_spike"),
        ]);
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const small = JSON.parse(
            execFileSync(
                world.tidemark,
                ["events", "--json", "--filter", "size:>=1000 & size:<=1000", file],
                {
                    encoding: "utf8",
                },
            ).split("\n")[0],
        );
        const from = String(small.time_ns + 1e6);
        const query = { from, metric: "range_growth" };
        await session.go("functions", { ...query, inclusive: "1" });
        const net = (await session.json("Functions")).find((row) => row.function === "main");
        await session.go("flame", { ...query, search: "function:^main$" });
        const { text } = await session.saved(session.button("CSV"));
        const frames = text.split("\n").filter((line) => /,main,/.test(line));
        const grew = sum(frames.map((line) => Number(line.split(",").at(-2))));
        assert.ok(grew > 0);
        await page.locator(".icicle").focus();
        await page.keyboard.press("n");
        await session.settle();
        const figure = (title) =>
            page
                .locator("[data-sandwich] tr", {
                    has: page.locator("th", { hasText: new RegExp(`^${title}$`) }),
                })
                .locator("td")
                .first()
                .getAttribute("title");
        assert.equal(await figure("grew in range"), exact(grew, "bytes"));
        const went = Number(
            (await figure("went in range")).replace(/[, B]/g, "").replace("−", "-"),
        );
        assert.ok(went < 0, "some of it went");
        assert.equal(grew + went, net.range_growth);
        assert.notEqual(await figure("live bytes · whole run"), null);
        session.noErrors();
    });

    test("lists that are cut say how much is left, and can be seen whole", async (t) => {
        if (!world.profiles.compiler) return t.skip("no compiler here");
        const server = await serve(world.tidemark, [world.profiles.compiler]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const said = report(world.tidemark, world.profiles.compiler);
        for (const [by, at] of [
            ["bytes", 2],
            ["", 1],
        ]) {
            await session.go("sizes", { opt: by && `by:${by}` });
            const card = page.locator(".card", {
                hasText: by ? "Sizes with most bytes" : "Commonest sizes",
            });
            const rows = card.locator("tbody tr");
            const told = said.distributions.size_exact.filter(([size]) => size < 2 ** 62);
            assert.equal(await rows.count(), 24);
            await card.getByRole("button", { name: "show all" }).click();
            await session.settle();
            assert.equal(await rows.count(), told.length);
            const all = sum(said.distributions.size.map((row) => row[at])),
                first = Math.max(...told.map((row) => row[at]));
            const shown = parseFloat(await rows.first().locator("td").last().innerText());
            assert.ok(
                Math.abs(shown - (100 * first) / all) < 0.051,
                `${shown} of ${first} in ${all}`,
            );
            assert.match(await session.state(), /all/);
        }
        /* of a line of source: the paths that lead there */
        await session.go("source");
        const leading = page.locator(".leading .nowrap"),
            paths = Number(
                /([\d,]+) call paths? leads? here/.exec(await session.text())[1].replace(",", ""),
            );
        if (paths > 8) {
            assert.equal(await leading.count(), 8);
            await page.locator("[data-more=leading] button").click();
            await session.settle();
            assert.equal(await leading.count(), Math.min(paths, 2000));
        }
        await session.go("timeline", { opt: `at:${said.program.peak_ns}` });
        const card = page.locator(".card", { hasText: "Who held memory at" });
        const few = await card.locator("dt").count();
        const left = Number(
            /^([\d,]+) more/.exec(await session.text("[data-more=then]"))[1].replace(",", ""),
        );
        await card.locator("[data-more=then] button").click();
        await session.settle();
        assert.equal(await card.locator("dt").count(), few + left);
        session.noErrors();
    });
}
