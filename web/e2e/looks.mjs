/* Growth between two looks against `report --json`: every row, the sums, and what no look knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./profiles.mjs";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const sum = (list) => list.reduce((total, each) => total + each, 0);

export function testLooks(world) {
    test("growth between two looks is that of report --json; what no look knows is no 0", async () => {
        const file = world.profiles.threads;
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

    test("nothing lost is 0 where it was looked for, and only there", async () => {
        const losses = [];
        for (const file of [world.profiles.threads, world.profiles.spike]) {
            const said = report(world.tidemark, file),
                end = said.samples.at(-1);
            const server = await serve(world.tidemark, [file]);
            const session = await Session.open(world.browser, server);
            const not = said.samples.find((each) => typeof each.lost_count !== "number");
            losses.push(end.lost_bytes);
            for (const [b, sum] of [
                [end.sample, exact(end.lost_bytes, "bytes")],
                [not.sample, "not recorded"],
            ]) {
                await session.go("growth", { opt: `as:looks,subject:lost,a:${not.sample},b:${b}` });
                assert.deepEqual(
                    await session.page
                        .locator("[data-sum]")
                        .evaluateAll((all) => all.map((each) => each.title)),
                    ["not recorded", sum, "not recorded"],
                );
            }
            session.noErrors();
            await session.close();
            await server.stop();
        }
        assert.ok(losses.includes(0) && losses.some((bytes) => bytes > 0), `${losses}`);
    });
}
