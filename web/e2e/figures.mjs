/* Numbers on screen are those of `tidemark report --json`. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

async function rowTitles(session, label, columns) {
    return session
        .rows(label)
        .evaluateAll(
            (rows, count) =>
                rows.map((row) =>
                    [...row.children]
                        .slice(0, count)
                        .map(
                            (cell) =>
                                cell.title ||
                                cell.querySelector("[title]")?.title ||
                                cell.textContent,
                        ),
                ),
            columns,
        );
}

const metrics = ["at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count", "temporary_count"];

async function sameFunctions(session, world, file, query, options, which) {
    const said = report(world.tidemark, file, "--functions", "--top", "1000000", ...options);
    await session.go("functions", query);
    const rows = await session.json("Functions");
    /* functions of one name (static ones of several files) together */
    const gather = (list, key, values) => {
        const sums = new Map();
        for (const each of list) {
            const known = sums.get(key(each)) ?? metrics.map(() => 0);
            sums.set(
                key(each),
                metrics.map((metric, at) => known[at] + values(each)[metric]),
            );
        }
        return [...sums]
            .filter(([, of]) => of.some(Boolean))
            .sort((a, b) => (a[0] < b[0] ? -1 : 1));
    };
    assert.deepEqual(
        gather(
            rows.filter((row) => !row.function.startsWith("[")),
            (row) => `${row.function}|${row.module}`,
            (row) => row,
        ),
        gather(
            said.functions.rows.filter((row) => row.function !== null),
            (row) => `${row.function}|${row.module}`,
            (row) => row[which],
        ),
        which,
    );
    if (!rows.length) return;
    /* and each's part of all that is shown */
    const whole = sum(said.functions.rows.map((row) => row.exclusive.at_peak_bytes));
    for (const row of whole ? rows : [])
        assert.ok(
            Math.abs(row.share - row.at_peak_bytes / whole) < 1e-6,
            `${row.function}: ${row.share} of ${whole}`,
        );
    /* and on screen, the largest first */
    const [first] = await rowTitles(session, "Functions", 1);
    assert.equal(first[0], exact(Math.max(...rows.map((row) => row.at_peak_bytes)), "bytes"));
}

