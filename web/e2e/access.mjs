/* Who may look: the secret is in no cookie, and in no request but those to the server that it is of.
 * Reloading, links, further tabs and several servers go on working. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";

/* A server of somebody else's at another port: notes what it is sent. */
async function stranger() {
    const asked = [];
    const server = createServer((request, response) => {
        asked.push(JSON.stringify([request.url, request.headers]));
        response.setHeader("Content-Type", "text/html");
        response.end("<!doctype html><title>stranger</title>");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
        asked,
        url: `http://127.0.0.1:${server.address().port}/`,
        stop: () => {
            server.closeAllConnections();
            server.close();
        },
    };
}

const shown = (page) => page.waitForSelector(".main .view > *");
const tokenOf = (server) => /#token=([0-9a-f]{32})$/.exec(server.url)[1];

export function testAccess(world) {
    test("another server of this machine gets no secret from the browser", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session,
            other = await stranger();
        assert.deepEqual(await page.context().cookies(), []);
        assert.ok(!page.url().includes(tokenOf(world.server)), "the token is out of the address");
        await page.goto(other.url);
        await session.back();
        await shown(page);
        await page.evaluate((url) => void (location.href = url), other.url);
        await page.waitForURL(other.url);
        assert.ok(other.asked.length > 0);
        for (const asked of other.asked) {
            assert.ok(!/cookie|authorization/i.test(asked), asked);
            assert.ok(!asked.includes(tokenOf(world.server)), asked);
        }
        assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
        await session.close();
        other.stop();
    });

    test("reloaded, opened in another tab, and passed on as a link, it shows the same", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        await session.go("functions", { search: "main" });
        await page.reload();
        await session.settle();
        assert.match(await session.state(), /^#\/functions\?search=main/);
        const tab = await page.context().newPage();
        await tab.goto(page.url());
        await shown(tab);
        assert.equal(await tab.locator(".head input[type=search]").inputValue(), "main");
        session.noErrors();
        await session.close();
    });

    test("without the token the page says where it is, and takes it where it is typed", async () => {
        const context = await world.browser.newContext(),
            page = await context.newPage();
        await page.goto(world.server.url.replace(/#.*/, ""));
        await page.waitForFunction(() => /tidemark serve/.test(document.body.innerText));
        await page.goto(world.server.url.replace(/=.*/, "=" + "0".repeat(32)));
        await page.waitForFunction(() => /not that of this server/.test(document.body.innerText));
        await page.evaluate((hash) => void (location.hash = hash), new URL(world.server.url).hash);
        await shown(page);
        assert.ok(!page.url().includes(tokenOf(world.server)));
        await context.close();
    });

    test("several servers in one browser do not disturb each other", async () => {
        const second = await serve(world.tidemark, [world.profiles.fragments]);
        const session = await Session.open(world.browser, world.server),
            tab = await session.page.context().newPage();
        await tab.goto(second.url);
        await shown(tab);
        await session.page.reload();
        await session.settle();
        await tab.reload();
        await shown(tab);
        session.noErrors();
        await session.close();
        await second.stop();
    });

    test("what the command gives to a browser lets one page in", async () => {
        const bin = join(world.work, "bin"),
            opened = join(world.work, "opened");
        mkdirSync(bin);
        writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" >'${opened}'\n`, {
            mode: 0o755,
        });
        const path = process.env.PATH;
        process.env.PATH = `${bin}:${path}`;
        const server = await serve(world.tidemark, [world.profiles.fragments], ["--open"]);
        process.env.PATH = path;
        let url = "";
        while (!url.endsWith("\n")) {
            try {
                url = readFileSync(opened, "utf8");
            } catch {
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
        }
        assert.ok(!url.includes(tokenOf(server)));
        const session = await Session.open(world.browser, { url: url.trim() });
        await session.page.reload();
        await session.settle();
        assert.ok(!session.page.url().includes("ticket"));
        session.noErrors();
        await session.close();
        const late = await (await world.browser.newContext()).newPage();
        await late.goto(url.trim());
        await late.waitForFunction(() => /tidemark serve/.test(document.body.innerText));
        await late.context().close();
        await server.stop();
    });
}
