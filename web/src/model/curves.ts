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

export interface RangeLevels {
    at: number;
    column: Float64Array;
    known: number;
    whole: number | null;
}

/* The moment of a range at which most was alive, the level of each site then, and how much of the
 * program's level (`whole`) the curves account for: small paths have none. */
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
    const column = new Float64Array(of.tree.siteNode.length);
    let known = 0;
    curves.node.forEach((node, curve) => {
        const site = siteOf[node] ?? -1,
            value = levelAt(curves, curve, at);
        if (site < 0) return;
        column[site]! += value;
        known += value;
    });
    return { at, column, known, whole: best >= 0 ? level[best]! : null };
}
