/* Profiles that are damaged and can still be read: every view opens without an exception, whatever numbers
 * and rows are missing or make no sense. A packed profile whose bytes were changed is refused, so databases
 * are damaged here (tidemark unpack). */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";
import { views } from "./views.mjs";

const more = [
    ["growth", { opt: "as:looks" }],
    ["growth", { opt: "as:looks,subject:held" }],
    ["growth", { opt: "as:flame" }],
    ["tree", { opt: "as:down" }],
    ["timeline", { from: "1000000", to: "90000000" }],
    ["timeline", { from: "5000000", to: "5000000" }],
];

const huge = "4611686018427387904"; /* 2^62 */
const statements = {
    "a level that no memory has": `UPDATE timeline SET requested_max = ${huge} WHERE rowid % 5 = 0`,
    "no modules": "DELETE FROM module",
    "no variables": "DELETE FROM section; DELETE FROM variable",
    "looks without figures": "UPDATE sample SET resident_bytes = NULL",
    "holders below nobody": "UPDATE holder SET parent = 99999 WHERE id % 3 = 0",
    "owners and mappings of no kind": "UPDATE owner SET kind = 77; UPDATE mapping SET kind = 99",
    "stacks and threads without end": `UPDATE thread SET start_ns = ${huge}, end_ns = 1`,
    "one reading of the machine, as of any short program":
        "DELETE FROM machine_memory; INSERT INTO machine_memory(time_ns, available_bytes) VALUES (101281084, 5000000000)",
    "curves out of order": "UPDATE curve SET time_ns = 0, bytes = -1 WHERE rowid % 2 = 0",
};

const script =
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()";

/* Bits of a file behind its first page, which are the same for a seed. */
function flipBits(file, seed) {
    const bytes = readFileSync(file);
    let state = seed;
    const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 8;
    for (let turn = 0; turn < 12; turn++)
        bytes[4096 + (random() % (bytes.length - 4096))] ^= 1 << (random() % 8);
    writeFileSync(file, bytes);
}

export function testDamaged(world) {
    const unpacked = (kind) => {
        const file = join(world.work, `${kind}.damaged.db`);
        execFileSync(world.tidemark, ["unpack", world.profiles[kind], file]);
        return file;
    };
    const look = async (file, what) => {
        const server = await serve(world.tidemark, [file]).catch(() => null);
        if (!server) return false; /* it is refused in a sentence */
        const session = await Session.open(world.browser, server);
        /* others have nothing of one profile */
        const some = views.filter((view) => !["jobs", "compare", "notes", "sql"].includes(view));
        for (const [view, query] of [...some.map((view) => [view, {}]), ...more]) {
            await session.go(view, query);
            const text = await session.text("body");
            assert.doesNotMatch(
                text,
                /\bNaN\b|undefined|Infinity|:null\b|\[object/,
                `${what}: ${view}`,
            );
            assert.deepEqual(session.errors, [], `${what}: ${view}`);
        }
        await session.close();
        await server.stop();
        return true;
    };

    test("each view opens on a damaged profile", async (t) => {
        if (spawnSync("python3", ["-c", "import sqlite3"]).status)
            return t.skip("no sqlite3 in Python here");
        const whole = unpacked("held"),
            file = join(world.work, "damaged.db");
        let opened = 0;
        for (const [what, statement] of Object.entries(statements)) {
            copyFileSync(whole, file);
            spawnSync("python3", ["-c", script, file, statement]);
            opened += await look(file, what);
        }
        assert.ok(opened >= 6, `${opened} of them could be read`);
    });

    test("each view opens on a profile some of whose bits have changed", async () => {
        const whole = unpacked("threads"),
            file = join(world.work, "damaged.db");
        for (const seed of [1, 2]) {
            copyFileSync(whole, file);
            flipBits(file, seed);
            await look(file, `bits, seed ${seed}`);
        }
    });
}
