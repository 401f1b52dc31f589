/* The map of the heap: areas, where cells stand, and colours that can be told apart by all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
    areasOf,
    boxOf,
    cellAt,
    fillOf,
    fillTitles,
    heapColour,
    layOut,
    placeOf,
    type Area,
} from "../src/model/heap.ts";
import { luminance } from "../src/model/palette.ts";

test("a cell is as full as live blocks make it", () => {
    assert.deepEqual(
        [
            [0, 0, 0],
            [4096, 0, 0],
            [4096, 0, 1],
            [4096, 1023, 1],
            [4096, 1024, 1],
            [4096, 2048, 1],
            [4096, 3072, 9],
            [4096, 4095, 9],
            [4096, 4096, 1],
        ].map(([a, b, c]) => fillOf(a!, b!, c!)),
        [0, 1, 2, 2, 3, 4, 5, 5, 6],
    );
    assert.equal(fillTitles.length, 8);
});

test("of a cell of which something is not known it is not known how full it is", () => {
    for (const [resident, live, count] of [
        [NaN, 0, 0],
        [NaN, 100, 1],
        [4096, NaN, 1],
        [4096, 100, NaN],
    ] as const)
        assert.equal(fillTitles[fillOf(resident, live, count)], "not known");
    assert.equal(fillTitles[fillOf(4096, NaN, 0)], "no live block");
});

test("areas end where addresses leap", () => {
    assert.deepEqual(areasOf([0, 10, 20, 40, 50], [10, 10, 10, 10, 5]), [
        { first: 0, end: 3 },
        { first: 3, end: 5 },
    ]);
    assert.deepEqual(areasOf([], []), []);
});

test("each cell is found where it stands, whatever the areas", () => {
    for (const lengths of [
        [1],
        [30000, 20],
        [5, 5, 5, 5, 700, 1],
        Array.from({ length: 400 }, (_, at) => 1 + ((at * 37) % 90)),
    ])
        for (const width of [200, 640, 1300]) {
            const areas: Area[] = [];
            for (const length of lengths) {
                const first = areas.at(-1)?.end ?? 0;
                areas.push({ first, end: first + length });
            }
            const layout = layOut(areas, width),
                seen = new Set<string>();
            assert.equal(layout.places.length, areas.length);
            for (let cell = 0; cell < areas.at(-1)!.end; cell++) {
                const { x, y } = boxOf(layout, cell)!;
                assert.ok(
                    x >= 0 &&
                        x + layout.size <= Math.max(width, layout.size) &&
                        y + layout.size <= layout.height,
                    `${cell} is inside`,
                );
                assert.ok(!seen.has(`${x} ${y}`), `${cell} alone is there`);
                seen.add(`${x} ${y}`);
                assert.equal(cellAt(layout, x + layout.size / 2, y + layout.size / 2), cell);
                assert.ok(placeOf(layout.places, cell)!.first <= cell);
            }
        }
    assert.equal(cellAt(layOut([{ first: 0, end: 3 }], 500), 499, 5), -1);
});

/* Machado, Oliveira, Fernandes 2009, severity 1, on linear light. */
const visions: Record<string, number[]> = {
    all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    protanopia: [
        0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
    ],
    deuteranopia: [
        0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
    ],
    tritanopia: [
        1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
    ],
};
function lightness(colour: string, by: number[]): number {
    const linear = [1, 3, 5]
        .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    const seen = [0, 3, 6].map((row) =>
        Math.min(
            1,
            Math.max(
                0,
                by[row]! * linear[0]! + by[row + 1]! * linear[1]! + by[row + 2]! * linear[2]!,
            ),
        ),
    );
    const y = 0.2126 * seen[0]! + 0.7152 * seen[1]! + 0.0722 * seen[2]!;
    return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y; /* L* */
}
for (const dark of [false, true])
    for (const [name, by] of Object.entries(visions))
        test(`the fuller the deeper, ${dark ? "dark" : "light"}, ${name}`, () => {
            const steps = [1, 2, 3, 4, 5, 6].map((fill) => lightness(heapColour(fill, dark), by));
            for (let at = 1; at < steps.length; at++)
                assert.ok(
                    steps[at - 1]! - steps[at]! > 5,
                    `${at}: ${steps.map((each) => each.toFixed(1))}`,
                );
            const ground = lightness(heapColour(0, dark), by);
            for (const step of steps)
                assert.ok(
                    Math.abs(step - ground) > 11,
                    `${step.toFixed(1)} on ${ground.toFixed(1)}`,
                );
        });
test("each stands out from the ground of charts", () => {
    for (const dark of [false, true])
        for (let fill = 1; fill < fillTitles.length; fill++) {
            const [a, b] = [luminance(heapColour(fill, dark)), luminance(heapColour(0, dark))].sort(
                (x, y) => y - x,
            ) as [number, number];
            assert.ok((a + 0.05) / (b + 0.05) > 1.45, `${fill} ${dark}`);
        }
});
