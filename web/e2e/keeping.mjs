/* Who keeps what, and how long memory lay unused: the views have what `tidemark held --json` and
 * `tidemark report --json` say. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { exact, Session } from "./session.mjs";

const jsonOf = (world, words) =>
    JSON.parse(execFileSync(world.tidemark, words, { encoding: "utf8", maxBuffer: 1 << 28 }));
const sorted = (rows) => rows.map((row) => row.join(" ")).sort();

async function looked(world, file, look) {
    const server = await serve(world.tidemark, [file]),
        session = await Session.open(world.browser, server);
    await look(session);
    session.noErrors();
    await session.close();
    await server.stop();
}

/* A program that grows between two snapshots; all in its own recording, too. */
async function grownProfiles(world) {
    const file = join(world.work, "grown.tmk"),
        victim = join(world.tools, "../victims/held");
    const child = spawn(
        world.tidemark,
        ["record", "-q", "--separate", "-o", file, victim, "grow"],
        { stdio: ["pipe", "pipe", "inherit"] },
    );
    const ended = once(child, "exit"),
        lines = createInterface({ input: child.stdout })[Symbol.asyncIterator](),
        snapshots = [];
    for (let turn = 0; turn < 2; turn++) {
        const [pid] = (await lines.next()).value.split(" ");
        snapshots.push(
            execFileSync(world.tidemark, ["snapshot", pid], { encoding: "utf8" }).trim(),
        );
        child.stdin.write("x");
    }
    child.stdin.end();
    await ended;
    return { file, snapshots };
}

