/* The profiles that are open, as signals. `profile`, `other` and `wholeJob` are what the state
 * of the page selects of them. `inPart` is the part in the chosen range of time or region, which
 * is fetched when the choice rests. */
import { computed, effect, signal } from "@preact/signals";
import { numbers, whole } from "../data/columns.ts";
import { Outdated, Unanswered, type Change, type DataSource } from "../data/source.ts";
import type { Summary } from "../data/types.ts";
import { rangeLevels, type RangeLevels } from "../model/growth.ts";
import { findFocus } from "../model/focus.ts";
import {
    ALIVE,
    GROWTH,
    levelNamed,
    Profile,
    RANGE,
    type CallTree,
    type Level,
} from "../model/profile.ts";
import { conditionsOf } from "../model/search.ts";
import { both, type Wanted } from "../model/tree.ts";
import { focusGone, go, state } from "./state.ts";
import type { ViewState } from "./url.ts";

let source: DataSource;
const open = signal<ReadonlyMap<number, Profile>>(new Map());
export const failure = signal<string | null>(null);
export const profileNames = signal<DataSource["profiles"]>([]);
export const asksServer = signal(false);
/* Who answers SQL; null: nobody (DataSource.sql). */
export const asksSql = signal<DataSource["sql"]>(null);

const watched = new Set<number>();
const loading = new Map<number, number>(); /* by profile: the last reading of it that began */
/* Of a recording: what was shown before it last grew. It has its answers, whoever is gone. */
const earlier = new Map<number, Profile>();

/* Shows what was shown before, if there is that; a server that comes back says what is new. */
function fallBack(index: number): boolean {
    const before = earlier.get(index);
    if (!before) return false;
    earlier.delete(index);
    open.value = new Map(open.peek()).set(index, before);
    return true;
}

/* Ranks that were not known when the page began are served when all entries of the job are read. */
async function findRanks(index: number, meta: Record<string, string>): Promise<void> {
    const names = profileNames.peek();
    if (names[index]?.kind !== "job" || meta["job_ranks"] === undefined || !source.list) return;
    if (!names.some((each) => each.kind === "rank" && each.job === index))
        profileNames.value = await source.list();
}

async function load(index: number): Promise<void> {
    const turn = (loading.get(index) ?? 0) + 1;
    loading.set(index, turn);
    try {
        const { summary, generation } = await source.summary(index);
        if (loading.get(index) !== turn) return;
        await findRanks(index, summary.meta);
        if (summary.state === "reading") return await showReading(index, summary, generation);
        let asked = false;
        const replaced = (why: unknown) => {
            if (why instanceof Unanswered)
                return open.peek().get(index) !== made || fallBack(index);
            if (!(why instanceof Outdated)) return false;
            if (!asked && loading.get(index) === turn) void load(index);
            asked = true;
            return true;
        };
        const made = new Profile(source, index, summary, generation, replaced);
        const before = open.peek().get(index);
        if (before) earlier.set(index, before);
        open.value = new Map(open.peek()).set(index, made);
        failure.value = null;
        if (summary.state === "recording" && !watched.has(index)) {
            watched.add(index);
            let first = true;
            source.watch(
                index,
                () => {
                    if (!first) void load(index); /* the first event says what is known already */
                    first = false;
                },
                (is) => {
                    silent.value = is;
                },
            );
        }
    } catch (error) {
        failure.value = error instanceof Error ? error.message : String(error);
    }
}

/* ---- Jobs whose ranks are being read ---- */

/* A job of which the entries of its directory are read, or the digests of its ranks: the rows of
 * its ranks, and how far the rest is. It is no profile: every view waits for it, but the one of the
 * job, which shows what digests say. */
export interface Reading {
    meta: Record<string, string>;
    digests: Profile | null; /* has ranks, nodes and levels; null: they are not read */
    ranks: FirstRank[];
    nodes: { id: number; name: string }[];
    generation: string;
    read: number;
    toRead: number;
    /* Entries of the directory; null: all are read, and these are all ranks. */
    listed: { done: number; of: number } | null;
    failure: string | null;
}
export interface FirstRank {
    id: number;
    rank: number;
    beside: boolean;
    state: string;
    file: string;
    node: number;
    signal: number;
    status: number;
    peak_bytes: number | null;
}
const reading = signal<ReadonlyMap<number, Reading>>(new Map());

/* Null: it is read, or on its way. */
export function readingAt(index: number): Reading | null {
    return open.value.has(index) ? null : (reading.value.get(index) ?? null);
}

