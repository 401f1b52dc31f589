/* Compares two recordings, which may be of two builds. Functions are matched by names
 * (identity.ts), never by numbers or addresses. diffFlames() merges both call trees into one
 * whose frames have a value before and a value after. */
import type { Flame, FlameFrame } from "./flame.ts";
import type { Identities } from "./identity.ts";
import type { CallTree } from "./profile.ts";
import type { Unit } from "./units.ts";

export interface Pair {
    identity: number;
    name: string;
    file: string; /* where there are several of that name */
    before: number;
    after: number;
}

/* What functions of one of the two have, by identity. */
export function valuesOf(
    of: CallTree,
    byLine: Uint32Array,
    byKey: Uint32Array,
    count: number,
    column: ArrayLike<number>,
    inclusive: boolean,
    hide: boolean,
): Float64Array {
    if (inclusive) return of.passes.inclusiveListed(byLine, count, column, null, hide);
    const sums = new Float64Array(count);
    of.passes.exclusiveByKey(column, null, hide).forEach((value, key) => {
        sums[byKey[key]!]! += value;
    });
    return sums;
}

/* ---- Figures of whole runs ---- */

/* The figures that `tidemark diff` begins with (src/analysis/diff/diff.c, "totals"). `metric`: of call
 * paths, by which functions are compared; of some figures there is none. */
const figureRows: readonly { name: string; title: string; unit: Unit; metric?: string }[] = [
    { name: "peak_bytes", title: "peak", unit: "bytes", metric: "at_peak_bytes" },
    { name: "resident_peak_bytes", title: "resident peak", unit: "bytes" },
    { name: "live_bytes", title: "alive at the end", unit: "bytes", metric: "live_bytes" },
    { name: "live_count", title: "blocks at the end", unit: "count", metric: "live_count" },
    { name: "alloc_count", title: "allocations", unit: "count", metric: "alloc_count" },
    { name: "alloc_bytes", title: "bytes allocated", unit: "bytes", metric: "alloc_bytes" },
    { name: "temporary_count", title: "temporary", unit: "count", metric: "temporary_count" },
    { name: "realloc_count", title: "reallocations", unit: "count", metric: "realloc_count" },
    { name: "duration_ns", title: "duration", unit: "ns" },
];

export interface FigurePair {
    name: string;
    title: string;
    unit: Unit;
    metric: string | null;
    before: number | null; /* not known */
    after: number | null;
}

/* A run's figures by name: of the program, and how long it ran. */
export type Figures = Readonly<Record<string, number | null | undefined>>;

/* Figures that one of the two knows, in the order of `tidemark diff`. A duration is never scaled. */
export function pairFigures(before: Figures, after: Figures, scale: number): FigurePair[] {
    return figureRows
        .map(({ name, title, unit, metric }) => {
            const later = after[name] ?? null;
            return {
                name,
                title,
                unit,
                metric: metric ?? null,
                before: before[name] ?? null,
                after: later === null || unit === "ns" ? later : later * scale,
            };
        })
        .filter((row) => row.before !== null || row.after !== null);
}

/* What the later run is multiplied with, so that it is as long as the earlier one; null: of one of them it is not
 * known how long. As diff_set_scales() of src/analysis/diff/diff.c. */
export function scaleBetween(
    before: number | null | undefined,
    after: number | null | undefined,
): number | null {
    return before && after && before > 0 && after > 0 ? before / after : null;
}

/* Of the larger of both, from 0 to 1. Where both are next to nothing beside the figures of their
 * kind, the share is of a hundredth of those: 8 blocks that went are no large change of 26,000. */
export function changeOf(row: FigurePair, rows: readonly FigurePair[]): number {
    if (row.before === null || row.after === null) return 0;
    const kind = row.unit === "bytes" ? "peak_bytes" : "alloc_count";
    const beside = rows.find((each) => each.name === kind);
    const least = Math.max(beside?.before ?? 0, beside?.after ?? 0) / 100;
    const most = Math.max(row.before, row.after, least);
    return most ? Math.abs(row.after - row.before) / most : 0;
}

/* The metric of call paths whose figure changed most; null: none changed. */
export function mostChanged(rows: readonly FigurePair[]): string | null {
    let best: FigurePair | null = null;
    for (const row of rows)
        if (row.metric && changeOf(row, rows) > (best ? changeOf(best, rows) : 0)) best = row;
    return best?.metric ?? null;
}

/* ---- Functions ---- */

/* Functions of both, by identity. */
export function pairFunctions(
    { names, files }: Pick<Identities, "names" | "files">,
    a: Float64Array,
    b: Float64Array,
    scale: number,
): Pair[] {
    const pairs: Pair[] = [];
    names.forEach((name, identity) => {
        const before = a[identity]!,
            after = b[identity]! * scale;
        if (before > 0 || after > 0)
            pairs.push({
                identity,
                name,
                file: files[identity]!,
                before: before > 0 ? before : 0,
                after: after > 0 ? after : 0,
            });
    });
    return pairs;
}

