/* The page of `tidemark viewer`: the same readers as WebAssembly, the same bytes as the server's, and
 * no network. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const wasm = join(here, "../dist/viewer.wasm");
const golden = join(here, "../../tests/golden");
export const withoutViewer = !existsSync(wasm) && "clang or wasi-libc is not here: no viewer";

async function readerClass() {
    const { outputFiles } = await build({
        entryPoints: [join(here, "../src/data/reader.ts")],
        bundle: true,
        format: "esm",
        write: false,
    });
    const url = `data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`;
    return (await import(url)).Reader;
}

/* All that a summary says can be asked for: of the profile, its regions and its levels. */
function* named(summary, regions) {
    for (const name of summary.resources) if (name !== "region") yield name;
    for (let i = 0; i < regions; i++) yield `region/${i}/summary`;
    for (const level of summary.levels) yield `of/${level}/summary`;
}

/* Every resource that the server has of the file, from the reader as well. How many there were. */
async function isAsServed(world, Reader, module, file) {
    const server = await serve(world.tidemark, [file], ["--no-token"]);
    const reader = new Reader(module, basename(file), new Uint8Array(readFileSync(file)));
    const number = reader.open(reader.list()[0].file);
    const served = async (name) => {
        const answer = await fetch(new URL(`/api/v1/p/0/${name}`, server.url));
        const body = Buffer.from(await answer.arrayBuffer());
        assert.equal(answer.status, 200, `${basename(file)}: ${name}: ${body}`);
        return body;
    };
    let count = 0;
    const compare = async (name) => {
        const theirs = await served(name);
        const ours = Buffer.from(reader.make(number, name));
        const at = ours.findIndex((byte, place) => byte !== theirs[place]);
        const near = (bytes) => bytes.subarray(Math.max(0, at - 60), at + 60).toString("latin1");
        assert.ok(
            ours.equals(theirs),
            `${basename(file)}: ${name}: ${near(ours)} | ${near(theirs)}`,
        );
        count++;
        return theirs;
    };
    const summary = JSON.parse(await compare("summary"));
    const regions = summary.resources.includes("regions")
        ? JSON.parse(await compare("regions")).regions.length
        : 0;
    for (const name of named(summary, Math.min(regions, 3))) {
        const said = await compare(name);
        if (/^(region|of)\//.test(name))
            for (const other of JSON.parse(said).resources)
                await compare(name.replace("summary", other));
    }
    await server.stop();
    return count;
}

/* A page from disk, and what it asked the network for. */
async function openPage(world) {
    const file = join(world.work, "viewer.html");
    execFileSync(world.tidemark, ["viewer", "--force", "-o", file], { stdio: "ignore" });
    const context = await world.browser.newContext({
        viewport: { width: 1280, height: 720 },
        acceptDownloads: true,
    });
    const page = await context.newPage(),
        asked = [];
    await page.route("**", (route) => {
        const url = route.request().url();
        if (/^(file|blob|data):/.test(url)) return route.continue();
        asked.push(url);
        return route.abort();
    });
    const session = new Session(page, pathToFileURL(file).href);
    await page.goto(session.base);
    await page.waitForSelector(".drop");
    return { session, page, context, asked };
}

export function testViewer(world) {
    test(
        "the readers in WebAssembly give the server's bytes",
        { skip: withoutViewer },
        async () => {
            const Reader = await readerClass(),
                module = new WebAssembly.Module(readFileSync(wasm));
            const {
                threads,
                again,
                regions,
                levels,
                held,
                many,
                hostile,
                sampled,
                empty,
                nameless,
            } = world.profiles;
            const old = readdirSync(golden)
                .filter((name) => name.endsWith(".tmk"))
                .map((name) => join(golden, name))
                .filter((file) => spawnSync(world.tidemark, ["report", file]).status === 0);
            assert.ok(old.length > 3, "files of earlier versions");
            for (const file of [
                ...[threads, again, regions, levels, held, hostile, sampled, empty, nameless],
                ...old.filter((file) => !file.includes("session")),
            ])
                assert.ok((await isAsServed(world, Reader, module, file)) > 10, file);
        },
    );

    test(
        "a dropped file has every view, and says the report's numbers",
        { skip: withoutViewer },
        async () => {
            const { session, page, context, asked } = await openPage(world);
            const { threads, again } = world.profiles;
            await page.setInputFiles(".drop input[type=file]", [threads, again]);
            await session.settle();
            const said = report(world.tidemark, threads);
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
                (await session.json("Functions")).reduce(
                    (total, row) => total + row.at_peak_bytes,
                    0,
                ),
                said.program.at_peak_bytes,
            );
            await session.go("tree");
            await page.waitForSelector("g.node");
            await session.go("compare", { other: "1" });
            assert.match(await session.text(), /after/);
            session.noErrors();
            assert.deepEqual(asked, []);
            await context.close();
        },
    );

    test(
        "what is dropped: many at once, what is no profile, one more later",
        { skip: withoutViewer },
        async () => {
            const { session, page, context } = await openPage(world);
            const { threads, again, trace } = world.profiles;
            const cut = join(world.work, "<b>cut.tmk"),
                whole = readFileSync(threads);
            writeFileSync(cut, whole.subarray(0, 100));
            await page.setInputFiles(".drop input[type=file]", [
                cut,
                trace,
                join(here, "viewer.mjs"),
            ]);
            await page.waitForSelector("[data-refused]");
            const refused = await page.locator("[data-refused] p").allInnerTexts();
            assert.equal(refused.length, 3);
            assert.match(refused[0], /<b>cut\.tmk is damaged/);
            assert.match(refused[1], /is a trace, not a profile/);
            assert.match(refused[2], /is no tidemark profile/);
            /* by a gesture, as a person would */
            const transfer = await page.evaluateHandle(
                async ([name, bytes]) => {
                    const data = new DataTransfer();
                    data.items.add(
                        new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], name),
                    );
                    return data;
                },
                ["again.tmk", readFileSync(again).toString("base64")],
            );
            await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
            await page.waitForSelector(".drop.over");
            await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
            await session.settle();
            assert.equal(
                await session.fact("Peak of live blocks").getAttribute("title"),
                exact(report(world.tidemark, again).program.peak_bytes, "bytes"),
            );
            const more = await page.evaluateHandle(
                async ([name, bytes]) => {
                    const data = new DataTransfer();
                    data.items.add(
                        new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], name),
                    );
                    return data;
                },
                ["threads.tmk", whole.toString("base64")],
            );
            await page.dispatchEvent("body", "drop", { dataTransfer: more });
            await page.waitForSelector("select[aria-label=Profile]");
            await session.settle();
            assert.equal(
                await session.fact("Peak of live blocks").getAttribute("title"),
                exact(report(world.tidemark, threads).program.peak_bytes, "bytes"),
            );
            session.noErrors();
            await context.close();
        },
    );

    test(
        "SQL: rows as `tidemark query` has them, refused where they would do more than read",
        { skip: withoutViewer },
        async () => {
            const { session, page, context } = await openPage(world);
            const { threads, again } = world.profiles;
            await page.setInputFiles(".drop input[type=file]", [threads, again]);
            await session.settle();
            for (const [profile, file] of [threads, again].entries()) {
                await session.go("sql", { profile });
                assert.match(
                    await page.locator("pre.tables").textContent(),
                    /functions\s+functions as the report/,
                );
                const sql =
                    "SELECT function, at_peak_bytes, file FROM functions ORDER BY 2 DESC, 1";
                await page.fill("textarea.sql", sql);
                await page.press("textarea.sql", "Control+Enter");
                await session.settle();
                const rows = JSON.parse(
                    execFileSync(world.tidemark, ["query", "-f", "json", file, sql], {
                        encoding: "utf8",
                    }),
                );
                assert.ok(rows.length > 2);
                assert.deepEqual(
                    (await session.json("Rows")).map((row) => Object.values(row)),
                    rows.map((row) => [row.function, row.at_peak_bytes, row.file]),
                );
                assert.equal(
                    await page.locator("canvas[aria-label='at_peak_bytes by function']").count(),
                    1,
                );
            }
            for (const [sql, why] of [
                ["DROP TABLE site", /does more than read/],
                ["SELECT missing FROM functions", /no such column: missing/],
            ]) {
                await page.fill("textarea.sql", sql);
                await session.press("run");
                assert.match(await page.locator(".main [role=alert]").innerText(), why);
                assert.equal(await page.locator("[aria-label=Rows]").count(), 0);
            }
            await session.go("functions");
            assert.ok((await session.json("Functions")).length > 2);
            session.noErrors();
            await context.close();
        },
    );

    test(
        "a session file: each of its processes can be chosen",
        { skip: withoutViewer },
        async () => {
            const { session, page, context } = await openPage(world);
            const made = join(world.work, "many");
            spawnSync("mkdir", [made]);
            execFileSync(
                world.tidemark,
                [
                    "record",
                    "-q",
                    "-o",
                    join(made, "sh.tmk"),
                    "sh",
                    "-c",
                    "true; /bin/true; /bin/echo; :",
                ],
                { stdio: "ignore" },
            );
            const file = readdirSync(made).find((name) => name.endsWith(".session.tmk"));
            assert.ok(file, "small processes are rows of one file");
            await page.setInputFiles(".drop input[type=file]", join(made, file));
            await session.settle();
            const choices = await page.locator("select[aria-label=Profile] option").allInnerTexts();
            assert.equal(choices.filter((name) => /^(true|echo) \(\d+\)$/.test(name)).length, 2);
            await page.selectOption("select[aria-label=Profile]", { index: 1 });
            await session.settle();
            const pid = /\((\d+)\)/.exec(choices[1])[1];
            const said = report(world.tidemark, `${join(made, file)}@${pid}`);
            assert.equal(
                await session.fact("Allocations").getAttribute("title"),
                exact(said.program.alloc_count, "count"),
            );
            session.noErrors();
            await context.close();
        },
    );
}