function showFarther(index: number, change: Partial<Reading>): void {
    const before = reading.peek().get(index);
    if (before) reading.value = new Map(reading.peek()).set(index, { ...before, ...change });
}

/* The rows that are shown are of the entries that were read by then. */
function followReading(index: number, change: Change): void {
    const before = reading.peek().get(index);
    if (before && before.generation !== String(change.generation)) void load(index);
    if (change.to_list === undefined)
        showFarther(index, { read: change.read ?? 0, toRead: change.to_read ?? 0 });
    else if (before?.listed)
        showFarther(index, { listed: { done: change.listed ?? 0, of: change.to_list } });
}

/* Has the server read what only the profiles of the job's ranks say. */
export function wantWhole(index: number): void {
    source.want?.(index).catch((error: unknown) => {
        failure.value = error instanceof Error ? error.message : String(error);
    });
}

async function showReading(index: number, summary: Summary, generation: string): Promise<void> {
    const { meta } = summary;
    const replaced = (why: unknown) => {
        if (!(why instanceof Outdated)) return false;
        void load(index);
        return true;
    };
    const digests = summary.resources.includes("rank_timeline")
        ? new Profile(source, index, summary, generation, replaced)
        : null;
    try {
        const rows = await source.json<Pick<Reading, "ranks" | "nodes">>(
            index,
            "ranks",
            generation,
        );
        const toRead = Number(meta["to_read"]);
        const before = reading.peek().get(index);
        const { read = 0, failure: why = null } = before ?? {};
        const listed =
            meta["job_ranks"] === undefined ? (before?.listed ?? { done: 0, of: 0 }) : null;
        const first = { meta, ...rows, digests, generation, read, toRead, listed, failure: why };
        reading.value = new Map(reading.peek()).set(index, first);
        failure.value = null;
    } catch (error) {
        if (!(error instanceof Outdated)) throw error;
        return load(index); /* it has been read meanwhile */
    }
    if (watched.has(index)) return;
    watched.add(index);
    const stop = source.watch(
        index,
        (change) => {
            if (change.state === "reading") {
                followReading(index, change);
            } else if (change.error) {
                showFarther(index, { failure: change.error });
            } else {
                stop();
                watched.delete(index);
                void load(index);
            }
        },
        (is) => {
            silent.value = is;
        },
    );
}

/* A recording grows and the server does not answer: what is shown is of before. */
export const silent = signal(false);

/* The profile of a number; null: on its way. */
export function profileAt(index: number): Profile | null {
    return open.value.get(index) ?? null;
}

/* Has a profile read that neither the page nor its comparison shows. */
export function wantProfile(index: number): void {
    if (!open.peek().has(index) && !reading.peek().has(index)) void load(index);
}

/* The number of a rank's own profile, if it is served or in the file; -1: it is not. */
export function profileOfRank(job: number, rank: number): number {
    return profileNames.value.findIndex(
        (each) => each.kind === "rank" && each.job === job && each.rank_id === rank,
    );
}

/* The number of the profile that is shown: of a job with one rank chosen, the rank's. */
export const shownIndex = computed(() => {
    const { profile: index, rank } = state.value;
    const own = rank >= 0 ? profileOfRank(index, rank) : -1;
    return own >= 0 ? own : index;
});
export const profile = computed(() => open.value.get(shownIndex.value) ?? null);
/* All of the job, whichever rank is chosen. */
export const wholeJob = computed(() => open.value.get(state.value.profile) ?? null);
/* That with which it is compared. */
export const other = computed(() =>
    state.value.other < 0 ? null : (open.value.get(state.value.other) ?? null),
);

/* The range of time that is chosen, in whole ns of the profile; null: all of it, or none that makes
 * sense. */
const range = computed<string | null>(() => {
    const { from, to } = state.value,
        of = profile.value;
    if ((from < 0 && to < 0) || !of?.has("window")) return null;
    const low = Math.round(Math.max(0, from)),
        high = to < 0 ? Math.ceil(of.durationNs) : Math.round(to);
    return high > low ? `${low}-${high}` : null;
});

/* A part of a profile: what happened in a range of a trace's time, what was asked for in a region,
 * or both. Neither profile nor failure: it is on its way. */
export interface PartProfile {
    of: Profile;
    range: string | null;
    region: string;
    level: Level;
    profile: Profile | null;
    failure: string | null;
}
interface Choice {
    of: Profile | null;
    range: string | null;
    region: string;
    level: Level;
}

