/* What somebody may have put into a profile does no harm: nothing of it runs, and the page
 * lives. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";
import { views } from "./views.mjs";

const variants = [
    ["flame", { opt: "inverted:1" }],
    ["flame", { hide: "0" }],
    ["tree", { opt: "as:table" }],
    ["tree", { opt: "as:down" }],
    ["source", { opt: "list:functions" }],
    ["compare", { other: "1" }],
    ["compare", { other: "1", opt: "as:flame" }],
    ["flame", { search: "<script>" }],
    ["functions", { search: "\u0000\u202e" }],
    ["functions", { fn: "99999999", node: "-5" }],
    ["flame", { opt: "zoom:1e99" }],
    ["source", { file: "../../etc/passwd", line: "999999999" }],
    ["tree", { opt: "least:abc,up:-1" }],
    ["timeline", { from: "9", to: "1" }],
    ["nonsense", {}],
    ["flame", { opt: "%E0%A4%A" }],
    ["flame", { opt: "inverted:%zz" }],
    ["sizes", { opt: "cell:x_y" }],
    ["resident", { opt: "sample:NaN" }],
    ["flame", { metric: "__proto__" }],
    ["functions", { opt: "columns:__proto__.constructor" }],
];

async function unharmed(session, where) {
    assert.equal(await session.page.evaluate(() => window.harm), undefined, where);
    assert.equal(
        await session.page.evaluate(
            () =>
                document.querySelectorAll(
                    "main script, main img, main iframe, main object, [onload], [onerror], [onclick]",
                ).length,
        ),
        0,
        where,
    );
    assert.equal(
        await session.page.evaluate(() => document.querySelector("#app").children.length >= 3),
        true,
        `${where}: the page stands`,
    );
}

export function testHostile(world) {
    test("hostile names: no script runs, every view lives", async () => {
        const server = await serve(world.tidemark, [
            world.profiles.hostile,
            world.profiles.hostile,
        ]);
        const session = await Session.open(world.browser, server);
        for (const [view, query] of [...views.map((view) => [view, {}]), ...variants]) {
            const where = `${view} ${JSON.stringify(query)}`;
            await session.go(view, query);
            await unharmed(session, where);
            assert.deepEqual(session.errors.splice(0), [], where);
        }
        await session.go("functions");
        const { text } = await session.saved(
            session.page.getByRole("button", { name: "CSV", exact: true }),
        );
        assert.doesNotMatch(text, /(^|,)"?=HYPERLINK/m, "a spreadsheet would run it");
        await session.go("flame", { hide: "0" });
        const svg = (await session.saved(session.button("SVG"))).text;
        const parsed = await session.page.evaluate((text) => {
            const root = new DOMParser().parseFromString(text, "image/svg+xml");
            return {
                wrong: root.querySelectorAll("parsererror").length,
                scripts: root.querySelectorAll("script, img, [onload], [onerror]").length,
            };
        }, svg);
        assert.deepEqual(parsed, { wrong: 0, scripts: 0 });
        await session.page.locator(".icicle canvas").hover({ position: { x: 40, y: 27 } });
        await session.go("tree");
        await session.page.waitForSelector("g.node");
        await unharmed(session, "graph");
        await session.close();
        await server.stop();
    });

    test("hostile names in the single file", async () => {
        const file = join(world.work, "hostile.html");
        execFileSync(world.tidemark, ["html", "-o", file, world.profiles.hostile]);
        const context = await world.browser.newContext();
        const session = new Session(await context.newPage(), pathToFileURL(file).href);
        await session.page.goto(session.base);
        await session.settle();
        for (const view of views) {
            await session.go(view);
            await unharmed(session, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await context.close();
    });

    test("data that makes no sense is refused with a sentence", async () => {
        const columns = (list) => {
            let offset = 0;
            const parts = list.map(([name, values]) => {
                const part = { name, type: "u32", count: values.length, offset };
                offset += Math.ceil((values.length * 4) / 8) * 8;
                return part;
            });
            let head = JSON.stringify({ columns: parts });
            while ((8 + head.length) % 8) head += " ";
            const body = Buffer.alloc(8 + head.length + offset);
            body.write("TMKC");
            body.writeUInt32LE(head.length, 4);
            body.write(head, 8);
            list.forEach(([, values], at) =>
                values.forEach((value, index) =>
                    body.writeUInt32LE(value, 8 + head.length + parts[at].offset + 4 * index),
                ),
            );
            return body;
        };
        const bodies = {
            "a cycle": columns([
                ["parent", [0, 2, 1]],
                ["code", [0, 1, 1]],
            ]),
            "no such code": columns([
                ["parent", [0, 0, 1]],
                ["code", [0, 4000000000, 1]],
            ]),
            "a cut-off document": columns([
                ["parent", [0, 0, 1]],
                ["code", [0, 1, 1]],
            ]).subarray(0, 100),
            "no columns": Buffer.from("<html>"),
            "a lying header": Buffer.concat([
                Buffer.from("TMKC"),
                Buffer.from([255, 255, 255, 127]),
            ]),
        };
        for (const [what, body] of Object.entries(bodies)) {
            const session = await Session.open(world.browser, world.server);
            await session.page.route("**/paths", (route) =>
                route.fulfill({ body, contentType: "application/vnd.tidemark.columns" }),
            );
            for (const view of ["functions", "flame", "tree", "source", "leaks"]) {
                await session.go(view);
                assert.ok(
                    (await session.page.locator("[role=alert]").count()) > 0,
                    `${what}: ${view} says so`,
                );
            }
            await session.go("summary");
            assert.match(await session.text(), /What ran/);
            session.noErrors();
            await session.close();
        }
    });
}
