/* Every view opens on every profile, says nothing wrong on the console, and can be read by all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { colorSchemes, serve, withoutPaper } from "./serve.mjs";
import { Session } from "./session.mjs";

export const views = [
    "summary",
    "timeline",
    "growth",
    "functions",
    "flame",
    "tree",
    "source",
    "sizes",
    "realloc",
    "threads",
    "stacks",
    "globals",
    "resident",
    "space",
    "leaks",
    "held",
    "heat",
    "sql",
    "jobs",
    "compare",
    "notes",
];

/* Variants of views that look quite different. */
const variants = [
    ["flame", { opt: "inverted:1" }],
    ["flame", { opt: "colour:life" }],
    ["tree", { opt: "as:table" }],
    ["tree", { opt: "as:down" }],
    ["source", { opt: "list:functions" }],
    ["resident", { opt: "list:mappings" }],
    ["resident", { opt: "list:heap" }],
    ["space", { opt: "by:virtual" }],
    ["sizes", { opt: "by:bytes" }],
    ["growth", { from: "1000000", to: "9000000" }],
    ["growth", { from: "1000000", opt: "as:flame" }],
    ["growth", { opt: "as:looks" }],
    ["compare", { other: "1" }],
    ["compare", { other: "1", opt: "as:flame" }],
    ["compare", { other: "1", opt: "as:time" }],
    ["timeline", { opt: "at:1000000", from: "1000000", to: "9000000" }],
    ["functions", { from: "1000000", to: "9000000" }],
];

/* What of axe's rules another colour scheme can break: the document is the same. */
const ofColours = ["color-contrast", "link-in-text-block"];

/* What of the head, of facts and of tables' names nobody can see; and whether the view's own link
 * can be seen. */
const offTheSide = (page) =>
    page.evaluate(() => {
        const inSight = (each) =>
            each.getBoundingClientRect().right <= innerWidth + 1 &&
            each.getBoundingClientRect().left >= -1;
        const narrow = (each) => each.getBoundingClientRect().width < 90;
        const names = [
            ...document.querySelectorAll(".table .row:first-of-type [role=gridcell]:not(.number)"),
        ].slice(0, 1);
        return [
            ...[
                ...document.querySelectorAll(
                    ".head button, .head input, .head select, .nav [aria-current]",
                ),
            ].filter((each) => !inSight(each)),
            ...[...document.querySelectorAll("dl.facts dd")].filter(narrow),
            ...names.filter((each) => each.getBoundingClientRect().left + 40 > innerWidth),
        ].map((each) => each.outerHTML.slice(0, 120));
    });

