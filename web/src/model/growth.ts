/* What call paths held at two moments, and what became of it in between. Of a trace all of it is
 * exact. A profile stores the levels of all paths at its peak and at its end. Of other moments it has
 * the curves, each within its bound, and a path that never held much has none: there its level is
 * not known, which is no 0. */
import { numbers, whole } from "../data/columns.ts";
import { boundAt, levelAt, readCurves } from "./curves.ts";
import { atOnce, breathe, inSlices, type Work } from "./slices.ts";
import { isKnown } from "./units.ts";
import type { CallTree, Profile } from "./profile.ts";
import type { Wanted } from "./tree.ts";

/* Sites between two moments at which the work can be left. */
const OFTEN = 0x3fff;

export interface Moment {
    ns: number;
    how: "start" | "trace" | "peak" | "end" | "curves";
    level: Float64Array; /* by site; 0 where it is not known */
    known: Uint8Array; /* by site */
    bound: Float64Array; /* by site: how far off the level is at most; NaN: not known */
    least: number | null; /* of the program: its level is from `least` … */
    most: number | null; /* … to `most`; null: not known */
    doubt: string; /* "", or a sentence */
}

function blank(of: CallTree, ns: number, how: Moment["how"], isKnown: boolean): Moment {
    const count = of.tree.siteNode.length;
    return {
        ns,
        how,
        level: new Float64Array(count),
        known: new Uint8Array(count).fill(isKnown ? 1 : 0),
        bound: new Float64Array(count),
        least: null,
        most: null,
        doubt: "",
    };
}

async function ofTrace(profile: Profile, of: CallTree, ns: number): Promise<Moment> {
    const held = await profile.columns(`at/${ns}`),
        { header } = held;
    const made = blank(of, ns, "trace", true),
        siteOf = of.passes.siteOfNode();
    const bytes = numbers(held, "bytes");
    whole(held, "node").forEach((node, row) => {
        const site = siteOf[node] ?? -1;
        if (site >= 0) made.level[site]! += bytes[row]!;
    });
    made.least = made.most = Number(header["live_bytes"]);
    if (header["rough"] === true || Number(header["missing_blocks"]) > 0)
        made.doubt = "A part of the trace cannot be read: its figures lack what happened there.";
    return made;
}

/* A metric that is the level of every path at that moment. */
async function ofMetric(
    profile: Profile,
    of: CallTree,
    metric: string,
    ns: number,
    how: Moment["how"],
): Promise<Moment> {
    const made = blank(of, ns, how, true);
    (await profile.column(metric)).forEach((value, site) => {
        if (Number.isNaN(value)) made.known[site] = 0;
        else made.level[site] = value;
    });
    const total = profile.summary.program?.[metric] ?? null;
    made.least = made.most = total;
    return made;
}

/* doc/METRICS.md, "Error bound". */
async function ofCurves(
    profile: Profile,
    of: CallTree,
    ns: number,
    wantsBound = true,
): Promise<Moment> {
    const made = blank(of, ns, "curves", false);
    if (profile.has("curves")) {
        const curves = readCurves(await profile.columns("curves"));
        await breathe();
        for (let curve = 0; curve < curves.node.length; curve++) {
            if ((curve & 0x3ff) === 0x3ff) await breathe();
            const site = of.passes.siteOf(curves.node[curve]!);
            if (site < 0) continue;
            const level = levelAt(curves, curve, ns);
            made.level[site]! += level;
            if (wantsBound) made.bound[site]! += boundAt(curves, curve, ns);
            made.known[site] = 1;
        }
    }
    if (profile.has("timeline")) {
        const timeline = await profile.columns("timeline");
        const most = numbers(timeline, "requested_max"),
            least = numbers(timeline, "requested_min");
        const at = Math.floor(ns / Number(timeline.header["bucket_ns"] ?? 1));
        made.least = least[at] ?? null;
        made.most = most[at] ?? null;
    }
    return made;
}

/* `ns` -1: the beginning, or (isEnd) the end. */
export async function momentOf(
    profile: Profile,
    of: CallTree,
    ns: number,
    isEnd: boolean,
): Promise<Moment> {
    const end = Math.ceil(profile.durationNs),
        at = ns < 0 ? (isEnd ? end : 0) : Math.round(ns);
    const isPart = profile.summary.meta["window_from_ns"] !== undefined;
    /* the end of what has no duration is the end yet */
    if (at <= 0 && !isPart && !(ns < 0 && isEnd))
        return { ...blank(of, 0, "start", true), least: 0, most: 0 };
    if (profile.has("at")) return ofTrace(profile, of, at);
    if (at >= end && profile.metric("live_bytes")?.recorded)
        return ofMetric(profile, of, "live_bytes", at, "end");
    if (
        !profile.isJob &&
        at === profile.summary.program?.["peak_ns"] &&
        profile.metric("at_peak_bytes")?.recorded
    )
        return ofMetric(profile, of, "at_peak_bytes", at, "peak");
    return ofCurves(profile, of, at);
}

