/* Growth between two looks against `report --json`: every row, the sums, and what no look knows. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

export function testLooks(world) {
    test("growth between two looks is that of report --json; what no look knows is no 0", async () => {
        const file = world.profiles.spike; /* others may end before the first look */
        const said = report(world.tidemark, file);
        const server = await serve(world.tidemark, [file]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const samples = said.samples.map((each) => each.sample);
        assert.ok(samples.length >= 2);
        for (const [a, b] of [
            [samples[0], samples.at(-1)],
            [samples.at(-1), samples[0]],
        ])
            for (const [subject, column] of [
                ["resident", "resident_bytes"],
                ["mapped", "virtual_bytes"],
            ]) {
                await session.go("growth", { opt: `as:looks,subject:${subject},a:${a},b:${b}` });
                const of = (sample) => said.mappings.filter((each) => each.sample === sample);
                const keyed = (rows) => {
                    const sums = new Map();
                    for (const row of rows) {
                        const key = `${row.kind}\n${row.path ?? "without a name"}`;
                        sums.set(key, (sums.get(key) ?? 0) + row[column]);
                    }
                    return sums;
                };
                const before = keyed(of(a)),
                    after = keyed(of(b));
                const rows = await session.json("Growth between two looks");
                assert.deepEqual(
                    Object.fromEntries(
                        rows.map((row) => [
                            `${row.detail}\n${row.name}`,
                            [row.change, row.before, row.after],
                        ]),
                    ),
                    Object.fromEntries(
                        [...new Set([...before.keys(), ...after.keys()])].map((key) => {
                            const [from, to] = [before.get(key) ?? 0, after.get(key) ?? 0];
                            return [key, [to - from, from, to]];
                        }),
                    ),
                );
                for (const [name, value] of [
                    ["before", sum([...before.values()])],
                    ["after", sum([...after.values()])],
                    ["change", sum([...after.values()]) - sum([...before.values()])],
                ])
                    assert.equal(
                        await page.locator(`[data-sum=${name}]`).getAttribute("title"),
                        exact(value, "bytes").replace("-", "−"),
                    );
            }
        /* blocks: of the looks that passed over the pages */
        const passed = said.samples.filter((each) => each.ledger).map((each) => each.sample),
            not = said.samples.find((each) => !each.ledger);
        const b = passed.at(-1);
        const resident = sum(
            said.residency
                .filter((each) => each.sample === b)
                .map((each) => each.resident_bytes ?? 0),
        );
        if (not) {
            await session.go("growth", {
                opt: `as:looks,subject:blocks,a:${not.sample},b:${b}`,
            });
            const rows = await session.json("Growth between two looks");
            assert.ok(rows.length > 0);
            for (const row of rows) assert.deepEqual([row.change, row.before], [null, null]);
            assert.equal(sum(rows.map((row) => row.after)), resident);
            assert.match(await page.locator("[data-sum=before]").innerText(), /not known/);
        }
        await session.go("growth", { opt: `as:looks,subject:blocks,a:${passed[0]},b:${b}` });
        assert.equal(
            await page.locator("[data-sum=after]").getAttribute("title"),
            exact(resident, "bytes"),
        );
        await page.mouse.move(0, 0);
        await session.accessible("growth between looks");
        session.noErrors();
        await session.close();
        await server.stop();
    });

    const asked = (file, sql) =>
        JSON.parse(
            execFileSync(world.tidemark, ["query", "--json", file, sql], { encoding: "utf8" }),
        );
    const opened = async (t, file, opt) => {
        const server = await serve(world.tidemark, [file]);
        t.after(() => server.stop());
        const session = await Session.open(world.browser, server);
        t.after(() => session.close());
        await session.go("growth", { opt });
        return session;
    };

    test("growth of owners between two looks: they add up to what was resident", async (t) => {
        const file = world.profiles.spike;
        const looks = asked(
            file,
            "SELECT sample, sum(owner.resident_bytes) AS bytes, sample.resident_bytes FROM owner JOIN sample ON id = sample GROUP BY 1",
        );
        assert.ok(looks.length > 1);
        const [a, b] = [looks[0], looks.at(-1)];
        const session = await opened(t, file, `as:looks,a:${a.sample},b:${b.sample}`);
        const title = (name) => session.page.locator(`[data-sum=${name}]`).getAttribute("title");
        assert.deepEqual(
            [await title("before"), await title("after")],
            [exact(a.resident_bytes, "bytes"), exact(b.resident_bytes, "bytes")],
            "owners come first",
        );
        assert.deepEqual([a.bytes, b.bytes], [a.resident_bytes, b.resident_bytes]);
        const rows = await session.json("Growth between two looks");
        const ofFiles = (sample) =>
            asked(
                file,
                `SELECT name, sum(resident_bytes) AS bytes FROM owner WHERE kind = 3 AND sample = ${sample} GROUP BY 1`,
            );
        const before = new Map(ofFiles(a.sample).map(({ name, bytes }) => [name, bytes]));
        for (const { name, bytes } of ofFiles(b.sample)) {
            const row = rows.find((each) => each.name === name);
            assert.deepEqual([row.before, row.after], [before.get(name) ?? 0, bytes], name);
        }
        session.noErrors();
    });

    test("growth of live types between two looks is that of the table", async (t) => {
        const file = join(world.work, "types.tmk");
        const script = "import time; x = [str(i) for i in range(100000)]; time.sleep(0.3)";
        execFileSync(world.tidemark, ["record", "-q", "-o", file, "python3", "-c", script]);
        const rows = asked(
            file,
            "SELECT sample, name, sum(bytes) AS bytes FROM live_class GROUP BY 1, 2",
        );
        const looks = asked(file, "SELECT id FROM sample WHERE class_count IS NOT NULL");
        if (!rows.length) return t.skip("Python's objects are not known of this python3");
        const [a, b] = [looks[0].id, looks.at(-1).id];
        const session = await opened(t, file, `as:looks,subject:types,a:${a},b:${b}`);
        const of = (sample) =>
            new Map(
                rows.filter((row) => row.sample === sample).map(({ name, bytes }) => [name, bytes]),
            );
        const [before, after] = [of(a), of(b)];
        const said = await session.json("Growth between two looks");
        assert.deepEqual(
            new Map(said.map((row) => [row.name, [row.before, row.after]])),
            new Map(
                [...new Set([...before.keys(), ...after.keys()])].map((name) => [
                    name,
                    [before.get(name) ?? 0, after.get(name) ?? 0],
                ]),
            ),
        );
        session.noErrors();
    });

    test("nothing lost is 0 where it was looked for, and only there", async () => {
        const losses = [];
        for (const file of [world.profiles.threads, world.profiles.spike]) {
            const said = report(world.tidemark, file),
                end = said.samples.at(-1);
            const server = await serve(world.tidemark, [file]);
            const session = await Session.open(world.browser, server);
            /* A short program may have ended before the first look. */
            const not = said.samples.find((each) => typeof each.lost_count !== "number");
            losses.push(end.lost_bytes);
            const known = exact(end.lost_bytes, "bytes");
            for (const [a, b, titles] of not
                ? [
                      [not, end, ["not recorded", known, "not recorded"]],
                      [not, not, ["not recorded", "not recorded", "not recorded"]],
                  ]
                : [[end, end, [known, known, exact(0, "bytes")]]]) {
                await session.go("growth", {
                    opt: `as:looks,subject:lost,a:${a.sample},b:${b.sample}`,
                });
                await session.page.waitForSelector("[data-sum]");
                assert.deepEqual(
                    await session.page
                        .locator("[data-sum]")
                        .evaluateAll((all) => all.map((each) => each.title)),
                    titles,
                );
            }
            session.noErrors();
            await session.close();
            await server.stop();
        }
        assert.ok(losses.includes(0) && losses.some((bytes) => bytes > 0), `${losses}`);
    });
}