export function testViews(world) {
    test("each view opens, light and dark, without errors and serious findings of axe", async () => {
        const session = await Session.open(world.browser, world.server);
        for (const colorScheme of colorSchemes) {
            await session.page.emulateMedia({ colorScheme });
            for (const [view, query] of [...views.map((view) => [view, {}]), ...variants]) {
                const where = `${view} ${JSON.stringify(query)}, ${colorScheme}`;
                await session.go(view, query);
                assert.equal(await session.page.locator(".main > [role=alert]").count(), 0, where);
                assert.ok(
                    (await session.text(".view")).trim().length > 0,
                    `${where} says something`,
                );
                await session.accessible(where, colorScheme === colorSchemes[0] ? null : ofColours);
                assert.deepEqual(session.errors.splice(0), [], where);
            }
        }
        await session.close();
    });

    for (const kind of ["empty", "fortran", "compiler"])
        test(`each view opens on the profile “${kind}”`, async (t) => {
            if (!world.profiles[kind]) return t.skip("the compiler for it is not here");
            const server = await serve(world.tidemark, [world.profiles[kind]]);
            const session = await Session.open(world.browser, server);
            for (const view of views) {
                await session.go(view);
                assert.ok(
                    (await session.text(".view")).trim().length > 0,
                    `${view} says something`,
                );
                assert.deepEqual(session.errors.splice(0), [], view);
            }
            await session.close();
            await server.stop();
        });

    test("of two profiles that are served, Compare shows one beside the other", async () => {
        const session = await Session.open(world.browser, world.server);
        for (const [profile, other] of [
            ["0", "1"],
            ["1", "0"],
        ]) {
            await session.go("compare", { profile });
            await session.page.waitForFunction(
                (at) => document.querySelector("[aria-label=After]")?.value === at,
                other,
            );
        }
        assert.deepEqual(session.errors.splice(0), []);
        await session.close();
    });

    test("nothing is cut off at the side, on a small screen and on a 4K one", async () => {
        for (const viewport of [
            { width: 390, height: 844 },
            { width: 720, height: 450 },
            { width: 1280, height: 720 },
            { width: 3840, height: 2160 },
        ]) {
            const session = await Session.open(world.browser, world.server, { viewport });
            for (const view of views) {
                await session.go(view);
                const over = await session.page.evaluate(() => {
                    const main = document.querySelector(".main");
                    const cut = [
                        ...document.querySelectorAll(
                            ".table .header .cell > button, .table .header .cell:not(:has(button))",
                        ),
                    ]
                        .filter(
                            (each) =>
                                each.scrollWidth > each.clientWidth + 1 ||
                                each.scrollHeight > each.clientHeight + 4,
                        )
                        .map((each) => each.textContent);
                    return {
                        page:
                            document.documentElement.scrollWidth -
                            document.documentElement.clientWidth,
                        main: main.scrollWidth - main.clientWidth,
                        cut,
                    };
                });
                const where = `${view} at ${viewport.width} × ${viewport.height}`;
                assert.deepEqual(over, { page: 0, main: 0, cut: [] }, where);
                assert.deepEqual(await offTheSide(session.page), [], where);
            }
            await session.close();
        }
    });

    test(
        "on paper a view is whole, light, and without buttons",
        { skip: withoutPaper },
        async () => {
            const session = await Session.open(world.browser, world.server, {
                colorScheme: "dark",
            });
            const { page } = session;
            await page.emulateMedia({ media: "print", colorScheme: "dark" });
            await session.go("summary");
            assert.equal(await page.locator("nav").isVisible(), false);
            assert.equal(
                await page.locator(".head button:visible, .head input:visible").count(),
                0,
            );
            assert.match(
                await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
                /rgb\(255, 255, 255\)/,
            );
            const cut = await page.evaluate(
                () =>
                    document.querySelector(".main").scrollHeight -
                    document.querySelector(".main").clientHeight,
            );
            assert.equal(cut, 0);
            assert.ok(
                await page.evaluate(() => document.documentElement.scrollHeight > innerHeight),
                "all of it is on the pages",
            );
            session.noErrors();
            await session.close();
        },
    );

    test(
        "what canvases show is light on paper, and then dark again",
        { skip: withoutPaper },
        async () => {
            const session = await Session.open(world.browser, world.server, {
                colorScheme: "dark",
            });
            const { page } = session;
            /* the mean of all pixels that were drawn on, 0 to 255, of the largest canvas; as it is when
             * the browser prints */
            await page.evaluate(() => {
                window.pixels = (canvas, width = canvas.width) => {
                    /* by a copy: who reads from a canvas makes it slow, and the browser says so */
                    const copy = new OffscreenCanvas(width, canvas.height).getContext("2d", {
                        willReadFrequently: true,
                    });
                    copy.drawImage(canvas, 0, 0);
                    return copy.getImageData(0, 0, width, canvas.height).data;
                };
                window.brightness = () => {
                    const canvas = [...document.querySelectorAll(".main canvas")].sort(
                        (a, b) => b.width * b.height - a.width * a.height,
                    )[0];
                    const data = window.pixels(canvas);
                    let sum = 0,
                        drawn = 0;
                    for (let at = 0; at < data.length; at += 4)
                        if (data[at + 3] === 255) {
                            sum += (data[at] + data[at + 1] + data[at + 2]) / 3;
                            drawn++;
                        }
                    return drawn ? sum / drawn : NaN;
                };
                addEventListener("beforeprint", () =>
                    queueMicrotask(() => {
                        window.onPaper = window.brightness();
                    }),
                );
            });
            for (const [view, query] of [
                ["flame", {}],
                ["flame", { opt: "colour:life" }],
                ["resident", { opt: "list:heap" }],
                ["summary", {}],
            ]) {
                await session.go(view, query);
                await page.evaluate(() => {
                    window.onPaper = NaN;
                });
                const before = await page.evaluate(() => window.brightness());
                await page.pdf();
                const [printed, after] = await page.evaluate(() => [
                    window.onPaper,
                    window.brightness(),
                ]);
                await page.emulateMedia({ colorScheme: "light" });
                await page.waitForFunction((dark) => window.brightness() !== dark, before);
                const light = await page.evaluate(() => window.brightness());
                await page.emulateMedia({ colorScheme: "dark" });
                await page.waitForFunction((dark) => window.brightness() === dark, before);
                const where = `${view} ${JSON.stringify(query)}: ${before}, printed ${printed}, ${after}, light ${light}`;
                assert.ok(
                    Math.abs(light - before) > 5,
                    where,
                ); /* else the figures would say nothing */
                assert.ok(Math.abs(printed - light) < Math.abs(printed - before) / 4, where);
                assert.equal(after, before, where);
            }
            await session.go("timeline"); /* a plot has no ground of its own: by its letters */
            const ink = () =>
                page.evaluate(() => {
                    const data = window.pixels(
                        document.querySelector(".uplot canvas"),
                        70 * devicePixelRatio,
                    );
                    let sum = 0,
                        drawn = 0;
                    for (let at = 0; at < data.length; at += 4)
                        if (data[at + 3] > 128) {
                            sum += data[at];
                            drawn++;
                        }
                    return sum / drawn;
                });
            const dark = await ink();
            await page.emulateMedia({ media: "print", colorScheme: "dark" });
            await session.settle();
            const printed = await ink();
            await page.emulateMedia({ media: "screen", colorScheme: "dark" });
            await session.settle();
            assert.ok(
                dark > 150 && printed < 100,
                `letters at the axis: ${dark}, printed ${printed}`,
            );
            assert.equal(await ink(), dark);
            session.noErrors();
            await session.close();
        },
    );
}
