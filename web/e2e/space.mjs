/* The map of the address space against `report --json`: widths, legend, what is zoomed and its address,
 * down to the pages of the heap. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);
const allocator = new Set(["heap", "anonymous"]);

export function testSpace(world) {
    test("the address space: picture, legend, table and address are the report's", async () => {
        const server = await serve(world.tidemark, [world.profiles.fragments]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const said = report(world.tidemark, world.profiles.fragments),
            { sample } = said.heap;
        const rows = said.mappings.filter((each) => each.sample === sample);
        const canvas = page.locator(".icicle canvas"),
            picture = page.locator(".icicle");
        for (const by of ["resident", "virtual"]) {
            await session.go("space", { opt: `by:${by}` });
            const whole = sum(rows.map((row) => row[`${by}_bytes`]));
            assert.match(
                await picture.getAttribute("aria-label"),
                new RegExp(`${exact(whole, "bytes")}$`),
            );
            const kinds = new Map();
            for (const row of rows) {
                const kind = allocator.has(row.kind) ? "heap and anonymous" : row.kind;
                kinds.set(kind, (kinds.get(kind) ?? 0) + row[`${by}_bytes`]);
            }
            assert.deepEqual(
                Object.fromEntries(
                    (await session.json("Parts of the address space")).map((row) => [
                        row.name,
                        row[`${by}_bytes`],
                    ]),
                ),
                Object.fromEntries(kinds),
            );
            const legend = await page
                .locator(".legend [data-tone]")
                .evaluateAll((all) => all.map((each) => each.title));
            assert.equal(
                sum(legend.map((title) => Number(title.replace(/[^0-9]/g, "")))),
                whole,
                "the legend adds up",
            );
            /* what is drawn: the second row, from the left, largest first */
            const { width } = await canvas.boundingBox();
            let left = 0;
            for (const [kind, bytes] of [...kinds].sort((a, b) => b[1] - a[1])) {
                const wide = (bytes / whole) * width;
                if (wide > 4) {
                    await canvas.hover({ position: { x: left + wide / 2, y: 27 } });
                    const tip = await page.locator(".tooltip").innerText();
                    assert.ok(tip.startsWith(kind), `${tip}, and not ${kind}`);
                    assert.ok(tip.includes(exact(bytes, "bytes")), `${tip}: ${bytes}`);
                }
                left += wide;
            }
        }
        await page.mouse.move(0, 0); /* nothing is pointed at */
        await session.accessible("address space");
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("the address space: by keys down to a page, which the address names; back again", async () => {
        const server = await serve(world.tidemark, [world.profiles.fragments]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const { heap } = report(world.tidemark, world.profiles.fragments);
        await session.go("space", { opt: "by:virtual" });
        const zoomed = async (name) => {
            await page
                .locator(".scroll[aria-label^='Parts of'] .row", {
                    has: page.getByText(name, { exact: true }),
                })
                .click();
            await page.keyboard.press("Enter");
            await session.settle();
        };
        await zoomed("heap and anonymous");
        await zoomed("the allocator's areas, by address");
        const areas = await session.json("Parts of the allocator's areas, by address");
        assert.equal(sum(areas.map((row) => row.virtual_bytes)), heap.cells * heap.cell_bytes);
        assert.equal(
            sum(areas.map((row) => row.resident_bytes)),
            heap.resident_cells * heap.cell_bytes,
        );
        assert.equal(sum(areas.map((row) => row.count)), heap.cells);
        await page.locator(".icicle").focus();
        for (let depth = 0; depth < 3; depth++) await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await session.settle();
        assert.match(
            await page.locator("[aria-label^='Parts of 0x']").getAttribute("aria-label"),
            /0x/,
        );
        const link = await session.state();
        await page.reload();
        await session.settle();
        assert.equal(await session.state(), link);
        assert.equal(await page.locator("[aria-label^='Parts of 0x']").count(), 1);
        await page.locator(".icicle").focus();
        await page.keyboard.press("Escape");
        await session.settle();

        assert.equal(await page.locator("[aria-label='Parts of the address space']").count(), 1);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a mapping that is chosen stands in the address, by its kind and file: after a reload and in another recording", async (t) => {
        const open = async (kind) => {
            const server = await serve(world.tidemark, [world.profiles[kind]]);
            t.after(() => server.stop());
            const session = await Session.open(world.browser, server);
            t.after(() => session.close());
            return session;
        };
        const session = await open("fragments"),
            other = await open("threads");
        const chosen = ({ page }, label) =>
            page
                .locator(`.scroll[aria-label="${label}"] [aria-selected=true]`)
                .evaluateAll((all) => all.map((each) => each.innerText));
        /* of both recordings one has the C library, and one alone its program */
        for (const [view, query, label] of [
            ["resident", { opt: "list:mappings" }, "Mappings"],
            ["space", { opt: "by:virtual" }, "Parts of text"],
        ])
            for (const [file, isThere] of [
                ["libc.so.6", true],
                ["web_fragments", false],
            ]) {
                await session.go(view, query);
                if (view === "space") {
                    const text = session.page.locator(".scroll[aria-label^='Parts of'] .row", {
                        has: session.page.getByText("text", { exact: true }),
                    });
                    await text.click();
                    await session.page.keyboard.press("Enter");
                    await session.settle();
                }
                await session.rows(label).filter({ hasText: file }).first().click();
                await session.settle();
                const [row] = await chosen(session, label),
                    link = await session.state();
                assert.ok(row.includes(file), row);
                await session.page.reload();
                await session.settle();
                assert.equal(await session.state(), link);
                assert.deepEqual(await chosen(session, label), [row], "the same after a reload");
                assert.equal(await session.page.locator("[data-gone]").count(), 0);

                await other.page.evaluate((hash) => void (location.hash = hash), link);
                await other.settle();
                const found = await chosen(other, label);
                assert.equal(found.length, +isThere, `${view} ${file}`);
                if (isThere) assert.ok(found[0].includes(file));
                else
                    assert.match(
                        await other.text("[data-gone]"),
                        /What this address chose is not there/,
                    );
                await other.accessible(`${view}: ${file}`);
            }
        session.noErrors();
        other.noErrors();
    });
}
