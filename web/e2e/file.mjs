/* The single file: opened from disk, without any network. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { report } from "./profiles.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

export function testFile(world) {
    test("tidemark html: one file from disk has every view, asks for nothing, says the same numbers", async () => {
        const file = join(world.work, "report.html");
        execFileSync(world.tidemark, [
            "html",
            "-o",
            file,
            world.profiles.threads,
            world.profiles.again,
        ]);
        const context = await world.browser.newContext({
            viewport: { width: 1280, height: 720 },
            acceptDownloads: true,
        });
        const page = await context.newPage();
        const asked = [];
        await page.route("**", (route) => {
            const url = route.request().url();
            if (/^(file|blob|data):/.test(url)) return route.continue();
            asked.push(url);
            return route.abort();
        });
        const session = new Session(page, pathToFileURL(file).href);
        await page.goto(session.base);
        await session.settle();
        const said = report(world.tidemark, world.profiles.threads);
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(said.program.peak_bytes, "bytes"),
        );
        for (const view of views) {
            await session.go(view);
            assert.equal(await page.locator(".view [role=alert]").count(), 0, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.go("functions");
        assert.equal(
            (await session.json("Functions")).reduce((total, row) => total + row.at_peak_bytes, 0),
            said.program.at_peak_bytes,
        );
        await session.go("tree");
        await page.waitForSelector("g.node");
        await session.go("source", { file: "threads.cpp" });
        await page.waitForSelector(".source-text");
        assert.ok(
            await page.evaluate(
                () =>
                    document.querySelector(".source-text").shadowRoot.querySelectorAll(".cm-line")
                        .length > 10,
            ),
        );
        await session.go("compare", { other: "1" });
        assert.match(await session.text(), /after/);
        await page.reload();
        await session.settle();
        assert.match(await session.state(), /compare/);
        session.noErrors();
        assert.deepEqual(asked, []);
        await context.close();
    });
}
