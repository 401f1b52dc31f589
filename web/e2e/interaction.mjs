/* What one can do: search, zoom, focus, ranges, sorting, keys, links, themes, what is saved. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { isFirefox } from "./serve.mjs";
import { exact, pictureOf, Session } from "./session.mjs";

const lineOf = async (text) =>
    (await readFile(new URL("../../tests/web/threads.cpp", import.meta.url), "utf8"))
        .split("\n")
        .findIndex((line) => line.includes(text)) + 1;
const hashOf = (hash) => new URLSearchParams(hash.split("?")[1] ?? "");

export function testInteraction(world) {
    const open = async (t, options) => {
        const session = await Session.open(world.browser, world.server, options);
        t.after(() => session.close());
        return session;
    };

    test("a link to a view that there is not leads to the summary, and the navigation says so", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("nowhere");
        assert.match(await page.locator(".main").innerText(), /What ran/);
        assert.equal(await page.locator("nav [aria-current=page]").innerText(), "Summary");
    });

    test("keys: / searches, Esc clears, ? helps, arrows and Enter walk a table", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("functions");
        const all = await session.rows("Functions").count();
        await page.keyboard.press("/");
        await page.keyboard.type("fill");
        await session.settle();
        await session.hasRows("Functions", 1);
        assert.match(await session.state(), /search=fill/);
        await page.keyboard.press("Escape");
        await session.settle();
        await session.hasRows("Functions", all);
        await session.go("functions", { search: "!function:fill" });
        await session.hasRows("Functions", all - 1);
        await session.go("functions");
        await page.keyboard.press("?");
        await page.waitForSelector("dialog[open]");
        for (const word of ["search", "Enter", "Esc"])
            assert.match(await page.locator("dialog").innerText(), new RegExp(word));
        await page.keyboard.press("Escape");
        await page.waitForFunction(() => !document.querySelector("dialog[open]"));
        await page.locator(".table .scroll").focus();
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("ArrowDown");
        await session.settle();
        const chosen = page.locator(".row[aria-selected=true]");
        assert.equal(await chosen.getAttribute("aria-rowindex"), "3");
        await page.keyboard.press("End");
        await page.keyboard.press("Home");
        await page.keyboard.press("Enter");
        await session.settle();
        assert.match(await session.state(), /^#\/flame\?.*fn=\d+/);
        session.noErrors();
    });

    test("without a mouse: Shift-F10 opens the menu of the selected row and of a frame, Esc gives the focus back", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("functions");
        const table = page.locator(".table .scroll");
        await table.focus();
        await page.keyboard.press("ArrowDown");
        assert.equal(
            await table.getAttribute("aria-activedescendant"),
            await page.locator(".row[aria-selected=true]").getAttribute("id"),
        );
        await page.keyboard.press("Shift+F10");
        await page.waitForSelector("[role=menu]");
        assert.equal(
            await page.evaluate(() => document.activeElement.textContent),
            "Focus on this function",
        );
        await page.keyboard.press("Tab");
        assert.equal(
            await page.evaluate(() => document.activeElement.textContent),
            "Flame graph through it",
        );
        await page.keyboard.press("Escape");
        await page.waitForSelector("[role=menu]", { state: "detached" });
        assert.equal(await page.evaluate(() => document.activeElement.className), "scroll");
        await session.go("flame");
        await page.locator(".icicle").focus();
        await page.keyboard.press("ArrowDown");
        assert.match(
            await page.locator("[aria-live=polite]").innerText(),
            /%/,
            "a frame is said, not only drawn",
        );
        await page.keyboard.press("Shift+F10");
        await page.getByRole("menuitem", { name: "Callers and callees" }).press("Enter");
        await session.settle();
        assert.match(await session.state(), /^#\/tree\?.*fn=\d+/);
        session.noErrors();
    });

    test("a menu and the help have the focus before the next key, however late the next frame is drawn", async (t) => {
        const session = await open(t),
            { page } = session;
        /* No frame is drawn between the key and the look: promises run before any frame. */
        const focusAfter = (selector, keys) =>
            page.evaluate(
                async ([selector, keys]) => {
                    const element = selector ? document.querySelector(selector) : document.body;
                    if (selector) element.focus();
                    for (const [key, shiftKey] of keys) {
                        document.activeElement.dispatchEvent(
                            new KeyboardEvent("keydown", {
                                key,
                                shiftKey,
                                bubbles: true,
                                cancelable: true,
                            }),
                        );
                        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
                    }
                    return document.activeElement.textContent;
                },
                [selector, keys],
            );
        await session.go("functions");
        assert.equal(
            await focusAfter(".table .scroll", [
                ["ArrowDown", false],
                ["F10", true],
            ]),
            "Focus on this function",
        );
        await page.keyboard.press("Escape");
        await session.go("flame");
        assert.equal(
            await focusAfter(".icicle", [
                ["ArrowDown", false],
                ["F10", true],
            ]),
            "Focus on this function",
        );
        assert.equal(
            await focusAfter("", [["ArrowDown", false]]),
            "Flame graph through it",
            "the next key is the menu's",
        );
        await page.evaluate(() =>
            document.activeElement.dispatchEvent(
                new KeyboardEvent("keydown", { key: "Escape", bubbles: true }),
            ),
        );
        assert.equal(await page.locator("[role=menu]").count(), 0);
        assert.equal(await focusAfter("", [["?", false]]), "Close");
        session.noErrors();
    });

    test("leaks of one allocating function are told apart by who called it", async (t) => {
        const session = await open(t);
        await session.go("leaks", { opt: "list:alive" });
        const rows = await session.json("Blocks alive at the end");
        assert.ok(
            rows.some((row) => row.callers.split(" ← ").length > 1),
            JSON.stringify(rows[0]),
        );
        session.noErrors();
    });

    test("the address holds the state; back undoes; a link shows the same", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("functions");
        await page
            .locator(".head select[aria-label=Metric], .head label select")
            .last()
            .selectOption("alloc_count");
        await page.getByRole("button", { name: "inclusive" }).click();
        await session.settle();
        const hash = await session.state();
        assert.equal(hashOf(hash).get("metric"), "alloc_count");
        assert.equal(hashOf(hash).get("inclusive"), "1");
        const before = await session.text(".main");
        await session.go("leaks", Object.fromEntries(hashOf(hash)));
        await session.back();
        assert.equal(await session.state(), hash);
        assert.equal(await session.text(".main"), before);
        const other = await session.page.context().newPage();
        await (await import("./serve.mjs")).useDist(other);
        await other.goto(session.base + hash);
        await other.waitForSelector(".row");
        await other.waitForFunction(
            (before) => document.querySelector(".main").innerText === before,
            before,
        );
        session.noErrors();
    });

    test("a table sorts by any column, and its CSV and JSON are what it shows", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("functions");
        await page
            .getByRole("columnheader", { name: /^allocations/ })
            .getByRole("button")
            .click();
        await session.settle();
        const rows = await session.json("Functions");
        for (let at = 1; at < rows.length; at++)
            assert.ok(rows[at - 1].alloc_count >= rows[at].alloc_count);
        await page
            .getByRole("columnheader", { name: /^allocations/ })
            .getByRole("button")
            .click();
        await session.settle();
        assert.deepEqual(
            (await session.json("Functions")).map((row) => row.alloc_count),
            rows.map((row) => row.alloc_count).reverse(),
        );
        const csv = await session.saved(page.getByRole("button", { name: "CSV", exact: true }));
        assert.equal(csv.name, "functions.csv");
        assert.equal(csv.text.trim().split("\n").length, rows.length + 1);
        session.noErrors();
    });

    test("a link's focus is found by its names, whatever number it has; what is gone is said", async (t) => {
        const session = await open(t),
            { page } = session;
        const gone = page.locator("[data-focus-gone]");
        const query = async () =>
            Object.fromEntries(
                new URLSearchParams((await session.state()).replace(/^[^?]*\?/, "")),
            );
        const look = async () => [
            await page.locator(".chips").innerText(),
            await page.locator(".icicle").getAttribute("aria-label"),
        ];
        await session.go("functions");
        await session.doubleClick(
            session.rows("Functions").filter({ hasText: "Table::fill" }).first(),
        );
        await session.settle();
        await page.waitForFunction(() => /[?&]at=/.test(location.hash));
        const link = await query(),
            shown = await look();
        assert.match(shown[0], /Table::fill/);
        /* as if the function had another number in the recording that the link came from */
        for (const fn of ["0", String(Number(link.fn) + 1), "999999"]) {
            await session.go("flame", { ...link, fn });
            await session.settle();
            assert.deepEqual(await query(), link);
            assert.deepEqual(await look(), shown, `fn=${fn}`);
            assert.equal(await gone.count(), 0);
        }
        /* a link of before there were names is taken as it is, and gets them */
        await session.go("flame", { fn: link.fn });
        await page.waitForFunction(() => /[?&]at=/.test(location.hash));
        assert.deepEqual(await query(), link);
        await session.go("flame", { ...link, at: "zzzzz~" });
        await gone.waitFor();
        assert.equal(await page.locator(".chips").count(), 0, "nothing else is shown for it");
        await session.go("functions");
        assert.equal(await gone.count(), 0);
        session.noErrors();
    });

    test("flame graph: search tells its total share, zoom, keys, focus, colours, saved files", async (t) => {
        const session = await open(t),
            { page } = session;
        const said = report(
            world.tidemark,
            world.profiles.threads,
            "--functions",
            "--inclusive",
            "--top",
            "1000",
        );
        const fill = said.functions.rows.find((row) => row.function === "Table::fill(int)")
            .inclusive.at_peak_bytes;
        await session.go("flame", { search: "Table::fill" });
        assert.equal(
            await page.locator("[data-found]").getAttribute("title"),
            exact(fill, "bytes"),
        );
        const other = said.program.at_peak_bytes - fill;
        for (const [words, bytes] of [
            ["function:table::(fill|none)\\(", fill],
            ["!Table::fill", other],
            ["!function:Table::fill", other],
            ["module:Table::fill", null],
        ]) {
            await session.go("flame", { search: words });
            assert.equal(
                await page.locator("[data-found]").getAttribute("title"),
                exact(bytes ?? 0, "bytes"),
                words,
            );
        }
        await session.go("flame");
        const box = page.locator(".icicle");
        await box.locator("canvas").hover({ position: { x: 40, y: 27 } });
        assert.match(await page.locator("[role=tooltip]").innerText(), /B\)?/);
        await box.locator("canvas").click({ position: { x: 40, y: 45 } });
        await session.settle();
        assert.match(decodeURIComponent(await session.state()), /zoom/);
        await box.focus();
        await page.keyboard.press("Escape");
        await session.settle();
        assert.doesNotMatch(decodeURIComponent(await session.state()), /zoom/);
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await session.settle();
        assert.match(decodeURIComponent(await session.state()), /zoom/);
        await session.go("flame");
        await box.locator("canvas").click({ button: "right", position: { x: 40, y: 27 } });
        await page.getByRole("menuitem", { name: "Focus on this function" }).click();
        await session.settle();
        assert.match(await session.state(), /fn=\d+/);
        assert.equal(await page.locator(".chips .chip").count(), 1);
        await page.locator(".chips button").first().click();
        await session.settle();
        assert.doesNotMatch(await session.state(), /fn=/);
        const svg = await session.saved(session.button("SVG"));
        assert.match(svg.text, /^<svg [\s\S]*Table::fill[\s\S]*<\/svg>$/);
        const png = await session.saved(session.button("PNG"), true);
        assert.equal(png.text.subarray(1, 4).toString("latin1"), "PNG");
        const csv = await session.saved(session.button("CSV"));
        assert.match(
            csv.text,
            /^frame,parent,depth,function,place,module,value,self\n0,,0,all,,,\d+/,
        );
        assert.match(csv.text, /Table::fill/);
        const plain = await pictureOf(box.locator("canvas"));
        await page.getByLabel("Colour").selectOption("life");
        await session.settle();
        await session.looksOther(box.locator("canvas"), plain);
        for (const name of ["inverted", "collapse recursion", "upwards"]) {
            await session.press(name);
            assert.equal(await session.button(name).getAttribute("aria-pressed"), "true", name);
        }
        session.noErrors();
    });

    test("collapsed recursion is one frame", async (t) => {
        const session = await open(t);
        const depth = async (query) => {
            await session.go("flame", query);
            const { text } = await session.saved(session.button("folded stacks"));
            return Math.max(
                ...text.split("\n").map((line) => line.split("descend(int)").length - 1),
            );
        };
        assert.equal(await depth({ metric: "alloc_bytes" }), 13);
        assert.equal(await depth({ metric: "alloc_bytes", collapse: "1" }), 1);
        session.noErrors();
    });

    test("call tree: the context menu focuses, leads to the source, hides and copies; the graph as PNG", async (t) => {
        const session = await open(t),
            { page } = session;
        if (!isFirefox)
            await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        const nodes = page.locator("g.node"),
            fill = nodes.filter({ hasText: "Table::fill" }).first();
        const choose = async (item) => {
            await session.go("tree");
            await fill.locator("text").first().click({ button: "right" });
            await page.getByRole("menuitem", { name: item }).click();
            await session.settle();
        };
        await choose("Focus on this function");
        const key = hashOf(await session.state()).get("fn");
        assert.ok(Number(key) >= 0);
        await choose("Source");
        assert.match(await session.state(), /^#\/source/);
        assert.match(await session.text(".split, .main"), /threads\.cpp/);
        await choose("Copy name");
        if (!isFirefox)
            assert.equal(
                await page.evaluate(() => navigator.clipboard.readText()),
                "Table::fill(int)",
            );
        await session.go("tree");
        const before = await nodes.count();
        await choose("Hide it here");
        const { opt } = Object.fromEntries(hashOf(await session.state())),
            hidden = opt.replace(/^hidden:/, "");
        assert.match(opt, /^hidden:[a-z0-9]+-[a-z0-9]+_[a-z0-9]+$/, "by its name and file");
        assert.equal(await page.locator(`#n${key}`).count(), 0);
        assert.ok((await nodes.count()) < before);
        assert.match(await session.text("[data-hidden]"), /1 hidden/);
        for (const [as, label] of [
            ["table", "inclusive"],
            ["down", "Call tree"],
        ]) {
            await session.go("tree", { opt: `as:${as},hidden:${hidden}` });
            assert.ok(
                !(await session.json(label)).some((row) =>
                    /Table::fill/.test(Object.values(row).join(" ")),
                ),
                as,
            );
        }
        await session.go("tree", { opt });
        await session.press("show again");
        assert.equal(await nodes.count(), before);
        const png = await session.saved(session.button("PNG"), true);
        assert.equal(png.text.subarray(1, 4).toString("latin1"), "PNG");
        assert.ok(png.text.length > 2000, "something is drawn");
        session.noErrors();
    });

    test("summary: the separate peaks are the report's; stacks: the deepest call path, from the inside out", async (t) => {
        const session = await open(t),
            { page } = session;
        const said = report(world.tidemark, world.profiles.threads);
        const rows = page.locator("table[aria-label='Separate peaks'] tr"),
            most = Math.max(...said.peaks.map((peak) => peak.bytes));
        /* the four highest, in order of time */
        /* From the higher one of its saddles, the lowest levels on the ways to higher peaks. */
        const prominence = (of) => {
            const saddles = said.peaks.flatMap((other, at) => {
                const isHigher = other.bytes > said.peaks[of].bytes;
                const way = said.peaks.slice(Math.min(at, of), Math.max(at, of));
                return isHigher ? [Math.min(...way.map((peak) => peak.valley_bytes))] : [];
            });
            return said.peaks[of].bytes - Math.max(0, ...saddles);
        };
        const notable = said.peaks.filter((_, at) => prominence(at) >= 0.1 * most),
            shown = [...notable].sort((a, b) => b.bytes - a.bytes).slice(0, 4);
        said.peaks = notable.filter((peak) => shown.includes(peak));
        assert.equal(await rows.count(), said.peaks.length);
        for (const [at, peak] of said.peaks.entries())
            assert.equal(
                await rows.nth(at).locator("td").first().getAttribute("title"),
                exact(peak.bytes, "bytes"),
            );
        const deep = said.threads.findIndex((each) => each.stack_deepest_path?.function);
        assert.ok(deep >= 0);
        await session.go("stacks", { thread: String(deep) });
        const frames = await page.locator("[data-deepest] li").allInnerTexts();
        assert.ok(
            frames.length > 5 &&
                frames.some((each) => each.startsWith("descend ")) &&
                frames.some((each) => each.startsWith("work ")),
            frames.join("; "),
        );
        assert.ok(
            frames.findIndex((each) => each.startsWith("descend ")) <
                frames.findIndex((each) => each.startsWith("work ")),
        );
        session.noErrors();
    });

    test("call tree: graph with calls, focus by double click, DOT and SVG, callers and callees, tree table", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("tree");
        await page.waitForSelector("g.node");
        const dot = await session.saved(session.button("DOT"));
        assert.match(dot.text, /digraph calls[\s\S]*work[\s\S]*->/);
        const svg = await session.saved(session.button("SVG"));
        assert.match(svg.text, /<svg/);
        await session.doubleClick(page.locator("g.node", { hasText: "Table::fill" }).first());
        await session.settle();
        assert.match(await session.state(), /fn=\d+/);
        await session.press("callers and callees");
        const callers = await session.json("by callers");
        assert.ok(
            callers.some((row) => /^work\(/.test(row.name)),
            JSON.stringify(callers),
        );
        await session.go("tree", { opt: "as:down" });
        const said = report(world.tidemark, world.profiles.threads);
        const rows = session.rows("Call tree");
        assert.equal(
            await rows.first().locator("[title]").first().getAttribute("title"),
            exact(said.program.at_peak_bytes, "bytes"),
        );
        const closed = await rows.count();
        await page.locator(".table .scroll").first().focus();
        await page.keyboard.press("Home");
        await page.keyboard.press("ArrowLeft");
        await session.settle();
        assert.equal(await rows.count(), 1, "closed");
        await page.keyboard.press("ArrowRight");
        await session.settle();
        assert.ok((await rows.count()) > 1 && closed > 1, "open");
        session.noErrors();
    });

    test("timeline: a brushed range holds for other views, and they say what it does there", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("timeline");
        const over = page.locator(".u-over").first(),
            area = await over.boundingBox();
        await page.mouse.move(area.x + area.width * 0.25, area.y + 60);
        await page.mouse.down();
        await page.mouse.move(area.x + area.width * 0.5, area.y + 60, { steps: 5 });
        await page.mouse.up();
        await session.settle();
        const range = hashOf(await session.state());
        assert.ok(
            Number(range.get("from")) > 0 && Number(range.get("to")) > Number(range.get("from")),
        );
        assert.match(await session.text(".chips"), /time/);
        await session.go("functions", { from: range.get("from"), to: range.get("to") });
        assert.match(await session.text(), /highest moment of this range/);
        const ranged = await session.json("Functions");
        assert.ok(ranged.some((row) => row.range_bytes > 0));
        await session.go("flame", { from: range.get("from"), to: range.get("to") });
        assert.match(await session.text(), /highest moment of this range/);
        await session.go("threads", { from: range.get("from"), to: range.get("to") });
        assert.match(await session.text(), /whole run/);
        await session.go("timeline", { from: range.get("from"), to: range.get("to") });
        const span = () =>
            session
                .state()
                .then((hash) => [
                    Number(hashOf(hash).get("from") ?? 0),
                    Number(hashOf(hash).get("to") ?? -1),
                ]);
        const [from, to] = await span();
        await page.getByRole("group", { name: /^Memory over time/ }).focus();
        await page.keyboard.press("ArrowLeft");
        await session.settle();
        const left = await span();
        assert.ok(
            left[0] < from && left[1] < to && Math.abs(left[1] - left[0] - (to - from)) <= 2,
            `${left} is left of ${from} ${to}, and as long`,
        );
        await page.mouse.move(area.x + area.width * 0.4, area.y + 60);
        await page.keyboard.down("Shift");
        await page.mouse.wheel(0, 40);
        await page.keyboard.up("Shift");
        await page.waitForFunction(
            (before) => location.hash !== before,
            await session
                .state()
                .then((hash) =>
                    hash.replace(/from=\d+/, `from=${left[0]}`).replace(/to=\d+/, `to=${left[1]}`),
                ),
        );
        assert.ok((await span())[0] > left[0], "the wheel moves to the right");
        await page.keyboard.press("0");
        await session.settle();
        assert.equal(hashOf(await session.state()).get("from"), null);
        await over.click({ position: { x: area.width * 0.6, y: 60 } });
        await session.settle();
        assert.match(await session.text(), /Who held memory at/);
        session.noErrors();
    });

    /* Until the suite's program says something of itself, what a server would say of it. */
    test("timeline: marks and regions; a region's time is a range for every view", async (t) => {
        const session = await open(t),
            { page } = session;
        const ms = 1e6,
            headers = { "Tidemark-Generation": "1" };
        const region = {
            name: "assemble",
            entered_count: 3,
            unended_count: 0,
            open_count: 0,
            time_ns: 5 * ms,
            first_ns: 2 * ms,
            last_ns: 9 * ms,
            peak_bytes: 4096,
            peak_ns: 3 * ms,
            left_bytes: 64,
            program_peak_bytes: 8192,
            program_peak_ns: 4 * ms,
            total: {
                alloc_bytes: 12000,
                realloc_bytes: 345,
                alloc_count: 60,
                realloc_count: 7,
            },
        };
        const mark = {
            time_ns: 4 * ms,
            kind: "mark",
            name: "matrix ready",
            tid: null,
            live_bytes: 777,
            live_count: 5,
        };
        await page.route("**/api/v1/p/0/summary", async (route) => {
            const response = await route.fetch(),
                json = await response.json();
            await route.fulfill({
                response,
                json: { ...json, resources: [...json.resources, "marks", "regions"] },
            });
        });
        await page.route("**/api/v1/p/0/marks", (route) =>
            route.fulfill({ headers, json: { marks: [mark] } }),
        );
        await page.route("**/api/v1/p/0/regions", (route) =>
            route.fulfill({ headers, json: { regions: [region] } }),
        );
        await page.reload();
        await session.go("timeline");
        assert.equal((await session.json("Marks"))[0].live_bytes, 777);
        assert.match(
            await session.text(".scroll[aria-label=Marks]"),
            /matrix ready[\s\S]*not known/,
        );
        const [asked] = await session.json("Regions");
        assert.deepEqual([asked.asked_bytes, asked.calls], [12345, 67]);
        await session.rows("Regions").first().click();
        await session.settle();
        const range = hashOf(await session.state());
        assert.deepEqual([range.get("from"), range.get("to")], [String(2 * ms), String(9 * ms)]);
        await session.accessible("marks and regions");
        session.noErrors();
    });

    test("source: a line has all metrics, its call stacks, sizes and lifetimes", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("source", {
            file: "threads.cpp",
            line: String(await lineOf("realloc(block, size)")),
            metric: "alloc_bytes",
        });
        const text = await session.text();
        assert.match(text, /Line \d+/);
        assert.match(text, /call paths? leads? here/);
        assert.match(text, /work/);
        assert.ok(await page.locator("[data-metric=realloc_count]").getAttribute("title"));
        assert.match(await page.locator("[data-sizes]").innerText(), /64 B/);
        assert.equal(
            await page.evaluate(
                () =>
                    document.querySelector(".source-text").shadowRoot.querySelectorAll(".cm-line")
                        .length > 10,
            ),
            true,
        );
        await session.press("functions");
        await page.keyboard.press("/");
        await page.keyboard.type("lose");
        await session.settle();
        await session.hasRows("Functions", 1);
        await session.rows("Functions").first().click();
        await session.settle();
        session.noErrors();
    });

    test("sizes: a click on a cell names the call paths; realloc: moved and in place", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("sizes");
        const canvas = page.locator("canvas[aria-label='Distribution of sizes']"),
            area = await canvas.boundingBox();
        for (let x = 70; x < area.width && !/cell/.test(await session.state()); x += 30)
            await canvas.click({ position: { x, y: area.height - 25 } });
        await session.settle();
        assert.match(await session.text(), /Call paths that ask for/);
        session.noErrors();
    });

    test("leaks: suppressions hide call paths, and can be saved; LeakSanitizer's and valgrind's", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("leaks", { opt: "list:alive" });
        const all = (await session.json("Blocks alive at the end")).length;
        await session.press("suppressions (0)");
        await page.getByLabel("Suppressions").fill("leak:lose\n");
        await session.settle();
        const left = await session.json("Blocks alive at the end");
        assert.ok(left.length < all && !left.some((row) => /lose/.test(row.function)));
        const saved = await session.saved(session.button("Download"));
        assert.equal(saved.text, "leak:lose\n");
        await page
            .getByLabel("Suppressions")
            .fill(
                "{\n  mine\n  Memcheck:Leak\n  match-leak-kinds: all\n  ...\n  fun:_Z4losev\n}\n",
            );
        await session.settle();
        await page
            .getByLabel("Suppressions")
            .fill("{\n  mine\n  Memcheck:Leak\n  ...\n  fun:lose*\n}\n");
        await session.settle();
        assert.ok((await session.json("Blocks alive at the end")).length < all);
        await session.go("leaks");
        assert.equal(await session.rows("Lost blocks by call path").count(), 0, "islands too");
        await page.getByLabel("Suppressions").fill("nonsense");
        await session.settle();
        assert.match(await session.text(), /line 1: neither/);
        session.noErrors();
    });

    test("globals: the treemap by module, file and section; resident: looks and mappings; threads: a thread's calls", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("globals");
        const canvas = page.locator(".card canvas").first();
        const picture = await pictureOf(canvas);
        await page.getByLabel("Grouped by").selectOption("file");
        await session.settle();
        await session.looksOther(canvas, picture);
        await session.go("resident", { opt: "list:paths" });
        await page.getByLabel("Look").selectOption({ index: 0 });
        await session.settle();
        await session.press("mappings");
        assert.ok((await session.json("Mappings")).length > 0);
        await session.go("threads");
        await session.rows("Threads").first().click();
        await session.settle();
        assert.match(await session.state(), /thread=\d/);
        assert.match(await session.text(".split"), /operator new/);
        /* names of threads are there whole, from the left edge of the matrix on */
        const matrix = page.locator(".card", { hasText: "Blocks freed by another thread" });
        const { text } = await session.saved(matrix.getByRole("button", { name: "SVG" }));
        const names = await page.evaluate((svg) => {
            const context = document.createElement("canvas").getContext("2d");
            context.font = "11px sans-serif";
            return [
                ...new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll("text"),
            ]
                .filter((each) => each.getAttribute("text-anchor") === "end")
                .map((each) => [
                    each.textContent,
                    Number(each.getAttribute("x")) - context.measureText(each.textContent).width,
                ]);
        }, text);
        assert.ok(names.length > 1);
        /* a thread that ended before anybody read its name has a number only */
        const labels = report(world.tidemark, world.profiles.threads).threads.map((each) =>
            `${each.name ?? ""} ${each.tid}`.trim(),
        );
        for (const [name, left] of names) {
            assert.ok(labels.includes(name), `${name} of ${labels}`);
            assert.ok(left >= 0, `${name} begins at ${left}`);
        }
        session.noErrors();
    });

    test("compare: the difference of two runs by function, as flame graph, over time; normalised", async (t) => {
        const session = await open(t),
            { page } = session;
        await session.go("compare", { other: "1", metric: "alloc_count", opt: "same:1" });
        const a = report(world.tidemark, world.profiles.threads).program.alloc_count,
            b = report(world.tidemark, world.profiles.again).program.alloc_count;
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "before" }).getAttribute("title"),
            exact(a, "count"),
        );
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "after" }).getAttribute("title"),
            exact(b, "count"),
        );
        const rows = await session.json("Functions before and after");
        assert.equal(
            rows.reduce((total, row) => total + row.before, 0),
            a,
        );
        await session.press("flame graph");
        assert.match((await session.saved(session.button("SVG"))).text, /<svg/);
        await session.press("over time");
        await page.getByLabel("Normalised").selectOption("count");
        await session.settle();
        assert.match(await session.text(), /after ×/);
        session.noErrors();
    });

    test("light and dark: by hand, and kept", async (t) => {
        const session = await open(t),
            { page } = session;
        const now = () => page.evaluate(() => document.documentElement.dataset.theme);
        assert.equal(await now(), "light");
        await page.getByRole("button", { name: "Light or dark" }).click();
        assert.equal(await now(), "dark");
        await page.reload();
        await session.settle();
        assert.equal(await now(), "dark");
        session.noErrors();
    });

    test("charts are saved as PNG, SVG and CSV", async (t) => {
        const session = await open(t),
            { page } = session;
        for (const [view, title] of [
            ["summary", "Memory over time"],
            ["summary", "Where resident memory is"],
            ["timeline", "Levels"],
            ["sizes", "Sizes asked for"],
            ["sizes", "Size × lifetime"],
            ["globals", "Variables by"],
        ]) {
            await session.go(view);
            await page.reload(); /* Chromium asks before a page's eleventh download. */
            await session.settle();
            const card = page.locator(".card", { hasText: title }).first();
            const svg = await session.saved(card.getByRole("button", { name: "SVG", exact: true }));
            assert.match(
                svg.text,
                /^<svg [\s\S]*<(rect|path)[\s\S]*<\/svg>\s*$/,
                `${view} ${title}`,
            );
            const png = await session.saved(
                card.getByRole("button", { name: "PNG", exact: true }),
                true,
            );
            assert.equal(png.text.subarray(1, 4).toString("latin1"), "PNG");
            assert.ok(
                (
                    await session.saved(card.getByRole("button", { name: "CSV", exact: true }))
                ).text.split("\n").length > 2,
            );
        }
        session.noErrors();
    });
}
