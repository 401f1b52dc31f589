/* SQL in the page of `tidemark serve`: the rows are those of `tidemark query`, nothing and an empty text
 * look different, and what goes on for ever or would write is refused with a sentence. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Session } from "./session.mjs";

const endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

async function ask(session, sql) {
    await session.page.fill("textarea.sql", sql);
    await session.press("run");
}

export function testSql(world) {
    const asked = (file, sql) =>
        JSON.parse(
            execFileSync(world.tidemark, ["query", "-f", "json", file, sql], { encoding: "utf8" }),
        );

    test("SQL of a served profile: rows, picture and legend as `tidemark query` has them", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        for (const [profile, file] of [world.profiles.threads, world.profiles.again].entries()) {
            await session.go("sql", { profile: String(profile) });
            assert.match(
                await page.locator("pre.tables").textContent(),
                /functions\s+functions as the report/,
            );
            const sql = "SELECT function, at_peak_bytes, file FROM functions ORDER BY 2 DESC, 1";
            await ask(session, sql);
            const rows = asked(file, sql);
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
        /* what was asked stands in the address: a reload and "back" ask it again */
        const first = await session.state();
        await ask(session, "SELECT 7 AS seven");
        assert.deepEqual(Object.values((await session.json("Rows"))[0]), [7]);
        await page.reload();
        await session.settle();
        assert.deepEqual(Object.values((await session.json("Rows"))[0]), [7]);
        await session.back();
        assert.equal(await session.state(), first);
        assert.ok((await session.json("Rows")).length > 2);
        for (const index of [1, 2, 3, 4, 5]) {
            await page.selectOption("select[aria-label=Example]", { index });
            await session.settle();
            assert.equal(await page.locator(".main [role=alert]").count(), 0, `example ${index}`);
            assert.equal(await page.locator("[aria-label=Rows]").count(), 1, `example ${index}`);
        }
        await session.accessible("SQL");
        session.noErrors();
        await session.close();
    });

    test("SQL: while the profile is put into tables the page says so, and takes a statement", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        let goOn;
        const isHeld = new Promise((resolve) => {
            goOn = resolve;
        });
        await page.route(/\/query\b/, async (route) => {
            await isHeld;
            await route.continue();
        });
        await page.evaluate(() => {
            location.hash = "#/sql";
        });
        await page.waitForSelector("[data-engine]");
        assert.match(await session.text("[data-engine]"), /put into tables for SQL, once/);
        await page.fill("textarea.sql", "SELECT 7 AS seven");
        goOn();
        await page.waitForSelector("[data-engine]", { state: "detached" });
        await session.press("run");
        assert.deepEqual(Object.values((await session.json("Rows"))[0]), [7]);
        session.noErrors();
        await session.close();
    });

    test("SQL: nothing, an empty text, a number and its text look different", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        await session.go("sql");
        await ask(
            session,
            "SELECT NULL AS a, '' AS b, 'NULL' AS c, '1' AS d, 1 AS e, 9007199254740993 AS f," +
                " '<b>x</b>' AS g, x'00ff' AS h",
        );
        const cells = await page
            .locator("[aria-label=Rows] .row [role=gridcell]")
            .evaluateAll((all) => all.map((each) => [each.innerHTML, each.innerText]));
        assert.deepEqual(
            cells.map(([, text]) => text.trim()),
            ["NULL", "''", "NULL", "1", "1", "9007199254740993", "<b>x</b>", "x'00ff'"],
        );
        assert.match(cells[0][0], /<i/);
        assert.doesNotMatch(cells[2][0], /<i/);
        assert.deepEqual(Object.values((await session.json("Rows"))[0]), [
            null,
            "",
            "NULL",
            "1",
            1,
            "9007199254740993",
            "<b>x</b>",
            "x'00ff'",
        ]);
        session.noErrors();
        await session.close();
    });

    test("SQL: what writes, fails or has too many rows says so; views go on meanwhile", async () => {
        const session = await Session.open(world.browser, world.server),
            { page } = session;
        await session.go("sql");
        for (const [sql, why] of [
            ["DROP TABLE site", /does more than read/],
            ["SELECT missing FROM functions", /no such column: missing/],
            ["SELECT 1; SELECT 2", /one statement at a time/],
        ]) {
            await ask(session, sql);
            assert.match(await page.locator(".main [role=alert]").innerText(), why);
            assert.equal(await page.locator("[aria-label=Rows]").count(), 0);
        }
        session.errors.splice(0); /* the browser tells of answers of 400 */
        await ask(
            session,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        );
        assert.match(await page.locator(".main [role=status]").innerText(), /first 10,000 rows/);
        await page.fill("textarea.sql", endless);
        await page.locator(".main").getByRole("button", { name: "run", exact: true }).click();
        const other = await Session.open(world.browser, world.server);
        await other.go("functions");
        assert.ok((await other.json("Functions")).length > 2);
        await other.close();
        await session.close(); /* nobody waits for it: the next question is answered at once */
        const third = await Session.open(world.browser, world.server),
            began = Date.now();
        await third.go("sql");
        await ask(third, "SELECT 1 AS one");
        assert.deepEqual(Object.values((await third.json("Rows"))[0]), [1]);
        assert.ok(Date.now() - began < 15_000);
        third.noErrors();
        await third.close();
    });
}