const PARTS = 8;
const REST_MS = 200; /* a range that is still being dragged is not asked for */

const sentence = (error: unknown) => (error instanceof Error ? error.message : String(error));

/* Keeps up with what is wanted: the part that is; null: the whole. */
function follow(wanted: () => Choice): { value: PartProfile | null; start: () => void } {
    const had = signal<PartProfile | null>(null);
    const start = () => {
        const known = new Map<string, Profile>();
        let last: Profile | null = null;
        /* The request under way. A profile that grows has a new state every other second: the one
         * that is being asked for comes to its end, or none ever would where that takes longer. */
        let under: { choice: string; stop: AbortController } | null = null;
        const ended = signal(0);
        effect(() => {
            const { of, range, region, level } = wanted();
            void ended.value;
            if (of !== last) known.clear();
            last = of;
            const key = `${range ?? ""} ${level} ${region}`,
                choice = `${of?.index} ${key}`;
            if (under && under.choice !== choice) {
                under.stop.abort();
                under = null;
            }
            if (!of || (range === null && !region && !level)) {
                had.value = null;
                return;
            }
            const before = had.peek();
            /* of a profile that grows the last state is shown until the next is there */
            const until =
                before?.of.index === of.index &&
                before.range === range &&
                before.region === region &&
                before.level === level
                    ? before.profile
                    : null;
            const show = (profile: Profile | null, failure: string | null) => {
                had.value = { of, range, region, level, profile, failure };
            };
            show(known.get(key) ?? until, null);
            if (known.has(key) || under) return;
            const asking = { choice, stop: new AbortController() };
            under = asking;
            const end = () => {
                if (under !== asking) return false;
                under = null;
                return true;
            };
            setTimeout(
                () => {
                    if (asking.stop.signal.aborted) return;
                    const [from, to] = (range ?? "0-0").split("-").map(Number) as [number, number];
                    of.partOf(
                        range === null ? null : { from, to },
                        region,
                        level,
                        asking.stop.signal,
                    ).then(
                        (profile) => {
                            if (last === of) {
                                known.set(key, profile);
                                if (known.size > PARTS) known.delete(known.keys().next().value!);
                            }
                            if (!end()) return;
                            const now = last;
                            if (now)
                                had.value = {
                                    of: now,
                                    range,
                                    region,
                                    level,
                                    profile,
                                    failure: null,
                                };
                            if (now !== of) ended.value++; /* it has grown since */
                        },
                        (error: unknown) => {
                            if (!end()) return;
                            const stays = error instanceof Unanswered ? until : null;
                            if (last !== of) ended.value++;
                            else show(stays, stays ? null : sentence(error));
                        },
                    );
                },
                range === null ? 0 : REST_MS,
            );
        });
    };
    /* what was had may be of another choice, for a moment */
    const now = computed(() => {
        const { of, range, region, level } = wanted(),
            part = had.value;
        if (!of || (range === null && !region && !level)) return null;
        return part &&
            part.of === of &&
            part.range === range &&
            part.region === region &&
            part.level === level
            ? part
            : { of, range, region, level, profile: null, failure: null };
    });
    return {
        get value() {
            return now.value;
        },
        start,
    };
}

/* What the state selects of the profile that is shown. Of a range of time only traces tell; in
 * others it shows in levels of call paths (`rangeShown`). */
const region = computed(() => state.value.region);
const level = computed(() => levelNamed(state.value.of));
export const inPart = follow(() => ({
    of: profile.value,
    range: range.value,
    region: region.value,
    level: level.value,
}));
/* A comparison is of whole runs, but may be of a region that both have. */
const comparedRegion = computed(() =>
    state.value.view === "compare" && state.value.other >= 0 ? state.value.region : "",
);
const comparedLevel = computed(() =>
    state.value.view === "compare" && state.value.other >= 0 ? level.value : "",
);
const compared = (of: () => Profile | null) =>
    follow(() => ({
        of: of(),
        range: null,
        region: comparedRegion.value,
        level: comparedLevel.value,
    }));
export const beforeInRegion = compared(() => profile.value);
export const afterInRegion = compared(() => other.value);

export function startProfiles(from: DataSource): void {
    source = from;
    profileNames.value = from.profiles;
    asksServer.value = from.asks;
    asksSql.value = from.sql;
    followFocus();
    for (const each of [inPart, beforeInRegion, afterInRegion]) each.start();
    const asked = new Set<number>();
    effect(() => {
        const count = Math.max(from.profiles.length, profileNames.value.length);
        for (const index of [state.value.profile, shownIndex.value, state.value.other])
            if (index >= 0 && index < count && !asked.has(index)) {
                asked.add(index);
                void load(index);
            }
        if (state.value.profile < 0 || state.value.profile >= count)
            failure.value = `There is no profile number ${state.value.profile} here.`;
    });
}