export interface Growth {
    from: Moment;
    to: Moment;
    change: Float64Array; /* by site; 0 where it is not known */
    known: Uint8Array; /* by site */
    bound: Float64Array; /* by site */
    most: Float64Array; /* by site: a change that is not known is no more than that; NaN: nobody knows */
}

export async function growthOf(
    profile: Profile,
    of: CallTree,
    from: number,
    to: number,
): Promise<Growth> {
    const peaks = profile.metric("peak_bytes")?.recorded
        ? profile.column("peak_bytes")
        : Promise.resolve(null);
    const [before, after, highest] = await Promise.all([
        momentOf(profile, of, from, false),
        momentOf(profile, of, to, true),
        peaks,
    ]);
    return inSlices(between(before, after, highest));
}

function* between(from: Moment, to: Moment, highest: Float64Array | null): Work<Growth> {
    const count = from.level.length,
        change = new Float64Array(count),
        known = new Uint8Array(count),
        bound = new Float64Array(count),
        most = new Float64Array(count);
    for (let site = 0; site < count; site++) {
        if ((site & OFTEN) === OFTEN) yield;
        const is = from.known[site]! & to.known[site]!;
        known[site] = is;
        change[site] = is ? to.level[site]! - from.level[site]! : 0;
        bound[site] = to.bound[site]! + from.bound[site]!;
        most[site] = is ? 0 : (highest?.[site] ?? NaN);
    }
    return { from, to, change, known, bound, most };
}

/* Of a trace, by site: what began after the first moment and is alive at the second. `born`: of the
 * range's window. */
export function bornOf(
    of: CallTree,
    born: { node: ArrayLike<number>; bytes: ArrayLike<number> },
): Float64Array {
    const column = new Float64Array(of.tree.siteNode.length),
        siteOf = of.passes.siteOfNode();
    for (let row = 0; row < born.node.length; row++) {
        const site = siteOf[born.node[row]!] ?? -1;
        if (site >= 0) column[site]! += born.bytes[row]!;
    }
    return column;
}

/* What was alive at the first moment and is not at the second. */
export function goneOf({ from, to }: Growth, born: Float64Array): Float64Array {
    return born.map((value, site) => from.level[site]! - (to.level[site]! - value));
}

export interface RangeLevels {
    at: number;
    column: Float64Array;
    isKnown: Uint8Array; /* by site: is its level then known? */
    known: number;
    whole: number | null;
    growth: Growth;
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
    const timeline = await profile.columns("timeline");
    const step = Number(timeline.header["bucket_ns"] ?? 1),
        level = numbers(timeline, "requested_max");
    const low = Math.max(0, from),
        high = to < 0 ? Math.max(low, level.length * step) : Math.max(low, to),
        first = Math.floor(low / step);
    let best = -1;
    for (let at = first; at < level.length && (at === first || at * step < high); at++)
        if (isKnown(level[at]) && !(level[at]! <= level[best]!)) best = at;
    const peak = profile.summary.program?.["peak_ns"] ?? -1;
    /* an interval may begin before the range and end behind it */
    const isPeak = Math.floor(peak / step) === best && best >= 0 && peak >= low && peak <= high;
    const middle = best < 0 ? high : (best + 0.5) * step;
    const at = isPeak ? peak : Math.min(Math.max(middle, low), high);
    const then = await ofCurves(profile, of, at, false);
    let known = 0;
    for (const value of then.level) known += value;
    const growth = await growthOf(profile, of, from, to),
        { grown, shrunk } = await inSlices(growthSumsInSlices(growth, null, null));
    return {
        at,
        column: then.level,
        isKnown: then.known,
        known,
        whole: best >= 0 ? level[best]! : null,
        growth,
        grown,
        gone: shrunk,
    };
}

export interface GrowthRow {
    key: number;
    name: string;
    file: string;
    module: string;
    change: number; /* of the paths that are known at both moments; NaN: none is */
    before: number; /* NaN: not known of any path */
    after: number;
    bound: number; /* of the change */
    unknown: number; /* paths whose change is not known … */
    most: number; /* … and is no more than that in all; NaN: nobody knows */
    born: number; /* NaN: not known */
    gone: number;
}

