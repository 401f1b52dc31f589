/* Code without names: every view names the same code for the same bytes, as `report` does. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const large = 64 * (48 << 10),
    small = 64 * (16 << 10); /* tests/web/nameless.c */

export function testNameless(world) {
    test("code without names: the summary, functions, flame graph and timeline say what report says", async (t) => {
        const file = world.profiles.nameless;
        const said = report(world.tidemark, file, "--functions", "--top", "2").functions.rows;
        assert.deepEqual(
            said.map((row) => row.exclusive.at_peak_bytes),
            [large, small],
        );
        const [first, second] = said.map((row) => row.function);
        assert.match(first, /^web_nameless\+0x[0-9a-f]+$/);
        const text = execFileSync(world.tidemark, ["report", file], { encoding: "utf8" });
        const sites = text.slice(text.indexOf("Held at the peak"));
        assert.ok(sites.indexOf(first) >= 0 && sites.indexOf(first) < sites.indexOf(second), sites);

        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const top = page
            .locator(".card", { has: page.getByRole("heading", { name: /at the peak|peak/i }) })
            .locator("table.fixed-columns tr", { hasText: first });
        assert.ok((await top.count()) >= 1, "the summary");

        await session.go("functions");
        const rows = await session.json("Functions");
        for (const [name, bytes] of [
            [first, large],
            [second, small],
        ])
            assert.deepEqual(
                rows
                    .filter((row) => row.function === name)
                    .map((row) => [row.at_peak_bytes, row.module.replace(/.*\//, "")]),
                [[bytes, "web_nameless"]],
            );

        await session.go("flame", { opt: "inverted:1" });
        const { text: folded } = await session.saved(session.button("folded stacks"));
        const held = (name) =>
            folded
                .trim()
                .split("\n")
                .filter((line) => line.startsWith(name))
                .reduce((sum, line) => sum + Number(/ (\d+)$/.exec(line)[1]), 0);
        assert.deepEqual([held(first), held(second)], [large, small]);

        await session.go("timeline");
        const card = page.locator(".chart", {
            has: page.getByRole("group", { name: /^Live bytes of the largest functions/ }),
        });
        const csv = (
            await session.saved(card.getByRole("button", { name: "CSV", exact: true }))
        ).text.split("\n");
        const column = csv[0].split(",").indexOf(first);
        assert.ok(column > 0, csv[0]);
        const most = Math.max(...csv.slice(1, -1).map((line) => Number(line.split(",")[column])));
        assert.ok(most <= large && most >= 0.95 * large, String(most)); /* as exact as curves are */

        /* and a link to it, from wherever, leads to it alone */
        await session.go("functions");
        await session.doubleClick(session.rows("Functions").filter({ hasText: first }).first());
        await session.settle();
        await page.locator(".icicle canvas").hover({ position: { x: 40, y: 9 } });
        assert.match(await session.text(".chips"), new RegExp(first.replace("+", "\\+")));
        assert.match(await session.text("[role=tooltip]"), /3,145,728 B/);
        session.noErrors();
    });

    test("code without names: the call tree, growth and Compare say what report and diff say", async (t) => {
        const file = world.profiles.nameless,
            [first, second] = report(
                world.tidemark,
                file,
                "--functions",
                "--top",
                "2",
            ).functions.rows.map((row) => row.function);
        const server = await serve(world.tidemark, [file, world.profiles.spike]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server);
        t.after(() => session.close());
        for (const as of ["table", "down"]) {
            await session.go("tree", { opt: `as:${as}` });
            const text = await session.text();
            assert.ok(text.includes(first), `${as}: ${text}`);
            assert.doesNotMatch(text, /\?\?/);
        }
        const said = report(world.tidemark, file);
        await session.go("growth", { to: said.program.peak_ns });
        const rows = await session.json("Growth by function");
        assert.deepEqual(
            [first, second].map((name) => rows.find((row) => row.function === name)?.change),
            [large, small],
        );
        const { functions } = JSON.parse(
            execFileSync(
                world.tidemark,
                ["diff", "--json", "--sort=peak", file, world.profiles.spike],
                { encoding: "utf8", maxBuffer: 1 << 28 },
            ),
        );
        const nameless = functions.find((row) => row.function.startsWith("["));
        assert.ok(nameless, "diff has a name for it");
        await session.go("compare", { other: 1, metric: "at_peak_bytes" });
        const shown = session.rows("Functions before and after").filter({
            hasText: nameless.function,
        });
        assert.equal(await shown.count(), 1, `${nameless.function} in full`);
        session.noErrors();
    });
}
