/* Live bytes of single call paths over time (doc/API.md, "curves"). A curve is a step function:
 * its points are sorted by time and found by bisection. */
import { numbers, whole, type ColumnsDocument } from "../data/columns.ts";

export interface Curves {
    node: Uint32Array;
    first: Uint32Array;
    time: Float64Array;
    level: Float64Array;
    threshold: Float64Array;
    stretch: Float64Array;
}

const read = new WeakMap<ColumnsDocument, Curves>(); /* of long runs there are millions of points */
export function readCurves(document: ColumnsDocument): Curves {
    const known = read.get(document);
    if (known) return known;
    const curves = {
        node: whole(document, "node"),
        first: whole(document, "first"),
        time: numbers(document, "time_ns"),
        level: numbers(document, "bytes"),
        threshold: numbers(document, "threshold_bytes"),
        stretch: numbers(document, "stretch_ns"),
    };
    read.set(document, curves);
    return curves;
}

/* What a curve says of a moment: a step function, 0 before its first point. */
export function levelAt(curves: Curves, curve: number, ns: number): number {
    let low = curves.first[curve]!,
        high = curves.first[curve + 1]!;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (curves.time[middle]! <= ns) low = middle + 1;
        else high = middle;
    }
    return low === curves.first[curve]! ? 0 : curves.level[low - 1]!;
}

/* What curves hold together at instants that rise: one way along each curve. */
export function sumsAt(
    curves: Curves,
    chosen: readonly number[],
    instants: Float64Array,
): Float64Array {
    const sums = new Float64Array(instants.length),
        { first, time, level } = curves;
    for (const curve of chosen) {
        const end = first[curve + 1]!;
        let point = first[curve]!,
            now = 0;
        for (let at = 0; at < instants.length; at++) {
            while (point < end && time[point]! <= instants[at]!) now = level[point++]!;
            sums[at]! += now;
        }
    }
    return sums;
}

/* A curve's first point at or behind a moment; its end: there is none. */
function pointFrom({ first, time }: Curves, curve: number, ns: number): number {
    let low = first[curve]!,
        high = first[curve + 1]!;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (time[middle]! < ns) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* How far from the truth that level may be; NaN: the profile does not say. A curve of stretches was
 * at that moment something between the highest and the lowest level near it. */
export function boundAt(curves: Curves, curve: number, ns: number): number {
    const level = levelAt(curves, curve, ns),
        stretch = curves.stretch[curve]!;
    let bound = Math.max(curves.threshold[curve]!, 0.05 * level);
    if (!stretch) return bound;
    const entry = levelAt(curves, curve, ns - stretch);
    bound = Math.max(bound, Math.abs(entry - level));
    const end = curves.first[curve + 1]!;
    for (let at = pointFrom(curves, curve, ns - stretch); at < end; at++) {
        if (curves.time[at]! > ns + stretch) break;
        bound = Math.max(bound, Math.abs(curves.level[at]! - level));
    }
    return bound;
}

/* The highest that a curve of stretches may have been at that moment; of others what it says. */
export function highestNear(curves: Curves, curve: number, ns: number): number {
    const stretch = curves.stretch[curve]!;
    let highest = levelAt(curves, curve, ns);
    if (!stretch) return highest;
    const end = curves.first[curve + 1]!;
    for (let at = pointFrom(curves, curve, ns - stretch); at < end; at++) {
        if (curves.time[at]! > ns + stretch) break;
        highest = Math.max(highest, curves.level[at]!);
    }
    return highest;
}

/* What several hold at a moment at which all of the program has `level`, where they may hold more than
 * `held`, at most `highest`: as much more, in proportion, as the level has room for. So a stack of those that swing
 * does not say that others had what they hold. */
export function raised(
    held: readonly number[],
    highest: readonly number[],
    level: number,
): number[] {
    const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
    const room = Math.max(0, level - sum(held)),
        more = sum(highest) - sum(held);
    const part = more > 0 ? Math.min(1, room / more) : 0;
    return held.map((own, at) => own + part * (highest[at]! - own));
}

/* The first of numbers that rise which is not less. */
function placeIn(rising: Float64Array, number: number): number {
    let low = 0,
        high = rising.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rising[middle]! < number) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The instants that a chart shows, one for each interval between two edges: that at which the chosen
 * curves together are highest. The moment of the program's own peak is the instant of its interval. A
 * chart of even samples would miss whatever rises and falls between two of them. */
export function crests(
    curves: Curves,
    chosen: readonly number[],
    edges: Float64Array,
    peak: number,
): Float64Array {
    const intervals = Math.max(0, edges.length - 1);
    const times: number[] = [],
        changes: number[] = [];
    let total = 0;
    for (const curve of chosen) {
        let level = levelAt(curves, curve, edges[0]!);
        total += level;
        for (let at = curves.first[curve]!; at < curves.first[curve + 1]!; at++) {
            if (curves.time[at]! <= edges[0]! || curves.time[at]! >= edges[intervals]!) continue;
            times.push(curves.time[at]!);
            changes.push(curves.level[at]! - level);
            level = curves.level[at]!;
        }
    }
    /* numbers are sorted in a fraction of the time of pairs: of each time all changes stand at its first place */
    const rising = Float64Array.from(times).sort(),
        change = new Float64Array(rising.length);
    changes.forEach((each, at) => {
        change[placeIn(rising, times[at]!)]! += each;
    });
    let next = 0;
    return Float64Array.from({ length: intervals }, (_, interval) => {
        let best = edges[interval]!,
            most = -1;
        const look = (ns: number) => {
            while (next < rising.length && rising[next]! <= ns) total += change[next++]!;
            if (total > most) [most, best] = [total, ns];
        };
        look(edges[interval]!);
        while (next < rising.length && rising[next]! < edges[interval + 1]!) look(rising[next]!);
        return peak >= edges[interval]! && peak < edges[interval + 1]! ? peak : best;
    });
}

/* The instant that a click at `ns` means: the highest of those no further off than `reach`, or else
 * the last before it. */
export function snapped(
    instants: ArrayLike<number>,
    heights: ArrayLike<number | null>,
    ns: number,
    reach: number,
): number {
    let best = -1,
        before = -1;
    for (let at = 0; at < instants.length; at++) {
        if (instants[at]! <= ns) before = at;
        if (Math.abs(instants[at]! - ns) > reach) continue;
        if (best < 0 || (heights[at] ?? 0) > (heights[best] ?? 0)) best = at;
    }
    const chosen = best >= 0 ? best : before;
    return chosen >= 0 ? instants[chosen]! : ns;
}