/* "my_alloc ← " stands where report has it: "through" of a call site. */
async function sameWrappers(session, world, file) {
    const said = new Map();
    for (const section of report(world.tidemark, file, "--top", "1000000").sections)
        for (const site of section.sites ?? [])
            said.set(site.function, (said.get(site.function) ?? new Set()).add(site.through ?? ""));
    const shown = await session.rows("Functions").evaluateAll((rows) =>
        rows.flatMap((row) => {
            const wrapper = row.querySelector("[data-through]"),
                cell = wrapper?.closest("[role=gridcell]");
            return wrapper ? [[cell.title, wrapper.dataset.through]] : [];
        }),
    );
    assert.ok(shown.length > 0, "some ask through wrappers");
    for (const [name, wrapper] of shown)
        assert.ok(
            [...(said.get(name) ?? [])].some((each) =>
                each.startsWith(wrapper.replace(/[(<].*/, "")),
            ),
            `${wrapper} ← ${name}, where report says ${[...(said.get(name) ?? [])]}`,
        );
}

function testProfile(world, kind) {
    test(`figures of “${kind}” are those of report --json`, async (t) => {
        const file = world.profiles[kind];
        if (!file) return t.skip("the compiler for it is not here");
        const server = await serve(world.tidemark, [file]);
        const session = await Session.open(world.browser, server);
        const said = report(world.tidemark, file);
        const program = said.program;
        const facts = [
            ["Peak of live blocks", "peak_bytes", "bytes"],
            ["Never freed", "live_bytes", "bytes"],
            ["Asked for in all", "alloc_bytes", "bytes"],
            ["Allocations", "alloc_count", "count"],
            ["Reallocations", "realloc_count", "count"],
            ["Frees", "free_count", "count"],
            ["Temporary", "temporary_count", "count"],
            ["Resident at most", "resident_peak_bytes", "bytes"],
        ];
        for (const [term, metric, unit] of facts)
            assert.equal(
                await session.fact(term).getAttribute("title"),
                exact(program[metric], unit),
                term,
            );
        const ledger = said.samples?.findLast((each) => each.ledger)?.ledger;
        if (ledger) {
            const titles = await session.page
                .locator("dl[data-ledger] dd:not(:last-child)")
                .evaluateAll((parts) =>
                    parts.map((part) => part.title).filter((title) => title !== "0 B"),
                );
            assert.deepEqual(
                titles.sort(),
                Object.values(ledger)
                    .filter((value) => value > 0)
                    .map((value) => exact(value, "bytes"))
                    .sort(),
            );
        }
        await sameFunctions(session, world, file, {}, [], "exclusive");
        if (kind === "compiler") await sameWrappers(session, world, file);
        await sameFunctions(session, world, file, { inclusive: "1" }, ["--inclusive"], "inclusive");
        await sameFunctions(session, world, file, { hide: "0" }, ["--no-hide-std"], "exclusive");

        for (const [metric, total] of [
            ["", program.at_peak_bytes],
            ["live_bytes", program.live_bytes],
            ["alloc_count", program.alloc_count],
        ]) {
            if (!total) continue;
            for (const opt of ["", "inverted:1"]) {
                await session.go("flame", { metric, opt });
                const { text } = await session.saved(session.button("folded stacks"));
                assert.equal(
                    sum(
                        text
                            .trim()
                            .split("\n")
                            .map((line) => Number(/ (\d+)$/.exec(line)[1])),
                    ),
                    total,
                    `flame graph of ${metric} ${opt}`,
                );
            }
        }

        await session.go("leaks", { opt: "list:alive" });
        assert.equal(
            await session.page
                .locator(".bar-row:not([data-verdict]) b")
                .first()
                .getAttribute("title"),
            exact(program.live_bytes, "bytes"),
        );
        if (program.live_bytes) {
            const leaks = await session.json("Blocks alive at the end");
            assert.equal(sum(leaks.map((row) => row.bytes)), program.live_bytes);
            assert.equal(sum(leaks.map((row) => row.count)), program.live_count);
        }

        await session.go("threads");
        const threads = await session.json("Threads");
        assert.deepEqual(
            threads
                .map((row) => [
                    row.tid,
                    row.alloc_bytes,
                    row.alloc_count,
                    row.free_count,
                    row.peak_bytes,
                ])
                .sort(),
            said.threads
                .map((each) => [
                    each.tid,
                    each.alloc_bytes,
                    each.alloc_count,
                    each.free_count,
                    each.peak_bytes,
                ])
                .sort(),
        );
        await session.go("stacks");
        if (said.threads.some((each) => each.stack_deepest_bytes !== null))
            assert.deepEqual(
                (await session.json("Stacks of threads")).map((row) => row.deepest).sort(),
                said.threads.map((each) => each.stack_deepest_bytes).sort(),
            );

        await session.go("globals");
        if (said.globals)
            assert.deepEqual(
                (await session.json("Variables")).map((row) => row.bytes).sort((a, b) => a - b),
                said.globals.variables.map((each) => each.bytes).sort((a, b) => a - b),
            );

        if (said.timeline.buckets.length) {
            await session.go("timeline");
            const { text } = await session.saved(
                session.page
                    .locator(".card", { hasText: "Levels" })
                    .getByRole("button", { name: "CSV" }),
            );
            const lines = text
                .trim()
                .split("\n")
                .slice(1)
                .map((line) => line.split(","));
            assert.equal(
                Math.max(...lines.map((line) => Number(line[1]))),
                Math.max(...said.timeline.buckets.map((each) => each.requested?.[1] ?? 0)),
            );
        }
        if (said.distributions?.size) {
            await session.go("sizes");
            const { text } = await session.saved(
                session.page
                    .locator(".card", { hasText: "Sizes asked for" })
                    .getByRole("button", { name: "CSV" }),
            );
            assert.equal(
                sum(
                    text
                        .trim()
                        .split("\n")
                        .slice(1)
                        .map((line) => Number(/,(\d+)$/.exec(line)[1])),
                ),
                sum(said.distributions.size.map((row) => row[1])),
            );
        }
        if (program.realloc_count) {
            await session.go("realloc");
            assert.equal(
                await session.fact("Reallocations").getAttribute("title"),
                exact(program.realloc_count, "count"),
            );
            assert.equal(
                await session.fact("Moved").getAttribute("title"),
                exact(program.realloc_moved, "count"),
            );
        }
        if (said.residency) {
            await session.go("resident", { opt: "list:paths" });
            const last = said.samples.findLast((each) => each.ledger).sample;
            const rows = said.residency.filter((row) => row.sample === last);
            const shown = await session.json("Resident bytes of call paths");
            for (const name of ["resident_bytes", "untouched_bytes", "pinned_bytes", "live_bytes"])
                assert.equal(
                    sum(shown.map((row) => row[name])),
                    sum(rows.map((row) => row[name])),
                    name,
                );
            await session.go("flame", { metric: "resident_bytes" });
            const resident = sum(rows.map((row) => row.resident_bytes));
            if (resident) {
                const { text } = await session.saved(session.button("folded stacks"));
                assert.equal(
                    sum(
                        text
                            .trim()
                            .split("\n")
                            .map((line) => Number(/ (\d+)$/.exec(line)[1])),
                    ),
                    resident,
                    "flame graph of resident bytes",
                );
            }
            await session.go("resident", { opt: "list:mappings" });
            assert.equal(
                sum((await session.json("Mappings")).map((row) => row.resident_bytes)),
                sum(
                    said.mappings
                        .filter((row) => row.sample === last)
                        .map((row) => row.resident_bytes),
                ),
            );
        }
        session.noErrors();
        await session.close();
        await server.stop();
    });
}

/* What is compared here is what `tidemark diff` compares, function by function: the same names are
 * matched, and the same sums made. */
async function sameDifference(session, world, files, sort, query, options) {
    const said = JSON.parse(
        execFileSync(world.tidemark, ["diff", "--json", "--sort", sort, ...options, ...files], {
            encoding: "utf8",
            maxBuffer: 1 << 29,
        }),
    );
    await session.go("compare", { other: "1", metric: said.metric, opt: "same:1", ...query });
    const rows = await session.json("Functions before and after");
    const sorted = (list) =>
        list.map((each) => `${each.name ?? each.function} ${each.before} ${each.after}`).sort();
    assert.deepEqual(sorted(rows), sorted(said.functions), `${said.metric} ${options.join(" ")}`);
    return rows.length;
}

function testDifferences(world) {
    test("differences are those of diff --json", async (t) => {
        let compared = 0;
        for (const [before, after] of [
            ["threads", "again"],
            ["threads", "compiler"],
            ["fortran", "threads"],
        ]) {
            const files = [world.profiles[before], world.profiles[after]];
            if (files.includes(null)) continue;
            const server = await serve(world.tidemark, files);
            const session = await Session.open(world.browser, server);
            for (const sort of after === "compiler" ? ["peak"] : ["peak", "count"])
                for (const [query, options] of [
                    [{}, []],
                    [{ inclusive: "1" }, ["--inclusive"]],
                    [{ hide: "0" }, ["--no-hide-std"]],
                    [{ hide: "0", inclusive: "1" }, ["--no-hide-std", "--inclusive"]],
                ])
                    compared += await sameDifference(session, world, files, sort, query, options);
            session.noErrors();
            await session.close();
            await server.stop();
        }
        assert.ok(compared > 50);
        t.diagnostic(`${compared} rows`);
    });
}

function testVerdicts(world) {
    test("the verdict on leaks is that of the leaks command", async () => {
        let islands = 0;
        for (const kind of ["threads", "fragments", "islands", "again"]) {
            const run = spawnSync(world.tidemark, ["leaks", world.profiles[kind]], {
                encoding: "utf8",
            });
            const server = await serve(world.tidemark, [world.profiles[kind]]);
            const session = await Session.open(world.browser, server);
            await session.go("leaks");
            const shown = await session.text("[data-verdict]");
            if (run.stdout) assert.ok(shown.startsWith(run.stdout.split("\n")[0]), shown);
            else assert.match(shown, /^What is lost is not known/, run.stderr);
            if (run.stdout) islands += await sameIslands(session, world.profiles[kind], world);
            /* how a path's blocks are freed does not say what is lost, be that known or not */
            await session.go("leaks", { opt: "list:alive" });
            const table = await session.text(".main .table");
            assert.doesNotMatch(table, /\ba leak\b|\blikely\b|perhaps meant/);
            session.noErrors();
            await session.close();
            await server.stop();
        }
        assert.ok(islands > 0);
    });
}

/* Islands, call path by call path, are those of the command, site by site. */
async function sameIslands(session, file, { tidemark }) {
    const { islands } = JSON.parse(
        execFileSync(tidemark, ["leaks", "--json", file], { encoding: "utf8" }),
    );
    const shown = session.page.locator('.scroll[aria-label="Lost blocks by call path"]');
    assert.equal(await shown.count(), islands.length ? 1 : 0);
    if (!islands.length) return 0;
    const rows = await session.json("Lost blocks by call path");
    const wholes = rows.map((row) => row.bytes + row.below);
    assert.deepEqual(
        wholes,
        wholes.toSorted((a, b) => b - a),
        "the largest island first, with what hangs below it",
    );
    const sums = (list, of) => {
        const found = {};
        for (const row of list)
            found[row.function] = of(row).map(
                (value, at) => value + (found[row.function]?.[at] ?? 0),
            );
        return found;
    };
    assert.deepEqual(
        sums(rows, (row) => [row.count, row.bytes, row.belowCount, row.below]),
        sums(islands, (row) => [row.count, row.bytes, row.indirect_blocks, row.indirect_bytes]),
    );
    return islands.length;
}

export function testFigures(world) {
    testVerdicts(world);
    testDifferences(world);
    for (const kind of ["threads", "fortran", "empty", "compiler"]) testProfile(world, kind);

    test("call paths with blocks of a size are those of report --filter, in every view of call paths", async () => {
        const file = world.profiles.threads,
            server = await serve(world.tidemark, [file]),
            session = await Session.open(world.browser, server),
            { page } = session;
        const all = report(world.tidemark, file).program.at_peak_bytes;
        for (const words of ["size:>=1K", "size:<1K", "!size:>=64 & !function:none"]) {
            const search = { search: words },
                options = ["--filter", words];
            await sameFunctions(session, world, file, search, options, "exclusive");
            const inclusive = { ...search, inclusive: "1" };
            await sameFunctions(session, world, file, inclusive, ["-i", ...options], "inclusive");
            const said = report(
                    world.tidemark,
                    file,
                    ...options,
                    "--functions",
                    "--top",
                    "1000000",
                ),
                held = sum(said.functions.rows.map((row) => row.exclusive.at_peak_bytes));
            assert.ok(held < all, words);
            await session.go("flame", search);
            if (held) {
                const { text } = await session.saved(session.button("folded stacks"));
                const values = text.trim().split("\n");
                assert.equal(sum(values.map((line) => Number(/ (\d+)$/.exec(line)[1]))), held);
            }
            for (const view of ["tree", "source", "sizes", "leaks", "timeline", "resident"]) {
                await session.go(view, search);
                assert.match(await session.text(".chips"), /blocks of .*such a size/s, view);
                assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
            }
        }
        await session.go("threads", { search: "size:>=1K" });
        assert.match(await session.text(".chips"), /shows blocks of all sizes/);
        for (const words of ["age:>1s", "thread:1", "size:64K"]) {
            await session.go("functions", { search: words });
            assert.equal(await page.locator("[data-search-wrong]").count(), 1, words);
        }
        await session.go("functions", { search: "size:>=1K & work" });
        await page.getByRole("button", { name: /^Take off: blocks of 1.00 KiB/ }).click();
        assert.match(await session.state(), /search=work/);
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("figures beside lines of source are those of annotate --json", async () => {
        const said = JSON.parse(
            execFileSync(
                world.tidemark,
                ["annotate", "--json", world.profiles.threads, "threads.cpp"],
                { encoding: "utf8", maxBuffer: 1 << 28 },
            ),
        );
        const session = await Session.open(world.browser, world.server);
        await session.go("source", { file: said.file });
        const { text } = await session.saved(session.button("lines as CSV"));
        const shown = new Map(
            text
                .trim()
                .split("\n")
                .slice(1)
                .map((line) => line.split(",").map(Number))
                .map(([line, own, all]) => [line, [own, all]]),
        );
        let compared = 0;
        for (const line of said.lines) {
            const own = line.exclusive?.peak ?? 0,
                all = line.inclusive?.peak ?? 0;
            if (!line.line || (!own && !all)) continue;
            assert.deepEqual(shown.get(line.line), [own, all], `line ${line.line}`);
            compared++;
        }
        assert.ok(compared > 5);
        session.noErrors();
        await session.close();
    });

    test("a sample says how sure its figures are, as the report does", async () => {
        const { sampled } = world.profiles,
            text = execFileSync(world.tidemark, ["report", "--top", "1", sampled], {
                encoding: "utf8",
            });
        const server = await serve(world.tidemark, [sampled]);
        const session = await Session.open(world.browser, server);
        const [, said] = /allocations .* of (.* ±.*) in all/.exec(text);
        assert.equal(
            (await session.fact("Asked for in all").innerText()).replace(/\s+/g, " ").trim(),
            said,
        );
        assert.match(await session.fact("Allocations").innerText(), /^~/);
        await session.go("functions", { metric: "alloc_bytes" });
        for (const row of await session.json("Functions"))
            assert.match(
                row.error,
                row.alloc_bytes ? /^(±[\d.]+ [KMG]?i?B|\d samples?)$/ : /^$/,
                JSON.stringify(row),
            );
        await session.go("leaks");
        const [, left] = /never freed +.* (±.*) in /.exec(text);
        assert.equal(await session.text("[data-sure]"), left);
        for (const row of await session.json("Blocks alive at the end"))
            assert.match(row.error, /^(±[\d.]+ [KMG]?i?B|\d samples?)$/, JSON.stringify(row));
        await session.go("flame");
        await session.page.locator(".icicle canvas").hover({ position: { x: 200, y: 9 } });
        const whole = await session.text(".tooltip [data-sure]");
        await session.page.locator(".icicle canvas").hover({ position: { x: 200, y: 27 } });
        assert.match(await session.text(".tooltip"), /\(\d.* %\)/);
        assert.match(await session.text(".tooltip [data-sure]"), /^(±|\d sample)/);
        await session.go("summary");
        assert.ok(
            (await session.fact("Peak of live blocks").innerText()).includes(whole),
            "all call paths are as sure as the program",
        );
        await session.go("source");
        const { text: csv } = await session.saved(
            session.page.getByRole("button", { name: "lines as CSV" }),
        );
        const [line] = csv
            .trim()
            .split("\n")
            .slice(1)
            .map((each) => each.split(",").map(Number))
            .sort((a, b) => b[1] - a[1])[0];
        await session.go("source", {
            line: String(line),
            file: await session.page.locator(".bar-row b[title]").first().getAttribute("title"),
        });
        for (const metric of ["at_peak_bytes", "alloc_bytes"])
            assert.match(
                await session.text(`[data-metric=${metric}] [data-sure]`),
                /^ (±|\d sample)/,
                metric,
            );
        assert.equal(
            await session.page.locator("[data-metric=alloc_count] [data-sure]").count(),
            0,
            "of numbers no error is known",
        );
        session.noErrors();
        await session.close();
        await server.stop();
    });
}