export function testKeeping(world) {
    test("who keeps what is what held says, and leads to a root", async () => {
        const file = world.profiles.held,
            { held, lost, holders } = jsonOf(world, ["held", "--json", file]);
        assert.ok(holders.length > 10);
        await looked(world, file, async (session) => {
            await session.go("held");
            const label = "Who keeps the live blocks";
            const roots = holders.filter((each) => !each.parent).length;
            await session.hasRows(label, roots);
            await session.page.getByRole("button", { name: "Unfold all" }).click();
            await session.hasRows(label, holders.length);
            const rows = await session.json(label);
            assert.deepEqual(
                sorted(rows.map((row) => [row.kind, row.retained, row.blocks, row.own, row.share])),
                sorted(
                    holders.map((row) => [
                        row.kind,
                        row.retained_bytes,
                        row.retained_blocks,
                        row.own_bytes,
                        row.retained_bytes / (held.bytes + lost.bytes),
                    ]),
                ),
            );
            /* Each row stands below its parent, which keeps as much at least. */
            for (let at = 1; at < rows.length; at++) {
                assert.ok(rows[at].level <= rows[at - 1].level + 1);
                if (rows[at].level > rows[at - 1].level)
                    assert.ok(rows[at].retained <= rows[at - 1].retained);
            }
            const deepest = rows.reduce(
                (best, row, at) => (row.level > rows[best].level ? at : best),
                0,
            );
            await session.rows(label).nth(deepest).click();
            const path = session.page.locator('ol[aria-label="From a root to what was chosen"] li');
            assert.equal(await path.count(), rows[deepest].level);
        });
    });

    test("a type's row leads to who holds its blocks, and so do a library's and a call path's", async () => {
        const file = world.profiles.held,
            { holders } = jsonOf(world, ["held", "--json", file]),
            types = jsonOf(world, ["held", "--json", "--by=type", file]).holders;
        const tree = "Who keeps the live blocks",
            column = (rows) => sorted(rows.map((row) => [row.retained, row.blocks, row.own])),
            figures = (rows) =>
                sorted(rows.map((r) => [r.retained_bytes, r.retained_blocks, r.own_bytes]));
        await looked(world, file, async (session) => {
            const { page } = session,
                lead = (by, name) =>
                    page
                        .locator(`.scroll[aria-label="What is kept, by ${by}"]`)
                        .getByRole("link", { name, exact: true })
                        .first()
                        .click();
            for (const { type, rows, own_bytes } of types) {
                const shown = new Set(rows);
                for (const { id, parent } of [...holders].reverse())
                    if (shown.has(id)) shown.add(parent);
                const wanted = holders.filter(({ id }) => shown.has(id));
                assert.equal(
                    holders
                        .filter(({ id }) => rows.includes(id))
                        .reduce((sum, row) => sum + row.own_bytes, 0),
                    own_bytes,
                );
                await session.go("held", { opt: "by:type" });
                await lead("type", type);
                await session.settle();
                assert.match(await session.text("[data-part]"), /Who holds blocks of type/);
                assert.deepEqual(column(await session.json(tree)), figures(wanted));
                assert.ok(wanted.length < holders.length);
            }
            await session.accessible("held, of one type");
            await session.go("held", { opt: "by:path" });
            await lead("call path", "make_name");
            await session.settle();
            const names = (await session.json(tree)).map((row) => row.holder);
            assert.ok(names.includes("make_name"));
            assert.ok(names.length < holders.length);
            const { holders: libraries } = jsonOf(world, ["held", "--json", "--by=library", file]);
            assert.ok(libraries.length > 1);
            for (const { library, retained_bytes } of libraries) {
                await session.go("held", { opt: "by:library" });
                await lead("library", library);
                await session.settle();
                const rows = await session.json(tree);
                assert.equal(
                    rows
                        .filter(({ level }) => level === 1)
                        .reduce((sum, { retained }) => sum + retained, 0),
                    retained_bytes,
                    library,
                );
                if (library === "held")
                    assert.ok(rows.some(({ holder }) => holder === "table of held"));
            }
            await session.go("held", { opt: "type:no such type" });
            assert.match(await session.text("[data-part]"), /No row of blocks of type/);
            assert.equal((await session.json(tree)).length > 0, true);
        });
    });

    test("what only a buffer of stdio has the address of is held by nobody, and not called lost", async () => {
        const file = join(world.work, "stdio.tmk"),
            short = join(world.work, "short");
        writeFileSync(short, "short\n");
        execFileSync(world.tidemark, [
            ...["record", "-q", "--held", "-o", file],
            ...[join(world.tools, "../victims/held_stdio"), short],
        ]);
        const said = execFileSync(world.tidemark, ["held", "-w", "120", file], {
            encoding: "utf8",
        });
        assert.match(said, /by nobody: lost \(tidemark leaks\), or only a buffer of stdio/);
        await looked(world, file, async (session) => {
            await session.go("held");
            assert.match(
                await session.text("[data-held]"),
                /held by nobody: lost, or only a buffer of stdio has the address/,
            );
        });
    });

    test("what nobody holds may be a garbage collector's to find, whatever the rows are of", async (t) => {
        const file = join(world.work, "rings.tmk"),
            program = `import gc
gc.disable()
for i in range(500): ring = [i]; ring.append(ring)`;
        spawnSync(world.tidemark, ["record", "-q", "--held", "-o", file, "python3", "-c", program]);
        const said = spawnSync(world.tidemark, ["held", file], { encoding: "utf8" }).stdout;
        if (!/for the garbage collector to find/.test(said))
            return t.skip("no Python whose variables are known");
        await looked(world, file, async (session) => {
            for (const by of ["holder", "path", "library", "type"]) {
                await session.go("held", { opt: `by:${by}` });
                const says = await session.text("[data-held]");
                assert.match(says, /held by nobody: lost, or for the garbage collector/, by);
            }
        });
    });

    test("what call paths, libraries and types keep is what held --by says", async () => {
        const file = world.profiles.held;
        await looked(world, file, async (session) => {
            const { page } = session;
            let rowsOfAll = 0;
            await session.go("held");
            for (const [by, title, nameOf] of [
                ["type", "by type", (row) => row.type],
                ["library", "by library", (row) => row.library],
                ["path", "by call path", (row) => row.function],
            ]) {
                const said = jsonOf(world, ["held", "--json", `--by=${by}`, file]);
                await page.getByLabel("Rows", { exact: true }).selectOption(by);
                await session.settle();
                const label = `What is kept, ${title}`,
                    rows = await session.json(label);
                assert.deepEqual(
                    sorted(rows.map((row) => [row[by], row.retained, row.blocks, row.own])),
                    sorted(
                        said.holders.map((row) => [
                            nameOf(row),
                            row.retained_bytes,
                            row.retained_blocks,
                            row.own_bytes,
                        ]),
                    ),
                );
                rowsOfAll += rows.length;
                if (by !== "type") continue;
                assert.ok(rows.length > 0);
                assert.equal(
                    await page.locator("[data-untyped]").getAttribute("title"),
                    exact(said.untyped.bytes, "bytes"),
                );
                await session.go("held", { opt: "by:type", search: `!${rows[0].type}` });
                assert.match(
                    await session.text("[data-rows-shown]"),
                    new RegExp(`^[0-9]+ of ${rows.length} row`),
                );
                await session.go("held", { opt: "by:type" });
            }
            assert.ok(rowsOfAll > 5);
            await session.accessible("held by call path");
        });
    });

    test("a search finds holders with what leads to them; the chosen one stands in the address", async () => {
        const file = world.profiles.held,
            { holders } = jsonOf(world, ["held", "--json", file]);
        const byId = new Map(holders.map((each) => [each.id, each])),
            wanted = new Set();
        for (const row of holders)
            if (row.function === "make_name")
                for (let at = row; at; at = byId.get(at.parent)) wanted.add(at.id);
        assert.ok(wanted.size > 1 && wanted.size < holders.length);
        await looked(world, file, async (session) => {
            const { page } = session,
                label = "Who keeps the live blocks";
            await session.go("held", { search: "function:^make_n" });
            await session.hasRows(label, wanted.size);
            const rows = await session.json(label),
                deepest = rows.findIndex((row) => row.level > 1);
            await session.rows(label).nth(deepest).click();
            await session.settle();
            const through = () => session.text('ol[aria-label="From a root to what was chosen"]');
            const said = await through(),
                address = await session.state();
            assert.match(address, /row/);
            await session.go("summary");
            await page.evaluate((hash) => (location.hash = hash), address);
            await session.settle();
            assert.equal(await through(), said);
            await page.reload();
            await session.settle();
            assert.equal(await through(), said);
            await session.go("held", { search: "no such holder" });
            assert.match(await session.text(), /No holder with/);
        });
    });

    test("who holds what grew between two looks is what held says of their snapshots", async () => {
        const { file, snapshots } = await grownProfiles(world);
        const said = jsonOf(world, ["held", "--json", ...snapshots]),
            moved = said.holders.filter((row) => row.retained_bytes || row.old_retained_bytes);
        assert.ok(
            moved.some(
                (row) =>
                    row.name === "table" && row.retained_blocks === row.old_retained_blocks + 800,
            ),
        );
        const looks = jsonOf(world, [
            "query",
            "--json",
            file,
            "SELECT DISTINCT sample FROM holder",
        ]);
        const [a, b] = looks.map((each) => each.sample).sort((x, y) => x - y);
        await looked(world, file, async (session) => {
            await session.go("growth", { opt: `as:looks,subject:held,a:${a},b:${b}` });
            const label = "Who holds what grew";
            await session.page.getByRole("button", { name: "Unfold all" }).click();
            await session.hasRows(label, moved.length);
            const rows = await session.json(label);
            assert.deepEqual(
                sorted(
                    rows.map((row) => [row.kind, row.change, row.before, row.after, row.blocks]),
                ),
                sorted(
                    moved.map((row) => [
                        row.kind,
                        row.retained_bytes - row.old_retained_bytes,
                        row.old_retained_bytes,
                        row.retained_bytes,
                        row.retained_blocks - row.old_retained_blocks,
                    ]),
                ),
            );
            assert.match(rows[0].holder, /^table/);
            for (const [name, value] of [
                ["before", said.old.held.bytes],
                ["after", said.held.bytes],
            ])
                assert.equal(
                    await session.page.locator(`[data-sum=${name}]`).getAttribute("title"),
                    exact(value, "bytes"),
                );
            await session.page.getByLabel("Look A").selectOption(String(b));
            await session.hasRows(label, said.holders.filter((row) => row.retained_bytes).length);
            await session.accessible("who holds what grew");
        });
        await looked(world, world.profiles.empty, async (session) => {
            await session.go("growth", { opt: "as:looks,subject:held" });
            assert.match(await session.text(), /Fewer than two looks|looked at less than twice/);
        });
    });

    test("blocks that are alive at the end name the roots that hold their line", async () => {
        const file = world.profiles.held,
            { holders } = jsonOf(world, ["held", "--json", file]);
        const byId = new Map(holders.map((each) => [each.id, each]));
        const wanted = new Map();
        for (const row of holders.filter((each) => each.kind === "blocks" && each.own_bytes)) {
            let root = row;
            while (root.parent) root = byId.get(root.parent);
            const key = `${row.function} ${row.file}:${row.line}`;
            wanted.set(key, (wanted.get(key) ?? new Set()).add(root.name));
        }
        await looked(world, file, async (session) => {
            await session.go("leaks", { opt: "list:alive" });
            let known = 0;
            for (const row of await session.json("Blocks alive at the end")) {
                const roots = wanted.get(`${row.function} ${row.place}`);
                if (!roots) {
                    assert.equal(row.holders, "", row.function);
                    continue;
                }
                known++;
                for (const root of [...roots].slice(0, 2))
                    if (root)
                        assert.ok(row.holders.includes(root), `${row.function}: ${row.holders}`);
            }
            assert.ok(known > 3, `${known} lines have holders`);
        });
    });

    test("lag and drag are those of the report", async (t) => {
        const file = world.profiles.heat,
            uses = file && jsonOf(world, ["report", "--json", file]).page_uses;
        if (!uses) return t.skip("this kernel does not tell which pages were written");
        await looked(world, file, async (session) => {
            await session.go("heat");
            const rows = await session.json("Lag and drag by call path");
            assert.ok(rows.filter((row) => row.lag > 0 && row.drag > 0).length > 2);
            const mean = (kibMs, of) => (of ? (kibMs * 1024 * 1e6) / of : null);
            assert.deepEqual(
                sorted(
                    rows.map((row) => [
                        row.bytes,
                        row.count,
                        row.lived,
                        row.lag,
                        row.drag,
                        row.error,
                        row.unwritten,
                        row.unseen,
                    ]),
                ),
                sorted(
                    uses.map((row) => {
                        const written = row.bytes - row.unwritten_bytes;
                        return [
                            row.bytes,
                            row.count,
                            mean(row.life_kib_ms, row.bytes),
                            mean(row.lag_kib_ms, written),
                            mean(row.drag_kib_ms, written),
                            mean(row.drag_error_kib_ms, written),
                            row.unwritten_bytes,
                            row.unseen_count,
                        ];
                    }),
                ),
            );
            assert.match(await session.text("[data-sums]"), /lay before the first write/);
        });
    });

    test("a profile that knows neither says how to record it", async () => {
        await looked(world, world.profiles.again, async (session) => {
            for (const [view, how] of [
                ["held", "record --held"],
                ["heat", "record --heat=1s"],
            ]) {
                await session.go(view);
                assert.ok((await session.text(".view")).includes(how), view);
            }
        });
    });
}
