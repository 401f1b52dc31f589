/* A job: its ranks side by side, one of them chosen for every view, two compared. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, link, mkdir, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";
import { views } from "./views.mjs";

export function testJobs(world) {
    test("a job: every view opens; a rank that is chosen is what each view shows, and its figures are its report's", async () => {
        const server = await serve(world.tidemark, [world.profiles.job]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        for (const view of views) {
            await session.go(view);
            assert.ok((await session.text(".view")).trim().length > 0, `${view} says something`);
            assert.equal(await page.locator(".main [role=alert]").count(), 0, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        for (const [view, query] of [
            ["space", {}],
            ["growth", { opt: "as:looks" }],
        ]) {
            await session.go(view, query);
            assert.match(await page.locator(".main").innerText(), /whole job has no looks/);
        }
        await session.go("jobs");
        await session.accessible("jobs");
        const reports = world.profiles.ranks.map((file) => report(world.tidemark, file));
        const rows = await session.json("Ranks");
        assert.deepEqual(
            rows.map((row) => [row.rank, row.peak_bytes, row.alloc_count]),
            reports.map(({ program }, rank) => [
                rank,
                program.peak_bytes,
                program.alloc_count + program.realloc_count,
            ]),
        );

        const peaks = reports.map(({ program }) => program.peak_bytes);
        for (const [term, peak] of [
            ["highest", Math.max(...peaks)],
            ["lowest", Math.min(...peaks)],
        ]) {
            const those = peaks.flatMap((each, rank) => (each === peak ? [rank] : []));
            assert.equal(
                await session.text(`[data-ranks-at="${peak}"]`),
                `${those.length > 1 ? "ranks" : "rank"} ${those.join(", ")}`,
                term,
            );
        }
        /* the map of what was resident: samples between the looks, the highest of which is the peak */
        const levels = page.locator(".card", { hasText: "Ranks × time" });
        await levels.getByRole("button", { name: "resident" }).click();
        await session.settle();
        const { text: cells } = await session.saved(levels.getByRole("button", { name: "CSV" }));
        const most = new Map();
        for (const line of cells.trim().split("\n").slice(1)) {
            const [, rank, value] = line.split(",");
            most.set(Number(rank), Math.max(most.get(Number(rank)) ?? 0, Number(value)));
        }
        for (const row of rows)
            assert.ok(
                most.get(row.rank) > 0 && most.get(row.rank) <= row.resident_peak_bytes,
                `rank ${row.rank}: ${most.get(row.rank)} of ${row.resident_peak_bytes}`,
            );
        await levels.getByRole("button", { name: "heap" }).click();
        await session.settle();

        await session.rows("Ranks").nth(1).click();
        await session.settle();
        assert.match(await session.text(".chips"), /rank 1[\s\S]*all of the job/);
        await session.go("summary", {
            rank: new URLSearchParams((await session.state()).split("?")[1]).get("rank"),
        });
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(reports[1].program.peak_bytes, "bytes"),
        );
        await page.locator("nav a", { hasText: "Functions" }).click();
        await session.settle();
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            reports[1].program.alloc_count,
        );
        await page.getByLabel("Rank", { exact: true }).selectOption({ label: "all ranks" });
        await session.settle();
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            reports.reduce((sum, { program }) => sum + program.alloc_count, 0),
        );

        await session.go("jobs", { opt: "a:1,b:2" });
        await page.getByRole("link", { name: "Which functions differ" }).click();
        await session.settle();
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "before" }).getAttribute("title"),
            exact(reports[1].program.at_peak_bytes, "bytes"),
        );
        assert.equal(
            await page.locator(".bar-row span[title]", { hasText: "after" }).getAttribute("title"),
            exact(reports[0].program.at_peak_bytes, "bytes"),
        );
        session.noErrors();
        await session.close();
        await server.stop();
    });

    test("a rank that cannot be read is not known in the view of the job, and no 0", async (t) => {
        const job = join(world.work, "damaged_job");
        await cp(world.profiles.job, job, { recursive: true });
        const [first, ...others] = (await readdir(job)).filter((name) => name.endsWith(".tmk"));
        await truncate(join(job, first), 100);
        const reports = others.map((name) => report(world.tidemark, join(job, name)));
        const peaks = reports.map(({ program }) => program.peak_bytes);
        const server = await serve(world.tidemark, [job]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await session.go("jobs");
        assert.equal(await session.text("[data-ranks]"), "3, of 1 nothing is known");
        const fact = (term) => session.fact(term);
        assert.equal(
            await fact("highest").getAttribute("title"),
            exact(Math.max(...peaks), "bytes"),
        );
        assert.equal(
            await fact("lowest").getAttribute("title"),
            exact(Math.min(...peaks), "bytes"),
        );
        assert.match(await fact("highest").innerText(), /^≥ /);
        assert.match(await fact("lowest").innerText(), /^≤ /);
        const [gone] = (await session.json("Ranks")).filter((row) => row.peak_bytes === null);
        assert.deepEqual(
            [gone.rank, gone.live_bytes, gone.alloc_count, gone.mpi_peak_bytes, gone.duration_ns],
            [0, null, null, null, null],
        );
        assert.match(await session.text("[data-no-levels]"), /^Levels of rank 0 are not known/);
        const node = page.locator("tr", { hasText: "1 not read" }).first();
        assert.match(await node.innerText(), /2 \(1 not read\)\s+≥ .*\s≥ /s);
        session.noErrors();
    });

    test("a job opens while its ranks are read, says nothing of what is not read, and fills in by itself", async (t) => {
        const hold = join(world.work, "hold");
        await writeFile(hold, "");
        /* The shortest is read last, however many threads read. */
        const sizes = await Promise.all(
            world.profiles.ranks.map(async (file) => (await stat(file)).size),
        );
        const last = world.profiles.ranks[sizes.lastIndexOf(Math.min(...sizes))];
        t.after(() => rm(hold, { force: true }));
        const server = await serve(world.tidemark, [world.profiles.job], [], {
            HOLD: hold,
            HOLD_NAME: basename(last),
            LD_PRELOAD: join(world.tools, "../cli/libcli_hold_open.so"),
        });
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await page.locator(".head", { hasText: "2 of 3 ranks read" }).waitFor();
        const reports = world.profiles.ranks.map((file) => report(world.tidemark, file));
        for (const view of views) {
            await session.go(view);
            const text = await session.text(".main");
            assert.match(text, /2 of 3 ranks read[\s\S]*are not read yet/, view);
            assert.equal(await page.locator(".main .view").count(), 1, view);
            assert.deepEqual(session.errors.splice(0), [], view);
        }
        await session.accessible("reading");
        const peaks = reports.map(({ program }, rank) => [rank, program.peak_bytes]);
        const rows = await session.json("Ranks");
        assert.deepEqual(
            rows.map((row) => [row.rank, row.peak_bytes]),
            peaks,
        );

        const other = world.profiles.ranks[0] === last ? 1 : 0;
        await session.go("summary", { rank: other + 1 });
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(reports[other].program.peak_bytes, "bytes"),
        );

        await session.go("jobs");
        await page.locator("[data-reading]").waitFor();
        await rm(hold);
        await page.locator("[data-ranks]").waitFor(); /* nobody reloads it */
        await session.settle();
        assert.equal(await session.text("[data-ranks]"), "3");
        assert.equal(await page.locator(".head", { hasText: "ranks read" }).count(), 0);
        assert.deepEqual(
            (await session.json("Ranks")).map((row) => [row.rank, row.peak_bytes]),
            peaks,
        );
        session.noErrors();
    });

    test("a job opens while the entries of its directory are read, and then has its ranks", async (t) => {
        const job = join(world.work, "entries"),
            hold = join(world.work, "hold-entry");
        const name = (rank) => `rank-000${String(rank).padStart(2, "0")}`;
        await mkdir(job);
        for (let rank = 0; rank < 66; rank++) {
            await link(world.profiles.ranks[0], join(job, `${name(rank)}.tmk`));
            await writeFile(
                join(job, `${name(rank)}.entry`),
                `tidemark entry 1\njob entries\nrank ${rank}\nranks 66\npid ${rank + 1}\nprogram many\n` +
                    `profile ${name(rank)}.tmk\nend exit\nend_status 0\npeak_bytes 1000\n.\n`,
            );
        }
        await writeFile(hold, "");
        t.after(() => rm(hold, { force: true }));
        const server = await serve(world.tidemark, [job], [], {
            HOLD: hold,
            HOLD_NAME: `${name(5)}.entry`,
            LD_PRELOAD: join(world.tools, "../cli/libcli_hold_open.so"),
        });
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await page.locator(".head", { hasText: "5 of 66 entries read" }).waitFor();
        await page.waitForFunction(
            () => document.querySelectorAll(".rank-table [role=row]").length >= 5,
        );
        const text = await session.text(".main");
        assert.match(text, /5 of 66 entries of the job's directory read/);
        assert.match(text, /How many ranks there are is not known yet/);
        assert.deepEqual(
            (await session.json("Ranks")).map((row) => row.rank),
            [0, 1, 2, 3, 4],
        );
        await rm(hold);
        await session.go("jobs");
        await page.locator("[data-ranks]").waitFor(); /* nobody reloads it */
        await session.settle();
        assert.equal(await session.text("[data-ranks]"), "66");
        await session.go("summary", { rank: 66 });
        assert.equal(
            await session.fact("Peak of live blocks").getAttribute("title"),
            exact(report(world.tidemark, world.profiles.ranks[0]).program.peak_bytes, "bytes"),
        );
        session.noErrors();
    });

    test("a large job shows what digests say, as `job --json` does, and reads profiles when a view asks", async (t) => {
        const job = join(world.work, "large"),
            name = (rank) => `rank-${String(rank).padStart(5, "0")}`,
            size = 66;
        await mkdir(job);
        for (let rank = 0; rank < size; rank++) {
            await link(world.profiles.ranks[rank % 3], join(job, `${name(rank)}.tmk`));
            await writeFile(
                join(job, `${name(rank)}.entry`),
                `tidemark entry 1\njob large\nrank ${rank}\nranks ${size}\npid ${rank + 1}\nprogram many\n` +
                    `profile ${name(rank)}.tmk\nend exit\nend_status 0\n.\n`,
            );
        }
        const said = JSON.parse(
            execFileSync(world.tidemark, ["job", "--json", job], { maxBuffer: 1 << 26 }),
        );
        const server = await serve(world.tidemark, [job], [], {});
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        await page.locator("[data-ranks]").waitFor();
        for (const view of ["summary", "jobs"]) {
            await session.go(view);
            assert.match(
                await session.text("[data-reading] [role=status]"),
                /Call paths of 0 of 66 ranks read/,
            );
            assert.equal(await session.text("[data-ranks]"), String(size), view);
            assert.deepEqual(
                (await session.json("Ranks")).map((row) => [
                    row.rank,
                    row.peak_bytes,
                    row.live_bytes,
                    row.alloc_count,
                ]),
                said.ranks.map((rank) => [
                    rank.rank,
                    rank.peak_bytes,
                    rank.live_bytes,
                    rank.alloc_count,
                ]),
                view,
            );
            assert.equal(
                await session.fact("highest").getAttribute("title"),
                exact(said.high_water_marks.max, "bytes"),
            );
            const levels = page.locator(".card", { hasText: "Ranks × time" });
            assert.equal(await levels.locator("[data-no-levels]").count(), 0);
            assert.equal((await levels.locator("canvas").count()) > 0, true);
        }
        await session.accessible("digests");
        await session.go("flame");
        await page.locator("[data-reading]").waitFor({ state: "detached" });
        await session.settle();
        await session.go("functions");
        const reports = world.profiles.ranks.map((file) => report(world.tidemark, file));
        assert.equal(
            (await session.json("Functions")).reduce((sum, row) => sum + row.alloc_count, 0),
            (size / 3) * reports.reduce((sum, { program }) => sum + program.alloc_count, 0),
        );
        session.noErrors();
    });

    test("a job of which no profile can be read says so on the page", async (t) => {
        const job = join(world.work, "unread");
        await cp(world.profiles.job, job, { recursive: true });
        for (const name of await readdir(job))
            if (name.endsWith(".tmk")) await truncate(join(job, name), 0);
        const server = await serve(world.tidemark, [job]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server),
            { page } = session;
        t.after(() => session.close());
        const said = page.locator("[data-reading] [role=alert]");
        await said.waitFor();
        assert.match(await said.innerText(), /cannot be shown: .* is empty/);
        session.noErrors();
    });
}
