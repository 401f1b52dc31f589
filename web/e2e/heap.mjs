/* The map of the heap, of a program whose pages are known: 600 with a block of 48 bytes on each. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { join } from "node:path";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, pictureOf, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

export function testHeap(world) {
    test("the page map shows who pins which page, by mouse and by keys, and saves it", async () => {
        const { fragments, again } = world.profiles;
        const server = await serve(world.tidemark, [fragments, again]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const said = report(world.tidemark, fragments),
            last = said.samples.findLast((each) => each.ledger);
        await session.go("resident");
        await session.press("page map");
        await session.accessible("page map");

        /* in numbers: those of the report, and of what the program did */
        const legend = await page
            .locator(".legend > span[title]")
            .evaluateAll((parts) => parts.map((part) => Number(part.title.replaceAll(",", ""))));
        const { heap } = said;
        assert.deepEqual(legend, [
            heap.cells - heap.resident_cells,
            heap.empty,
            heap.under_25,
            heap.under_50,
            heap.under_75,
            heap.under_100,
            heap.full,
        ]);
        assert.ok(heap.under_25 >= 600);
        const row = page
            .locator(".card", { hasText: "Who pins pages" })
            .locator("tbody tr")
            .first();
        assert.match(await row.innerText(), /make_note/);
        const cells = Number(
            (await row.locator("td").first().getAttribute("title")).replaceAll(",", ""),
        );
        assert.ok(cells >= 599 && cells <= 602, `${cells} pages`);

        const { text } = await session.saved(session.button("CSV"));
        const lines = text
            .trim()
            .split("\n")
            .slice(1)
            .map((line) => line.split(","));
        assert.equal(lines.length, heap.cells);
        assert.equal(sum(lines.map((line) => Number(line[5]))), last.pinned_bytes);
        const notes = lines.filter(
            (line) => line[6] === "make_note",
        ).length; /* the last one has a call of its own */
        assert.ok(notes === cells || notes === cells + 1, `${notes} pages`);
        const png = await session.saved(session.button("PNG"), true);
        assert.equal(png.text.readUInt32BE(0), 0x89504e47);

        /* a click on the picture: the first cell stands below the first heading */
        const canvas = page.locator(".chart canvas");
        await canvas.click({ position: { x: 4, y: 20 } });
        await session.settle();
        assert.match(await session.text("[data-cell='0']"), new RegExp(`${lines[0][0]}`));
        /* keys: on to one that is pinned */
        await row.getByRole("button").click();
        await session.settle();
        const words = page.locator("[data-cell]"),
            first = Number(await words.getAttribute("data-cell"));
        assert.match(
            await words.innerText(),
            /cannot go back, mostly for make_note .* which pins .* in all/s,
        );
        const all = said.residency
            .filter((each) => each.sample === last.sample && each.function === "make_note")
            .sort((a, b) => b.pinned_bytes - a.pinned_bytes)[0];
        assert.equal(
            await words.locator("b[title]").last().getAttribute("title"),
            exact(all.pinned_bytes, "bytes"),
        );
        const before = await pictureOf(canvas);
        await page.getByRole("group", { name: /^Map of the heap/ }).press("ArrowRight");
        await session.settle();
        assert.equal(Number(await words.getAttribute("data-cell")), first + 1);
        await session.looksOther(canvas, before);
        if (process.env.PICTURES)
            await page.screenshot({ path: join(process.env.PICTURES, "heap.png") });

        /* the link is the call path in focus */
        await words.getByRole("link").click();
        await session.settle();
        assert.match(await session.state(), /^#\/flame\?.*node=\d+/);

        /* one that was not looked at has none; nor has a page that has none to show */
        await session.go("resident", { profile: "1", opt: "list:heap" });
        assert.match(await session.text(".view"), /was not looked at/);
        session.noErrors();
        await session.close();
        await server.stop();
        const file = join(world.work, "heap.html");
        execFileSync(world.tidemark, ["html", "-o", file, fragments], { stdio: "ignore" });
        const alone = await Session.open(world.browser, { url: `file://${file}` });
        await alone.page.evaluate(() => {
            location.hash = "#/resident?opt=list:heap";
        });
        await alone.settle();
        assert.match(await alone.text(".view"), /Who pins pages/);
        alone.noErrors();
        await alone.close();
    });
}