/* Whose tables the places of the focus are: owners of resident memory have some of their own; other
 * parts have those of the whole run. Null: on its way. */
const focused = computed(() => {
    const part = inPart.value;
    return part?.level === "resident" ? part.profile : profile.value;
});

/* What of the address was found. */
const settled = signal<{ fn: number; node: number; at: string } | null>(null);

/* Is the focus of the address what it says? While a link's names are looked for nothing is shown; while a recording
 * grows the last answer stays. */
export const focusIsFound = computed(() => {
    const { fn, node, at } = state.value,
        known = settled.value;
    if ((fn < 0 && node < 0) || !at || !focused.value) return true;
    return known?.fn === fn && known.node === node && known.at === at;
});

/* Finds the focus of a link by its names, and gives an address without names those that stand there. */
function followFocus(): void {
    effect(() => {
        const { fn, node, at } = state.value,
            of = focused.value;
        if (!of || (fn < 0 && node < 0)) return;
        const is = () => {
            const now = state.peek();
            return focused.peek() === of && now.fn === fn && now.node === node && now.at === at;
        };
        if (!of.has("sites")) {
            settled.value = { fn, node, at };
            return;
        }
        of.callTree().then(
            (tree) => {
                if (!is()) return;
                const found = findFocus(tree, { fn, node, at });
                settled.value = { fn: found.fn, node: found.node, at: found.at };
                go({ fn: found.fn, node: found.node, at: found.at }, "replace");
                if (found.gone) focusGone.value = true;
            },
            () => {
                if (is()) settled.value = { fn, node, at }; /* the view says why */
            },
        );
    });
}

/* What the search field says of blocks. */
export const conditions = computed(() => conditionsOf(state.value.search));

/* What follows takes the state that it is asked for, `now`. Work that takes a while is given the one that it began
 * with: when it comes to read it, somebody may have chosen something else, and what is made is kept. */

const sizeKey = (now = state.value) => JSON.stringify(conditionsOf(now.search).size);
const singleKey = (now: ViewState) => {
    const { age, thread } = conditionsOf(now.search);
    /* they are those of the end, or of the peak */
    return JSON.stringify([age, thread, (age || thread) && now.metric === "live_bytes"]);
};

/* By profile and by call tree: the sites with blocks of the sizes that were last looked for. */
type Sized = Map<string, Uint8Array>;
const sized = new WeakMap<Profile | CallTree, Sized>();
const SIZES = 4;

function keepSites(of: Profile | CallTree, range: string, sites: Uint8Array): void {
    const known: Sized = sized.get(of) ?? new Map();
    known.delete(range);
    known.set(range, sites);
    if (known.size > SIZES) known.delete(known.keys().next().value!);
    sized.set(of, known);
}

/* Single blocks that are asked for: of whom and by what name; null: none are, or nobody knows. At the end of
 * the range that is chosen, or of the run if what is alive then is shown, or else at the peak. */
const blockViews: readonly string[] = ["flame", "tree"];
export const showsBlocks = (view: string): boolean => blockViews.includes(view);
export function knowsBlocks(of: Profile): boolean {
    return !of.region && !of.level && (of.part?.of ?? of).has("alive");
}
export interface SingleBlocks {
    of: Profile; /* the whole run */
    name: string; /* doc/API.md, "alive" */
    when: "peak" | number;
}
export function singleBlocks(of: Profile, now = state.value): SingleBlocks | null {
    const { size, age, thread } = conditionsOf(now.search);
    if ((!age && !thread) || !showsBlocks(now.view) || !knowsBlocks(of)) return null;
    const number = (value: number) => Math.min(value, Number.MAX_SAFE_INTEGER);
    const range = (of: { least: number; most: number } | null) =>
        !of ? "any" : of.most < of.least ? "1-0" : `${number(of.least)}-${number(of.most)}`;
    const end = of.window?.to ?? (now.metric === "live_bytes" ? of.durationNs : null),
        when = end === null ? "peak" : Math.ceil(end);
    const by = thread ? `${thread.not ? "not-" : ""}${thread.tid}` : "any";
    return {
        of: of.part?.of ?? of,
        name: `alive/${when}/${range(size)}/${range(age)}/${by}`,
        when,
    };
}
async function bytesOfBlocks({ of, name }: SingleBlocks, tree: CallTree): Promise<Float64Array> {
    const found = await of.columns(name),
        bytes = numbers(found, "bytes"),
        siteOf = tree.passes.siteOfNode(),
        column = new Float64Array(tree.tree.siteNode.length);
    whole(found, "node").forEach((node, row) => {
        const site = siteOf[node] ?? -1;
        if (site >= 0) column[site]! += bytes[row]!;
    });
    return column;
}

