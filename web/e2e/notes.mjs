/* Notes about functions and moments, and saved views: kept beside the profile by the server, in a file
 * by the other pages. What somebody else wrote stays, and is never markup. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";

const hostile = '<img src=x onerror="window.harm=1"> & </script> \u202eevil';

async function write(session, text) {
    await session.page.fill("textarea.note", text);
    await session.press("keep this note");
}

const textsOf = (session) => session.page.locator("[data-note] .said").allTextContents();

export function testNotes(world) {
    /* A profile of the test's own, and what serves it. */
    async function begin(name) {
        const file = join(world.work, name);
        copyFileSync(world.profiles.threads, file);
        const server = await serve(world.tidemark, [file]);
        return { file, server, beside: `${file}.notes` };
    }

    test("a note about a function and a moment is in the file and beside the function", async () => {
        const { server, beside } = await begin("noted.tmk");
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("functions");
        const rows = session.rows("Functions");
        await rows.first().click({ button: "right" });
        await page.getByRole("menuitem", { name: "Write a note about it" }).click();
        await session.settle();
        const name = await page.locator("[data-about]").innerText();
        assert.equal(await session.button("keep this note").isDisabled(), true);
        await write(session, hostile);
        const kept = JSON.parse(readFileSync(beside, "utf8"));
        assert.equal(kept.notes.length, 1);
        assert.equal(kept.notes[0].text, hostile);
        assert.equal(statSync(beside).mode & 0o777, 0o600);
        await session.go("timeline", { opt: "at:1000000" });
        await page.locator("nav a", { hasText: "Notes" }).click();
        await session.settle();
        assert.match(await page.locator("[data-about]").innerText(), /moment/);
        await write(session, "here it begins");
        assert.equal(JSON.parse(readFileSync(beside, "utf8")).notes[1].from_ns, 1_000_000);
        assert.deepEqual((await textsOf(session)).sort(), [hostile, "here it begins"].sort());
        await session.accessible("notes");
        /* a link leads to what its writer saw, in another tab too */
        await page.locator("[data-note] a", { hasText: name }).click();
        await session.settle();
        assert.match(await session.state(), /^#\/functions\?/);
        assert.match(await page.locator("[data-noted]").innerText(), /onerror/);
        await page.reload();
        await session.settle();
        assert.match(await page.locator("[data-noted]").innerText(), /onerror/);
        assert.equal(await page.evaluate(() => window.harm), undefined);
        await session.go("notes");
        await page.getByRole("button", { name: /^Remove the note about the moment/ }).click();
        await page.waitForFunction(() => document.querySelectorAll("[data-note]").length === 1);
        assert.equal(JSON.parse(readFileSync(beside, "utf8")).notes.length, 1);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a saved view leads back to what was seen", async () => {
        const { server, beside } = await begin("viewed.tmk");
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("flame", { metric: "alloc_bytes", opt: "inverted:1,colour:life" });
        const before = await session.state();
        await page.locator("nav a", { hasText: "Notes" }).click();
        await session.settle();
        await page.fill("input[aria-label='Name of the view']", "who asks most");
        await session.press("save the view");
        assert.equal(JSON.parse(readFileSync(beside, "utf8")).views[0].title, "who asks most");
        await session.go("summary");
        await session.go("notes");
        await page.locator("[data-saved-view] a").click();
        await session.settle();
        assert.equal(await session.state(), before);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("two pages that write at once lose nothing", async () => {
        const { server } = await begin("shared.tmk");
        const one = await Session.open(world.browser, server),
            two = await Session.open(world.browser, server);
        await one.go("notes");
        await two.go("notes");
        await write(one, "of the first");
        await write(two, "of the second");
        assert.deepEqual((await textsOf(two)).sort(), ["of the first", "of the second"]);
        two.noErrors();
        await one.close();
        await two.close();
        await server.stop();
    });

    test("a file that is not ours is left alone, and it is said", async () => {
        const { server, beside } = await begin("others.tmk");
        writeFileSync(beside, "my own notes\n");
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("notes");
        await write(session, "lost?");
        assert.match(
            await page.locator(".main [role=alert]").innerText(),
            /is no file of notes: it is left alone/,
        );
        assert.equal(readFileSync(beside, "utf8"), "my own notes\n");
        assert.equal(await page.locator("textarea.note").inputValue(), "lost?");
        await session.close();
        await server.stop();
    });

    test("what somebody wrote by hand is not lost by the next note", async () => {
        const { server, beside } = await begin("broken.tmk");
        const begun = '{"format":"tidemark-notes","version":1,"notes":[{"text":"by hand"}';
        writeFileSync(beside, `${begun},],"views":[]}`);
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("notes");
        await write(session, "instead?");
        assert.match(await page.locator(".main [role=alert]").innerText(), /damaged/);
        assert.equal(readFileSync(beside, "utf8"), `${begun},],"views":[]}`);
        writeFileSync(beside, `${begun}],"views":[]}`); /* and no id */
        await write(session, "beside it");
        assert.deepEqual((await textsOf(session)).sort(), ["beside it", "by hand"]);
        await session.close();
        await server.stop();
    });

    test("notes that somebody wrote by hand do no harm", async () => {
        const { server, beside } = await begin("hand.tmk");
        writeFileSync(
            beside,
            JSON.stringify({
                format: "tidemark-notes",
                version: 1,
                notes: [
                    { id: "1", text: "go", address: "javascript:window.harm=1" },
                    { id: "2", text: 7, address: "#/flame" },
                    { id: "3", text: "deep", from_ns: -5, address: "#/flame?fn=1&search=<b>" },
                    "no note",
                ],
                views: [{ id: "v", title: hostile, address: "https://evil.example/" }, null],
            }),
        );
        const session = await Session.open(world.browser, server),
            { page } = session;
        await session.go("notes");
        assert.deepEqual((await textsOf(session)).sort(), ["deep", "go"]);
        for (const href of await page
            .locator(".notes a")
            .evaluateAll((all) => all.map((each) => each.getAttribute("href"))))
            assert.match(href, /^#\/(summary|flame)/);
        assert.equal(await page.evaluate(() => window.harm), undefined);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a single file saves its notes, and takes them back", async () => {
        const page_ = join(world.work, "noted.html");
        execFileSync(world.tidemark, ["html", "-o", page_, world.profiles.again], {
            stdio: "ignore",
        });
        const session = await Session.open(world.browser, { url: pathToFileURL(page_).href }),
            { page } = session;
        await session.go("notes");
        await write(session, hostile);
        assert.equal(await page.locator("[data-unsaved]").count(), 1);
        const saved = await session.saved(session.button("save a copy"));
        assert.match(saved.name, /\.notes$/);
        assert.equal(await page.locator("[data-unsaved]").count(), 0);
        const file = join(world.work, "saved.notes");
        writeFileSync(file, saved.text);
        await page.reload();
        await session.settle();
        assert.deepEqual(await textsOf(session), []);
        await page.setInputFiles("input[aria-label='File of notes']", file);
        await page.waitForSelector("[data-note]");
        assert.deepEqual(await textsOf(session), [hostile]);
        assert.equal(existsSync(`${world.profiles.again}.notes`), false);
        session.noErrors();
        await session.close();
    });
}
