/* The first forty modules can be told apart, also without colour vision in good part, and words on
 * them read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isStriped, luminance, moduleColour, textColour } from "../src/model/palette.ts";

const contrast = (a: string, b: string) =>
    (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);

for (const dark of [false, true]) {
    const theme = dark ? "dark" : "light";
    test(`forty modules look different, ${theme}`, () => {
        const looks = Array.from(
            { length: 40 },
            (_, place) => `${moduleColour(place, dark)} ${isStriped(place)}`,
        );
        assert.equal(new Set(looks).size, 40);
    });
    test(`the eleventh is the first, striped; the twenty-first is deeper, ${theme}`, () => {
        assert.equal(moduleColour(10, dark), moduleColour(0, dark));
        assert.ok(isStriped(10) && !isStriped(0) && !isStriped(20) && isStriped(30));
        for (let place = 0; place < 10; place++)
            assert.ok(
                contrast(moduleColour(place, dark), moduleColour(place + 20, dark)) > 1.3,
                `${place}`,
            );
    });
    test(`words can be read on each, ${theme}`, () => {
        for (let place = -1; place < 40; place++) {
            const ground = moduleColour(place, dark);
            assert.ok(contrast(ground, textColour(ground)) >= 4.5, `${place} ${ground}`);
        }
    });
}
