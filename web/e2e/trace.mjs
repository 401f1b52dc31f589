/* A trace: a range of time shows exactly what happened in it, in every view that can tell; a
 * moment, who held memory. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { allocationTimes, report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

export function testTrace(world) {
    test("a range of a trace is what replay says of it; functions in focus stay in focus", async () => {
        const server = await serve(world.tidemark, [world.profiles.trace]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const run = report(world.tidemark, world.profiles.traced);
        const times = allocationTimes(world.tidemark, world.profiles.trace);
        const [from, to] = [0.3, 0.6].map((share) =>
            String(times[Math.floor(times.length * share)]),
        );
        const part = join(world.work, "part.tmk");
        execFileSync(world.tidemark, [
            "replay",
            "-q",
            `--from=${from}ns`,
            `--to=${to}ns`,
            "-o",
            part,
            world.profiles.trace,
        ]);
        const said = report(world.tidemark, part, "--functions", "--top", "1000000");
        assert.ok(
            said.program.alloc_count > 0 && said.program.alloc_count < run.program.alloc_count,
        );

        await session.go("functions", { from, to });
        assert.match(await session.text(".chips"), /Exact, from the trace/);
        const rows = await session.json("Functions");
        for (const each of said.functions.rows) {
            if (!each.function) continue;
            const row = rows.find((other) => other.function === each.function);
            for (const metric of ["at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count"])
                assert.equal(
                    row?.[metric] ?? 0,
                    each.exclusive[metric],
                    `${each.function} ${metric}`,
                );
        }
        await page
            .locator(".head select[aria-label=Metric], .head label select")
            .first()
            .selectOption("alloc_count");
        await session.settle();
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            said.program.alloc_count,
            "a metric that was chosen is of the range, too",
        );
        await session.go("summary", { from, to });
        assert.equal(
            await session.fact("Allocations").getAttribute("title"),
            exact(said.program.alloc_count, "count"),
        );

        await session.go("functions", { from, to, search: "Table::fill" });
        await session.rows("Functions").first().click({ button: "right" });
        await page.getByRole("menuitem", { name: /focus/i }).first().click();
        await session.settle();
        assert.match(await session.text(".chips"), /Table::fill/);
        await session.go("functions", {
            fn: new URLSearchParams((await session.state()).split("?")[1]).get("fn"),
        });
        assert.match(
            await session.text(".chips"),
            /Table::fill/,
            "without the range it is the same function",
        );

        for (const view of views) {
            await session.go(view, { from, to });
            assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
            assert.ok((await session.text(".view")).trim().length > 0, `${view} says something`);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.go("source", { from, to, file: "threads.cpp" });
        assert.ok(
            await page.evaluate(
                () =>
                    document.querySelector(".source-text").shadowRoot.querySelectorAll(".cm-line")
                        .length > 10,
            ),
        );
        await session.close();
        await server.stop();
    });

    test("a moment of a trace: who held memory, as tidemark at says", async () => {
        const server = await serve(world.tidemark, [world.profiles.trace]);
        const session = await Session.open(world.browser, server);
        const run = report(world.tidemark, world.profiles.traced);
        const at = String(run.program.peak_ns);
        await session.go("timeline", { opt: `at:${at}` });
        const card = session.page.locator(".card", { hasText: "Who held memory at" });
        const said = JSON.parse(
            execFileSync(world.tidemark, ["at", "--json", world.profiles.trace, `${at}ns`], {
                encoding: "utf8",
            }),
        );
        assert.equal(
            await card.locator("b[title]").first().getAttribute("title"),
            exact(said.at.live_bytes, "bytes"),
        );
        assert.equal(
            await card.locator("dt[title]").first().getAttribute("title"),
            exact(said.functions[0].exclusive.live_bytes, "bytes"),
        );
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("blocks of an age and a thread are those of tidemark blocks, in the flame graph of a trace", async () => {
        const server = await serve(world.tidemark, [world.profiles.trace]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        /* a line for each block */
        const blocksAt = (at, filter) =>
            execFileSync(
                world.tidemark,
                [
                    "blocks",
                    "--json",
                    "--paths-once",
                    `--at=${at}`,
                    "--filter",
                    filter,
                    world.profiles.trace,
                ],
                { encoding: "utf8", maxBuffer: 1 << 28 },
            )
                .split("\n")
                .filter(Boolean)
                .map((line) => JSON.parse(line));
        const bytesOf = (blocks) => blocks.reduce((sum, each) => sum + each.size_bytes, 0);
        const all = blocksAt("peak", "size:>=0");
        const ages = all.map((each) => each.age_ns).sort((a, b) => a - b),
            middle = ages[ages.length >> 1],
            largest = all.reduce((best, each) => (each.size_bytes > best.size_bytes ? each : best)),
            tid = largest.thread;
        let smaller = 0;
        for (const [words, metric, at] of [
            [`age:>${middle}ns`, "", "peak"],
            [`age:<=${middle}ns & thread:${tid}`, "", "peak"],
            [`!thread:${tid} & size:>=64`, "", "peak"],
            [`thread:${tid}`, "live_bytes", "end"],
        ]) {
            const bytes = bytesOf(blocksAt(at === "end" ? "100%" : at, words));
            smaller += bytes > 0 && bytes < bytesOf(all);
            await session.go("flame", { search: words, metric });
            const value = bytes
                ? (await session.saved(session.button("folded stacks"))).text
                      .trim()
                      .split("\n")
                      .reduce((sum, line) => sum + Number(/ (\d+)$/.exec(line)[1]), 0)
                : 0;
            assert.equal(value, bytes, words);
            assert.match(
                await page.locator("[data-blocks]").innerText(),
                at === "peak" ? /at the peak/ : /after/,
            );
            await session.go("tree", { search: words, metric, opt: "as:down" });
            assert.equal(await page.locator("[data-search-wrong]").count(), 0);
            await session.go("functions", { search: words, metric });
            assert.match(await page.locator("[data-search-wrong]").innerText(), /flame graph/);
        }
        assert.ok(smaller >= 2, "some of the filters leave some of the blocks");
        await session.go("flame");
        await page.getByLabel("Thread that asked").selectOption(String(tid));
        assert.match(
            await session.state(),
            new RegExp(`search=thread%3A${tid}|search=thread:${tid}`),
        );
        await page.getByRole("button", { name: `Take off: of thread ${tid}` }).click();
        assert.doesNotMatch(await session.state(), /search=/);
        await session.accessible("blocks of a thread");
        session.noErrors();
        await session.close();
        await server.stop();
    });
}