export interface DiffFlame extends Flame {
    before: Float64Array;
    after: Float64Array;
    names: string[];
    places: string[];
}

interface Node {
    name: string;
    place: string;
    before: number;
    after: number;
    isClosed: boolean; /* in one of the two: what is below it there is not known */
    children: Map<number, Node>;
}

function addFlame(
    root: Node,
    flame: Flame,
    namer: Namer,
    side: "before" | "after",
    factor: number,
): void {
    const nodes: Node[] = [];
    const isOpen = new Uint8Array(flame.frames.length);
    for (const { parent } of flame.frames) if (parent >= 0) isOpen[parent] = 1;
    flame.frames.forEach((frame, at) => {
        let node = root;
        if (at > 0) {
            const identity = namer.identity(frame.line);
            const above = nodes[frame.parent]!;
            let found = above.children.get(identity);
            if (!found)
                above.children.set(
                    identity,
                    (found = {
                        name: namer.name(identity),
                        place: namer.place(frame.line),
                        before: 0,
                        after: 0,
                        isClosed: false,
                        children: new Map(),
                    }),
                );
            node = found;
        }
        node[side] += frame.value * factor;
        if (!isOpen[at] && !frame.self && frame.value > 0) node.isClosed = true;
        nodes.push(node);
    });
}

/* Those that are open, parents first. Call paths are too long for functions that call themselves. */
function openNodes(root: Node): Node[] {
    const nodes = [root];
    for (let at = 0; at < nodes.length; at++) {
        const node = nodes[at]!;
        if (node.isClosed) node.children.clear();
        for (const child of node.children.values()) nodes.push(child);
    }
    return nodes;
}

/* How wide each is: at least as wide as all that is below it. */
function widthsOf(root: Node): Map<Node, number> {
    const widths = new Map<Node, number>(),
        nodes = openNodes(root);
    for (let at = nodes.length - 1; at >= 0; at--) {
        const node = nodes[at]!;
        let below = 0;
        for (const child of node.children.values()) below += widths.get(child)!;
        widths.set(node, Math.max(node.before, node.after, below));
    }
    return widths;
}

/* One tree of both: as wide as the larger of the two, so that what went and what came can be
 * seen. A frame that was too narrow to be opened in one of them is not opened: what is below it in
 * the other would look new. */
export function diffFlames(
    a: Flame,
    namesA: Namer,
    b: Flame,
    namesB: Namer,
    scale: number,
): DiffFlame {
    const root: Node = {
        name: "all",
        place: "",
        before: 0,
        after: 0,
        isClosed: false,
        children: new Map(),
    };
    addFlame(root, a, namesA, "before", 1);
    addFlame(root, b, namesB, "after", scale);
    const widths = widthsOf(root);
    const frames: FlameFrame[] = [],
        before: number[] = [],
        after: number[] = [],
        names: string[] = [],
        places: string[] = [];
    let deepest = 0;
    const waiting = [{ node: root, parent: -1, depth: 0, start: 0 }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
        const { node, parent, depth, start } = next,
            at = frames.length;
        deepest = Math.max(deepest, depth);
        frames.push({
            key: at ? at : -1,
            line: at ? at : -1,
            parent,
            depth,
            start,
            value: widths.get(node)!,
            self: 0,
            more: [],
        });
        before.push(node.before);
        after.push(node.after);
        names.push(node.name);
        places.push(node.place);
        let left = start;
        const below = [...node.children.values()]
            .sort((x, y) => widths.get(y)! - widths.get(x)!)
            .map((child) => {
                const placed = { node: child, parent: at, depth: depth + 1, start: left };
                left += widths.get(child)!;
                return placed;
            });
        for (let last = below.pop(); last; last = below.pop()) waiting.push(last);
    }
    return {
        frames,
        depth: deepest,
        cut: a.cut + b.cut,
        before: Float64Array.from(before),
        after: Float64Array.from(after),
        names,
        places,
    };
}
export interface Namer {
    identity: (line: number) => number;
    name: (identity: number) => string;
    place: (line: number) => string;
}

/* From blue (less) over the ground to orange (more): told apart without colour vision. */
export function differenceColour(before: number, after: number, dark: boolean): string {
    const most = Math.max(before, after);
    const share = most ? (after - before) / most : 0;
    const ground = dark ? [44, 50, 57] : [232, 235, 239];
    const to =
        share > 0
            ? dark
                ? [200, 90, 20]
                : [240, 128, 50]
            : dark
              ? [40, 110, 190]
              : [90, 165, 225];
    const hex = ground.map((from, at) =>
        Math.round(from + (to[at]! - from) * Math.min(1, Math.abs(share)))
            .toString(16)
            .padStart(2, "0"),
    );
    return `#${hex.join("")}`;
}
