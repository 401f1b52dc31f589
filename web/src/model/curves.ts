/* Live bytes of single call paths over time (doc/API.md, "curves"). A curve is a step function:
 * its points are sorted by time and found by bisection. rangeLevels() reads all curves at the
 * highest moment of a range. */
import { numbers, whole, type ColumnsDocument } from "../data/columns.ts";
import type { CallTree, Profile } from "./profile.ts";

export interface Curves {
    node: Uint32Array;
    first: Uint32Array;
    time: Float64Array;
    level: Float64Array;
    threshold: Float64Array;
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
    const changes: [number, number][] = [];
    let total = 0;
    for (const curve of chosen) {
        let level = levelAt(curves, curve, edges[0]!);
        total += level;
        for (let at = curves.first[curve]!; at < curves.first[curve + 1]!; at++) {
            if (curves.time[at]! <= edges[0]! || curves.time[at]! >= edges[intervals]!) continue;
            changes.push([curves.time[at]!, curves.level[at]! - level]);
            level = curves.level[at]!;
        }
    }
    changes.sort((a, b) => a[0] - b[0]);
    let next = 0;
    return Float64Array.from({ length: intervals }, (_, interval) => {
        let best = edges[interval]!,
            most = -1;
        const look = (ns: number) => {
            while (next < changes.length && changes[next]![0] <= ns) total += changes[next++]![1];
            if (total > most) [most, best] = [total, ns];
        };
        look(edges[interval]!);
        while (next < changes.length && changes[next]![0] < edges[interval + 1]!)
            look(changes[next]![0]);
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

export interface RangeLevels {
    at: number;
    column: Float64Array;
    known: number;
    whole: number | null;
    growth: Float64Array /* by site: its level at the end less that at the beginning */;
    grown: number; /* the sum of what grew, and of what went */
    gone: number;
}

/* The moment of a range at which most was alive, the level of each site then, and how much of the
 * program's level (`whole`) the curves account for: small paths have none. And what grew in it. */
export async function rangeLevels(
    profile: Profile,
    of: CallTree,
    from: number,
    to: number,
): Promise<RangeLevels> {
    const curves = readCurves(await profile.columns("curves"));
    const timeline = await profile.columns("timeline");
    const step = Number(timeline.header["bucket_ns"] ?? 1),
        level = numbers(timeline, "requested_max");
    let best = -1;
    for (
        let at = Math.max(0, Math.floor(Math.max(0, from) / step));
        at < level.length && (to < 0 || at * step <= to);
        at++
    )
        if (best < 0 || level[at]! > level[best]!) best = at;
    const peak = profile.summary.program?.["peak_ns"] ?? -1;
    const isPeak = best >= 0 && peak >= best * step && peak < (best + 1) * step;
    const at = isPeak ? peak : Math.min((best + 0.5) * step, to < 0 ? Infinity : to);
    const siteOf = of.passes.siteOfNode();
    const column = new Float64Array(of.tree.siteNode.length),
        growth = new Float64Array(of.tree.siteNode.length);
    const end = to < 0 ? Infinity : to;
    let known = 0,
        grown = 0,
        gone = 0;
    curves.node.forEach((node, curve) => {
        const site = siteOf[node] ?? -1,
            value = levelAt(curves, curve, at);
        if (site < 0) return;
        column[site]! += value;
        known += value;
        const more = levelAt(curves, curve, end) - (from > 0 ? levelAt(curves, curve, from) : 0);
        growth[site]! += more;
        if (more > 0) grown += more;
        else gone -= more;
    });
    return { at, column, known, whole: best >= 0 ? level[best]! : null, growth, grown, gone };
}
