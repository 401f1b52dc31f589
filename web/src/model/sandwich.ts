/* One function in the midst of its callers and callees: what it holds, itself and with all below, in
 * several metrics; who calls it and whom it calls, and its level over time. */
import { sumsAt, type Curves } from "./curves.ts";
import { edgesOf, type Edge } from "./graph.ts";
import type { CallTree } from "./profile.ts";
import type { Work } from "./slices.ts";
import { listed, type TreePasses, type Wanted } from "./tree.ts";
import { exact } from "./units.ts";

/* Sites whose path leads through the function, by site and as a list; and those that are listed under it. */
export interface Through {
    isThrough: Uint8Array;
    inclusive: Uint32Array;
    exclusive: Uint32Array;
}

export function* throughFunction(
    { tree, passes }: CallTree,
    key: number,
    wanted: Wanted,
    hide: boolean,
): Work<Through> {
    const matches = new Uint8Array(tree.keyCount);
    matches[key] = 1;
    const isThrough = yield* passes.throughInSlices(matches);
    const lines = yield* passes.exclusiveLinesInSlices(hide),
        isOwn = new Uint8Array(isThrough.length);
    for (let site = 0; site < isThrough.length; site++) {
        if ((site & 0x3fff) === 0x3fff) yield;
        if (wanted && !wanted[site]) isThrough[site] = 0;
        else if (tree.lineKey[lines[site]!] === key) isOwn[site] = 1;
    }
    return { isThrough, inclusive: listed(isThrough), exclusive: listed(isOwn) };
}

export function sumOf(column: ArrayLike<number>, sites: Uint32Array): number {
    let sum = 0;
    for (let at = 0; at < sites.length; at++) sum += column[sites[at]!]!;
    return sum;
}

/* What every pane of a graph reads, whatever function it is about. */
export interface Ground {
    column: Float64Array; /* what is drawn */
    edges: readonly Edge[];
    whole: number;
}

export function* groundOf(
    passes: TreePasses,
    shown: ArrayLike<number>,
    wanted: Wanted,
    hide: boolean,
): Work<Ground> {
    const column = drawnPart(shown),
        edges = yield* edgesOf(passes, column, wanted, hide);
    yield;
    let whole = 0;
    for (let site = 0; site < column.length; site++)
        if (!wanted || wanted[site]) whole += column[site]!;
    return { column, edges, whole };
}

/* What a flame graph gives width to: what went, or is not known, has none. */
export function drawnPart(column: ArrayLike<number>): Float64Array {
    const drawn = new Float64Array(column.length);
    for (let site = 0; site < drawn.length; site++)
        if (column[site]! > 0) drawn[site] = column[site]!;
    return drawn;
}
export function wentPart(column: ArrayLike<number>): Float64Array {
    const went = new Float64Array(column.length);
    for (let site = 0; site < went.length; site++)
        if (column[site]! < 0) went[site] = column[site]!;
    return went;
}

/* Of how many call paths the figure is not known. */
export function unknownIn(column: ArrayLike<number>, wanted: Wanted): number {
    let count = 0;
    for (let site = 0; site < column.length; site++)
        if ((!wanted || wanted[site]) && Number.isNaN(column[site]!)) count++;
    return count;
}
/* What is said of them; "": there are none. */
export const unknownSaid = (count: number): string =>
    count === 0
        ? ""
        : count === 1
          ? "of one more call path it is not known"
          : `of ${exact(count, "count")} more call paths it is not known`;

export interface Neighbour {
    key: number;
    value: number;
}

/* Callers and callees, the largest first; itself is neither. */
export function neighbours(
    edges: readonly Edge[],
    key: number,
): { callers: Neighbour[]; callees: Neighbour[] } {
    const largest = (list: Neighbour[]) =>
        list.filter((each) => each.value > 0).sort((a, b) => b.value - a.value);
    return {
        callers: largest(
            edges
                .filter((edge) => edge.to === key && edge.from !== key)
                .map(({ from, value }) => ({ key: from, value })),
        ),
        callees: largest(
            edges
                .filter((edge) => edge.from === key && edge.to !== key)
                .map(({ to, value }) => ({ key: to, value })),
        ),
    };
}

const AT_ONCE = 512; /* curves between two moments at which the work can be left */

/* Live bytes of all paths through it, at `count` moments of the run; null: none of them has a curve. */
export function* levelOver(
    { passes }: CallTree,
    curves: Curves,
    wanted: Uint8Array,
    endNs: number,
    count: number,
): Work<Float64Array | null> {
    const levels = new Float64Array(count),
        moments = levels.map((_, at) => (endNs * (at + 0.5)) / count);
    const chosen: number[] = [];
    curves.node.forEach((node, curve) => {
        const site = passes.siteOf(node);
        if (site >= 0 && wanted[site]) chosen.push(curve);
    });
    for (let first = 0; first < chosen.length; first += AT_ONCE) {
        yield;
        sumsAt(curves, chosen.slice(first, first + AT_ONCE), moments).forEach((sum, at) => {
            levels[at]! += sum;
        });
    }
    return chosen.length ? levels : null;
}
