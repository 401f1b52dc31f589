/* Elements have no style of their own but custom properties: how things look stands in app.css.
 * Values that come of data (widths, places, tones) are custom properties, which app.css uses. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(tsx?|html)$/.test(name))
    .map((name) => [name, readFileSync(join("src", name), "utf8")] as const);
const sheet = readFileSync("src/style/app.css", "utf8");

test("elements have no style of their own but custom properties, and app.css uses each of them", () => {
    let seen = 0;
    for (const [name, text] of sources) {
        assert.doesNotMatch(text, /\sstyle=["'`]/, `${name}: a style attribute`);
        for (const [all, inside] of text.matchAll(/\sstyle=\{([\s\S]*?)\}\}?[\s/>]/g)) {
            seen++;
            const keys = [...inside!.matchAll(/(?:^\{|,)\s*([\w"'-]+):/g)].map(([, key]) => key!);
            assert.ok(keys.length > 0, `${name}: ${all}`);
            for (const key of keys) {
                assert.match(key, /^"--[a-z]+"$/, `${name}: ${all.trim()}`);
                assert.ok(
                    sheet.includes(`var(${key.slice(1, -1)})`),
                    `app.css does not use ${key}`,
                );
            }
        }
    }
    assert.ok(seen > 10, "the elements were found");
});
