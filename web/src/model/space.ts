/* The address space as one picture (views/space.tsx): all mappings of a look at the process by kind
 * and file, each as wide as it is large, and inside the allocator's memory its areas by address and
 * their pages. A mapping's own addresses are in no profile; those of the heap's pages are. */
import { nameMark, type Flame, type FlameFrame } from "./flame.ts";
import type { Heap } from "./heap.ts";

export interface Mapping {
    sample: number;
    kind: string;
    path: string | null;
    count: number;
    virtual_bytes: number;
    resident_bytes: number | null;
    proportional_bytes: number | null;
    unique_bytes: number | null;
    swapped_bytes: number | null;
}

/* As wide as what is mapped, or as what of it is resident. */
export type Measure = "virtual" | "resident";

/* What the colour of a part says. */
export type Tone =
    "allocator" | "program" | "files" | "stacks" | "tool" | "kernel" | "reserved" | "other";

export interface Part {
    name: string;
    tone: Tone;
    virtual: number;
    resident: number | null; /* null: not known, as the others */
    swapped: number | null;
    count: number; /* of mappings, areas, pages */
    cell: number; /* of the heap's map; -1: none */
    children: Part[];
}

const tones: Record<string, Tone> = {
    heap: "allocator",
    anonymous: "allocator",
    text: "files",
    rodata: "files",
    file: "files",
    "shared file": "files",
    data: "program",
    bss: "program",
    "main stack": "stacks",
    "thread stack": "stacks",
    stack: "stacks",
    tool: "tool",
    vdso: "kernel",
    reserved: "reserved",
};
export const toneTitles: Record<Tone, string> = {
    allocator: "blocks and what the program maps",
    program: "variables",
    files: "code and files",
    stacks: "stacks",
    tool: "recorder",
    kernel: "kernel",
    reserved: "reserved, nothing behind it",
    other: "other",
};

const hex = (address: number) => "0x" + address.toString(16);

const plus = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);

function partOf(name: string, tone: Tone, children: Part[]): Part {
    const part: Part = {
        name,
        tone,
        virtual: 0,
        resident: 0,
        swapped: 0,
        count: 0,
        cell: -1,
        children,
    };
    for (const child of children) {
        part.virtual += child.virtual;
        part.resident = plus(part.resident, child.resident);
        part.swapped = plus(part.swapped, child.swapped);
        part.count += child.count;
    }
    return part;
}

const leafOf = (row: Mapping, tone: Tone): Part => ({
    name: row.path ?? "without a name",
    tone,
    virtual: row.virtual_bytes,
    resident: row.resident_bytes,
    swapped: row.swapped_bytes,
    count: row.count,
    cell: -1,
    children: [],
});

/* ---- The heap's pages ---- */

function cellOf(heap: Heap, cell: number): Part {
    return {
        name: hex(heap.address[cell]!),
        tone: "allocator",
        virtual: heap.bytes[cell]!,
        resident: heap.resident[cell]!,
        swapped: null,
        count: 1,
        cell,
        children: [],
    };
}

/* Cells of an area in stretches of 64, and those in stretches again: what is zoomed has a name. */
const FAN = 64;

function stretchesOf(heap: Heap, first: number, end: number): Part[] {
    const size = end - first;
    if (size <= FAN) return Array.from({ length: size }, (_, at) => cellOf(heap, first + at));
    let step = FAN;
    while (Math.ceil(size / step) > FAN) step *= FAN;
    const parts: Part[] = [];
    for (let at = first; at < end; at += step) {
        const cells = stretchesOf(heap, at, Math.min(end, at + step));
        parts.push(partOf(`${cells[0]!.name.replace(/–.*/, "")}–`, "allocator", cells));
    }
    return parts;
}

function areasOf(heap: Heap): Part {
    const areas = heap.areas.map(({ first, end }) =>
        partOf(`area ${hex(heap.address[first]!)}`, "allocator", stretchesOf(heap, first, end)),
    );
    return partOf("the allocator's areas, by address", "allocator", areas);
}

/* ---- All of it ---- */

/* A mapping in an address: by what it is and its file, since a profile has those of one kind and file
 * as one row. Where it lay changes with each run. */
export const mappingMark = (kind: string, path: string | null): string =>
    nameMark(`${kind}\n${path ?? ""}`);

export interface Space {
    root: Part;
    /* What the map of the heap has is inside the mappings that it must be inside of; false: it is
     * not shown here, since it would not add up. */
    hasPages: boolean;
}

function kindsOf(rows: readonly Mapping[]): Part[] {
    const kinds = new Map<string, Part[]>();
    for (const row of rows) {
        const leaf = leafOf(row, tones[row.kind] ?? "other"),
            list = kinds.get(row.kind);
        if (list) list.push(leaf);
        else kinds.set(row.kind, [leaf]);
    }
    return [...kinds].map(([kind, list]) => partOf(kind, tones[kind] ?? "other", list));
}

/* The memory that an allocator can have: its areas, where they are known, and what is left of it. */
function withPages(kinds: Part[], heap: Heap): Part | null {
    const own = partOf(
            "heap and anonymous",
            "allocator",
            kinds.filter((kind) => kind.name === "heap" || kind.name === "anonymous"),
        ),
        areas = areasOf(heap);
    if (!heap.areas.length || areas.virtual > own.virtual) return null;
    if (own.resident === null || areas.resident! > own.resident) return null;
    const rest: Part = {
        ...own,
        name: "mapped by the program, and what the allocator holds elsewhere",
        virtual: own.virtual - areas.virtual,
        resident: own.resident - areas.resident!,
        children: [],
    };
    return { ...own, children: [areas, rest] };
}

export function spaceOf(mappings: readonly Mapping[], sample: number, heap: Heap | null): Space {
    const kinds = kindsOf(mappings.filter((row) => row.sample === sample));
    const own = heap && heap.sample === sample ? withPages(kinds, heap) : null;
    const parts = own
        ? [own, ...kinds.filter((kind) => kind.name !== "heap" && kind.name !== "anonymous")]
        : kinds;
    return { root: partOf("the address space", "other", parts), hasPages: own !== null };
}

export const sizeOf = (part: Part, by: Measure): number =>
    by === "virtual" ? part.virtual : (part.resident ?? 0);

export interface SpacePicture {
    flame: Flame;
    parts: Part[]; /* by frame */
}

/* As frames of a picture: of the largest first, pages in order of address. What has no width is not
 * there. */
export function pictureOf({ root }: Space, by: Measure): SpacePicture {
    const parts = [root],
        frames: FlameFrame[] = [];
    const frame = (part: Part, parent: number, depth: number, start: number): FlameFrame => ({
        key: -1,
        line: -1,
        parent,
        depth,
        start,
        value: sizeOf(part, by),
        self: 0,
        more: [],
    });
    frames.push(frame(root, -1, 0, 0));
    let deepest = 0;
    for (let at = 0; at < parts.length; at++) {
        const { children } = parts[at]!,
            own = frames[at]!;
        const inOrder = children.some((child) => child.cell >= 0 || child.name.endsWith("–"));
        const list = children.filter((child) => sizeOf(child, by) > 0);
        if (!inOrder) list.sort((a, b) => sizeOf(b, by) - sizeOf(a, by));
        let start = own.start;
        for (const child of list) {
            frames.push(frame(child, at, own.depth + 1, start));
            parts.push(child);
            start += sizeOf(child, by);
            deepest = Math.max(deepest, own.depth + 1);
        }
        own.self = own.start + own.value - start;
    }
    return { flame: { frames, depth: deepest, cut: 0 }, parts };
}