/* Finds them. To be awaited before a view of the profile asks for sites. */
export async function findSizes(of: Profile): Promise<void> {
    const { size } = conditions.value,
        range = sizeKey();
    if (!size || !of.has("sites")) return;
    const [tree, sites] = await Promise.all([of.callTree(), of.sitesOfSize(size)]);
    for (const each of [tree, of]) keepSites(each, range, sites);
}
export function sizesAreFound(of: Profile): boolean {
    return !conditions.value.size || !of.has("sites") || !!sized.get(of)?.has(sizeKey());
}

/* Sites of call paths that count: with blocks of the size that is searched for, and below the call
 * path in focus; null: all. */
export function pathSites(of: CallTree, now = state.value): Wanted {
    const { node } = now,
        ofSize = sized.get(of)?.get(sizeKey(now)) ?? null;
    return node > 0 && node < of.tree.nodeCount ? both(ofSize, of.passes.below(node)) : ofSize;
}

/* Sites that the focus leaves in; null: all. */
export function wantedSites(of: CallTree, now = state.value): Wanted {
    const { fn } = now,
        wanted = pathSites(of, now);
    if (fn < 0 || fn >= of.tree.keyCount) return wanted;
    const matches = new Uint8Array(of.tree.keyCount);
    matches[fn] = 1;
    return both(wanted, of.passes.through(matches));
}

/* Is a range chosen, and is there something to say of it by call path? A metric that somebody has
 * chosen is of the whole run: metrics are not kept over time. */
export function rangeShown(of: Profile, { from, to, metric } = state.value): boolean {
    return (
        !of.part &&
        (from >= 0 || to >= 0) &&
        (of.has("at") ? metric === GROWTH : of.has("curves")) &&
        of.has("timeline") &&
        (!metric || metric === GROWTH)
    );
}

/* Levels and growth of call paths in the range: worked out once for all views. */
export function rangeOf(
    of: Profile,
    tree: CallTree,
    { from, to } = state.value,
): Promise<RangeLevels> {
    return of.work(`range ${from} ${to}`, () => rangeLevels(of, tree, from, to));
}

/* The column of a metric that shownMetric() has named: of all of the run, of single blocks, or the levels at the
 * highest moment of the range, or its growth. */
export async function shownColumn(
    of: Profile,
    tree: CallTree,
    metric: string,
    now = state.value,
): Promise<Float64Array> {
    const blocks = metric === ALIVE ? singleBlocks(of, now) : null;
    if (blocks) return bytesOfBlocks(blocks, tree);
    if (metric === RANGE) return (await rangeOf(of, tree, now)).column;
    if (metric === GROWTH) return (await rangeOf(of, tree, now)).growth.change;
    return of.column(metric);
}
export function shownMetric(of: Profile, usual: string, now = state.value): string {
    if (singleBlocks(of, now)) return ALIVE;
    return rangeShown(of, now) ? now.metric || RANGE : metricOr(of, usual, now);
}

/* What wantedSites() depends on: a range is not of it. */
export const sitesKey = (now = state.value) => [now.fn, now.node, sizeKey(now)].join();

/* What pathSites() and the figures depend on: for keys of Profile.work and inputs of effects. */
export function pathKey(now = state.value): string {
    const { node, from, to, hide } = now;
    return [node, from, to, hide, sizeKey(now), singleKey(now)].join();
}
/* Likewise, and the function in focus. */
export const focusKey = (now = state.value) => [now.fn, pathKey(now)].join();

/* The metric that a view shows: what was chosen, if the profile has it, else the view's own
 * choice; of a heap dump, which has no peak, what it has. */
export function metricOr(of: Profile, usual: string, { metric } = state.value): string {
    const has = (name: string) => of.metric(name)?.recorded;
    if (metric && has(metric)) return metric;
    const isMissing = has(usual) === false;
    return (isMissing && ["live_bytes", "alloc_bytes", "alloc_count"].find(has)) || usual;
}