/* By function, exclusive or inclusive: all that have anything at either moment, or may have. */
export function growthRows(
    of: CallTree,
    growth: Growth,
    born: Float64Array | null,
    wanted: Wanted,
    inclusive: boolean,
    hide: boolean,
): GrowthRow[] {
    return atOnce(growthRowsInSlices(of, growth, born, wanted, inclusive, hide));
}
export function* growthRowsInSlices(
    of: CallTree,
    growth: Growth,
    born: Float64Array | null,
    wanted: Wanted,
    inclusive: boolean,
    hide: boolean,
): Work<GrowthRow[]> {
    const { from, to } = growth;
    const sum = (column: ArrayLike<number>) =>
        inclusive
            ? of.passes.inclusiveByKeyInSlices(column, wanted, hide)
            : of.passes.exclusiveByKeyInSlices(column, wanted, hide);
    const unknownSites = growth.known.map((is) => 1 - is),
        some = unknownSites.some((is) => is > 0);
    const vagueSites = growth.bound.map((bound) => (Number.isNaN(bound) ? 1 : 0)),
        isVague = vagueSites.includes(1);
    const none = new Float64Array(of.tree.keyCount);
    yield;
    const change = yield* sum(growth.change),
        before = yield* sum(from.level),
        after = yield* sum(to.level),
        bound = yield* sum(isVague ? growth.bound.map((bound) => bound || 0) : growth.bound),
        vague = isVague ? yield* sum(vagueSites) : none,
        known = yield* sum(growth.known),
        unknown = some ? yield* sum(unknownSites) : none,
        most = some ? yield* sum(growth.most) : none;
    const knownBefore = some ? yield* sum(from.known) : known,
        knownAfter = some ? yield* sum(to.known) : known;
    const came = born && (yield* sum(born)),
        went = born && (yield* sum(goneOf(growth, born)));
    const rows: GrowthRow[] = [];
    for (let key = 0; key < of.tree.keyCount; key++) {
        if ((key & 0x7ff) === 0x7ff) yield;
        if (!before[key] && !after[key] && !unknown[key] && !came?.[key] && !went?.[key]) continue;
        rows.push({
            key,
            name: of.names.ofKey(key),
            file: of.names.file(of.names.fileOfKey(key)) ?? "",
            module: of.names.module(of.names.moduleOfKey(key)) ?? "",
            change: known[key] ? change[key]! : NaN,
            before: knownBefore[key] ? before[key]! : NaN,
            after: knownAfter[key] ? after[key]! : NaN,
            bound: vague[key] ? NaN : bound[key]!,
            unknown: unknown[key]!,
            most: most[key]!,
            born: came ? came[key]! : NaN,
            gone: went ? went[key]! : NaN,
        });
    }
    return rows;
}

export interface GrowthSums {
    before: number; /* of the paths that are known, as the next four; NaN: none is */
    after: number;
    change: number;
    grown: number; /* the sum of paths that grew, and of those that shrank */
    shrunk: number;
    bound: number;
    unknown: number;
    most: number;
    born: number;
    gone: number;
}

/* Of all call paths that are wanted, each once. */
export function growthSums(growth: Growth, born: Float64Array | null, wanted: Wanted): GrowthSums {
    return atOnce(growthSumsInSlices(growth, born, wanted));
}
export function* growthSumsInSlices(
    growth: Growth,
    born: Float64Array | null,
    wanted: Wanted,
): Work<GrowthSums> {
    const sums: GrowthSums = {
        before: 0,
        after: 0,
        change: 0,
        grown: 0,
        shrunk: 0,
        bound: 0,
        unknown: 0,
        most: 0,
        born: born ? 0 : NaN,
        gone: born ? 0 : NaN,
    };
    const gone = born && goneOf(growth, born);
    let [known, knownBefore, knownAfter] = [0, 0, 0];
    for (let site = 0; site < growth.change.length; site++) {
        if ((site & OFTEN) === OFTEN) yield;
        if (wanted && !wanted[site]) continue;
        known += growth.known[site]!;
        knownBefore += growth.from.known[site]!;
        knownAfter += growth.to.known[site]!;
        const change = growth.change[site]!;
        sums.before += growth.from.level[site]!;
        sums.after += growth.to.level[site]!;
        sums.change += change;
        if (change > 0) sums.grown += change;
        else sums.shrunk -= change;
        sums.bound += growth.bound[site]!;
        if (!growth.known[site]) {
            sums.unknown++;
            sums.most += growth.most[site]!;
        }
        sums.born += born?.[site] ?? 0;
        sums.gone += gone?.[site] ?? 0;
    }
    /* of no path known is no 0 */
    if (sums.unknown && !knownBefore) sums.before = NaN;
    if (sums.unknown && !knownAfter) sums.after = NaN;
    if (sums.unknown && !known) sums.change = sums.grown = sums.shrunk = sums.bound = NaN;
    return sums;
}
