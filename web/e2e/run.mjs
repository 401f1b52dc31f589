/* node e2e/run.mjs TIDEMARK TOOLS: every view in a real browser on real profiles. TOOLS: the folder
 * of the programs of tests/web, built. BROWSER=firefox: in Firefox. Exit status 77: no browser
 * here. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { browse, browserPath, downloads, serve, stopAll } from "./serve.mjs";
import { makeProfiles } from "./profiles.mjs";
import { testAccess } from "./access.mjs";
import { testCompare } from "./compare.mjs";
import { testCurves } from "./curves.mjs";
import { testFile } from "./file.mjs";
import { testDamaged } from "./damaged.mjs";
import { testFigures } from "./figures.mjs";
import { testGrowth } from "./growth.mjs";
import { testHeap } from "./heap.mjs";
import { testHostile } from "./hostile.mjs";
import { testImported } from "./imported.mjs";
import { testInteraction } from "./interaction.mjs";
import { testJobs } from "./jobs.mjs";
import { testKeeping } from "./keeping.mjs";
import { testLevel } from "./level.mjs";
import { testLive } from "./live.mjs";
import { testLooks } from "./looks.mjs";
import { testMany } from "./many.mjs";
import { testNameless } from "./nameless.mjs";
import { testNotes } from "./notes.mjs";
import { testOrder } from "./order.mjs";
import { testPairs } from "./pairs.mjs";
import { testRegion } from "./region.mjs";
import { testSandwich } from "./sandwich.mjs";
import { testSearch } from "./search.mjs";
import { testSpace } from "./space.mjs";
import { testSql } from "./sql.mjs";
import { testSummary } from "./summary.mjs";
import { testTrace } from "./trace.mjs";
import { testViewer } from "./viewer.mjs";
import { testViews } from "./views.mjs";

const [tidemark, tools] = process.argv.slice(2);
if (!tidemark || !tools) {
    console.error("Usage: node e2e/run.mjs TIDEMARK TOOLS");
    process.exit(2);
}
if (!existsSync(browserPath)) {
    console.log(`skipped: no browser at ${browserPath}; install it, or set CHROMIUM or FIREFOX`);
    process.exit(77);
}

/* What all tests share; filled before the first. */
const world = { tidemark, tools, work: await mkdtemp(join(tmpdir(), "tidemark-views-")) };
world.profiles = makeProfiles(tidemark, tools, world.work);

describe("the web view", { concurrency: false }, () => {
    before(async () => {
        world.browser = await browse();
        world.server = await serve(tidemark, [world.profiles.threads, world.profiles.again]);
    });
    after(async () => {
        stopAll();
        await world.browser.close();
        for (const folder of [world.work, downloads])
            if (folder) await rm(folder, { recursive: true, force: true });
    });
    testAccess(world);
    testViews(world);
    testFigures(world);
    testKeeping(world);
    testImported(world);
    testInteraction(world);
    testSandwich(world);
    testSearch(world);
    testPairs(world);
    testOrder(world);
    testSummary(world);
    testCompare(world);
    testCurves(world);
    testGrowth(world);
    testLooks(world);
    testTrace(world);
    testRegion(world);
    testLevel(world);
    testJobs(world);
    testSql(world);
    testNotes(world);
    testFile(world);
    testViewer(world);
    testHeap(world);
    testSpace(world);
    testHostile(world);
    testDamaged(world);
    testLive(world);
    testMany(world);
    testNameless(world);
});
