/* The picture of the address space adds up, whatever was mapped. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { areasOf, type Heap } from "../src/model/heap.ts";
import { pictureOf, sizeOf, spaceOf, type Mapping, type Measure } from "../src/model/space.ts";

const PAGE = 4096;
let seed = 11;
const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;

function heapOf(sample: number, pages: number): Heap {
    const address = new Float64Array(pages),
        resident = new Float64Array(pages);
    let at = 0x7f0000000000;
    for (let page = 0; page < pages; page++) {
        at += PAGE * (random(50) ? 1 : 1 + random(9));
        address[page] = at;
        resident[page] = random(2) ? PAGE : 0;
    }
    const bytes = new Float64Array(pages).fill(PAGE),
        none = new Float64Array(pages);
    return {
        sample,
        address,
        bytes,
        resident,
        live: none,
        count: none,
        pinned: none,
        node: new Uint32Array(pages),
        fill: new Uint8Array(pages),
        areas: areasOf(address, bytes),
        cellBytes: PAGE,
    };
}

const row = (kind: string, path: string | null, virtual: number, resident: number): Mapping => ({
    sample: 3,
    kind,
    path,
    count: 1,
    virtual_bytes: virtual,
    resident_bytes: resident,
    proportional_bytes: resident,
    unique_bytes: resident,
    swapped_bytes: 0,
});

function check(space: ReturnType<typeof spaceOf>, by: Measure, whole: number): void {
    const { flame, parts } = pictureOf(space, by),
        below = new Float64Array(parts.length);
    assert.equal(flame.frames[0]!.value, whole);
    flame.frames.forEach((frame, at) => {
        assert.equal(frame.value, sizeOf(parts[at]!, by));
        if (at) {
            const parent = flame.frames[frame.parent]!;
            assert.ok(frame.parent < at && frame.value > 0);
            assert.ok(frame.start >= parent.start);
            assert.ok(frame.start + frame.value <= parent.start + parent.value);
            below[frame.parent]! += frame.value;
        }
    });
    flame.frames.forEach((frame, at) => assert.equal(frame.self, frame.value - below[at]!));
    parts.forEach((part, at) => part.children.length && assert.equal(flame.frames[at]!.self, 0));
}

test("all mappings, and inside the allocator's its pages, each once", () => {
    for (let round = 0; round < 40; round++) {
        const pages = random(9000),
            heap = heapOf(3, pages);
        const mapped = heap.resident.reduce((sum, each) => sum + each, 0);
        const rows = [
            row("heap", "[heap]", PAGE * pages + PAGE * random(5), mapped),
            row("anonymous", null, PAGE * random(100), 0),
            row("text", "/usr/lib/libc.so.6", PAGE * (1 + random(100)), PAGE),
            row("rodata", "/usr/lib/libc.so.6", PAGE * (1 + random(100)), 0),
            row("reserved", null, PAGE * random(1000), 0),
            { ...row("text", "of another look", 7 * PAGE, PAGE), sample: 2 },
        ];
        const space = spaceOf(rows, 3, heap);
        assert.equal(space.hasPages, pages > 0);
        for (const by of ["virtual", "resident"] as const)
            check(
                space,
                by,
                rows
                    .filter((each) => each.sample === 3)
                    .reduce((sum, each) => sum + each[`${by}_bytes`]!, 0),
            );
        const cells = pictureOf(space, "virtual").parts.filter((part) => part.cell >= 0);
        assert.equal(cells.length, pages);
    }
});

test("pages that cannot be inside what is mapped are left out", () => {
    const heap = heapOf(3, 100);
    assert.equal(spaceOf([row("anonymous", null, 99 * PAGE, 99 * PAGE)], 3, heap).hasPages, false);
    assert.equal(spaceOf([row("anonymous", null, 999 * PAGE, 0)], 3, heap).hasPages, false);
    assert.equal(spaceOf([row("anonymous", null, 999 * PAGE, 0)], 2, heap).hasPages, false);
});

test("what is not known is not 0", () => {
    const unknown = { ...row("text", "x", PAGE, 0), resident_bytes: null };
    assert.equal(spaceOf([unknown, row("text", "y", PAGE, PAGE)], 3, null).root.resident, null);
});
