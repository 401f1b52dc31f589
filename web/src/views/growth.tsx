/* The view "growth": two moments of a run, A and B, and what became of memory in between: what
 * grew, what went, and of a trace what was born after A and is alive at B. By function as a table, by
 * call path as a difference flame graph. How exact each figure is stands beside it. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, whole } from "../data/columns.ts";
import type { Mark } from "../data/types.ts";
import type { DiffFlame } from "../model/compare.ts";
import { flameOf } from "../model/flame.ts";
import {
    bornOf,
    growthOf,
    growthRowsInSlices,
    growthSumsInSlices,
    type Growth,
    type GrowthRow,
    type GrowthSums,
    type Moment,
} from "../model/growth.ts";
import { shortName } from "../model/names.ts";
import { highest, notable } from "../model/peaks.ts";
import { type CallTree, type Profile, fileName } from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { bytes, count, duration, exact, format, isKnown, signed } from "../model/units.ts";
import { focusKey, inPart, wantedSites } from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Plot, type PlotSeries } from "../widgets/plot.tsx";
import { NotRecorded, Ready, useInSlices, useLoaded } from "../widgets/states.tsx";
import type { Work } from "../model/slices.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { showMenu } from "../widgets/tooltip.tsx";
import { toneOf } from "./compare_figures.tsx";
import { Difference } from "./compare.tsx";
import { LooksGrowth } from "./growth_looks.tsx";
import { functionMenu } from "./functions.tsx";
import { readTimeline, steady } from "./timeline.tsx";
import type { ViewProps } from "./registry.ts";

export function GrowthView({ profile }: ViewProps): JSX.Element {
    const { from, to, region, of: level } = state.value;
    const isOfLooks = getOption(state.value, "as") === "looks";
    const loaded = useLoaded(
        () =>
            profile.work(`growth ${from} ${to}`, async () => {
                const of = await profile.callTree();
                return { of, growth: await growthOf(profile, of, from, to) };
            }),
        [profile, from, to],
    );
    if (region || (level && profile.level !== level))
        return (
            <NotRecorded
                what={
                    region
                        ? "What grew between two moments is known of the whole program, not by region."
                        : "Between two moments of a trace growth is known of the heap."
                }
                how="Take the choice off above."
            />
        );
    if (isOfLooks)
        return (
            <>
                <Ways shown="looks" />
                <LooksGrowth profile={profile} />
            </>
        );
    return (
        <>
            <Moments profile={profile} />
            <Ready of={loaded}>
                {({ of, growth }) => <Lens profile={profile} of={of} growth={growth} />}
            </Ready>
        </>
    );
}

/* ---- The two moments ---- */

interface Named {
    title: string;
    ns: number; /* -1: the beginning, or the end */
}

/* Moments that have a name: peaks and what the program marked. */
function useNamed(profile: Profile): Named[] {
    const said = useLoaded(
        async () =>
            profile.has("marks")
                ? ((await profile.json<{ marks: Mark[] | null }>("marks")).marks ?? [])
                : [],
        [profile],
    );
    const peaks = highest(notable(profile.summary.peaks ?? [])),
        /* the ranks of a job peak each at its own moment */
        peak = profile.isJob ? null : (profile.summary.program?.["peak_ns"] ?? null);
    const named = peaks.map((each) => ({
        title: `${each.time_ns === peak ? "the peak" : "a peak"}, ${bytes(each.bytes)} at ${duration(each.time_ns)}`,
        ns: each.time_ns,
    }));
    if (peak !== null && !peaks.some((each) => each.time_ns === peak))
        named.push({ title: `the peak, at ${duration(peak)}`, ns: peak });
    const marks = said.state === "there" ? said.value : [];
    return [
        ...named,
        ...marks
            .filter((mark) => mark.kind === "mark")
            .map((mark) => ({
                title: `mark ${mark.name ?? ""}, at ${duration(mark.time_ns)}`,
                ns: mark.time_ns,
            })),
    ].sort((a, b) => a.ns - b.ns);
}

/* A is never behind B, whichever of them is moved. */
function choose(from: number, to: number, end: number): void {
    const isSwapped = (to < 0 ? end : to) < from;
    const low = isSwapped ? to : from,
        high = isSwapped ? from : to;
    go(
        { from: low <= 0 ? -1 : Math.round(low), to: high >= end ? -1 : Math.round(high) },
        "replace",
    );
}

function MomentChoice({
    letter,
    named,
    end,
}: {
    letter: "A" | "B";
    named: readonly Named[];
    end: number;
}): JSX.Element {
    const { from, to } = state.value;
    const own = letter === "A" ? from : to,
        border = letter === "A" ? "the beginning" : "the end";
    return (
        <label>
            {letter}{" "}
            <select
                class="in-sentence"
                aria-label={`Moment ${letter}`}
                value={own}
                onChange={(event) => {
                    const ns = Number(event.currentTarget.value);
                    if (letter === "A") choose(ns, to, end);
                    else choose(from, ns, end);
                }}>
                <option value={-1}>{border}</option>
                {named.map((each) => (
                    <option key={each.ns} value={each.ns}>
                        {each.title}
                    </option>
                ))}
                {own >= 0 && !named.some((each) => each.ns === own) && (
                    <option value={own}>{duration(own)}</option>
                )}
            </select>
        </label>
    );
}

function levelsUntil(
    timeline: ReturnType<typeof readTimeline> | null,
    end: number,
): { x: Float64Array; series: PlotSeries[] } {
    if (!timeline) return { x: new Float64Array(), series: [] };
    const count = Math.ceil(end / timeline.bucketNs) + 1;
    return {
        x: timeline.x.subarray(0, count),
        series: [
            {
                title: "live blocks, bytes",
                tone: "data-1",
                values: steady(timeline.column("requested_max").subarray(0, count)),
                format: bytes,
                binary: true,
                filled: true,
                stepped: true,
            },
        ],
    };
}

/* Level over time with both moments. It always shows all of the run: the stretch is what is chosen. */
function Moments({ profile }: ViewProps): JSX.Element {
    const { from, to } = state.value;
    const end = Math.ceil(profile.durationNs);
    const named = useNamed(profile);
    const loaded = useLoaded(
        async () =>
            profile.has("timeline") ? readTimeline(await profile.columns("timeline")) : null,
        [profile],
    );
    const timeline = loaded.state === "there" ? loaded.value : null;
    /* readings of /proc go on for a moment when the program has ended */
    const { x, series } = useMemo(() => levelsUntil(timeline, end), [timeline, end]);
    const [a, b] = [Math.max(0, from), to < 0 ? end : to];
    const marks = useMemo(
        () => [
            { x: a, title: "A", weight: 3 },
            { x: b, title: "B", weight: 3 },
            ...named.map((each) => ({ x: each.ns, pick: each.ns, title: "", weight: 0 })),
        ],
        [a, b, named.map((each) => each.ns).join()],
    );
    const bands = useMemo(() => [{ from: a, to: b, title: "A to B", tone: 0 }], [a, b]);
    const pick = (ns: number) =>
        Math.abs(ns - a) < Math.abs(ns - b) ? choose(ns, to, end) : choose(from, ns, end);
    return (
        <>
            <div class="bar-row">
                <MomentChoice letter="A" named={named} end={end} />
                <MomentChoice letter="B" named={named} end={end} />
                <span class="dim">
                    drag from A to B; a click moves the nearer one; two recordings: Compare
                </span>
            </div>
            {timeline && (
                <div class="pad">
                    <Plot
                        name="growth"
                        label="Live bytes over time, from A to B"
                        x={x}
                        formatX={duration}
                        series={series}
                        height={150}
                        range={null}
                        chosen={[a, b]}
                        onRange={(low, high) =>
                            low < 0 && high < 0
                                ? go({ from: -1, to: -1 }, "replace")
                                : choose(low, high, end)
                        }
                        onPick={pick}
                        marks={marks}
                        bands={bands}
                    />
                </div>
            )}
        </>
    );
}

/* ---- What became of memory ---- */

/* Of a trace, by site: what began after A and is alive at B; null: not known, or on its way. */
function useBorn(
    profile: Profile,
    of: CallTree,
    growth: Growth,
): { born: Float64Array | null; why: string; waits: boolean } {
    const part = inPart.value;
    const asks = profile.has("at"),
        sinceBeginning = growth.from.how === "start";
    const window = asks && !sinceBeginning ? (part?.profile ?? null) : null;
    const has = !!window?.has("born");
    const loaded = useLoaded(async () => {
        if (!has || !window) return null;
        const document = await window.columns("born");
        return bornOf(of, { node: whole(document, "node"), bytes: numbers(document, "bytes") });
    }, [window, of, has]);
    if (!asks) return { born: null, why: "", waits: false };
    if (sinceBeginning) return { born: growth.to.level, why: "", waits: false };
    if (!part) return { born: null, why: "B is not after A.", waits: false };
    if (part.failure) return { born: null, why: part.failure, waits: false };
    if (window && !has)
        return {
            born: null,
            why: "What was born in between a sample does not tell.",
            waits: false,
        };
    const born = loaded.state === "there" ? loaded.value : null;
    return { born, why: "", waits: born === null };
}

function momentWords({ how, ns }: Moment, letter: string): string {
    const when: Record<Moment["how"], string> = {
        start: "the beginning",
        end: "the end",
        peak: `the peak (${duration(ns)})`,
        trace: duration(ns),
        curves: duration(ns),
    };
    return `${letter}, ${when[how]}`;
}

/* Curves do not account for all of the program: what it had then, as far as that is known. */
function ofProgram({ how, least, most }: Moment): string {
    if (how !== "curves" || least === null || most === null) return "";
    if (!isKnown(least) || !isKnown(most)) return "";
    return least === most ? ` of ${bytes(most)}` : ` of ${bytes(least)} to ${bytes(most)}`;
}

/* How exact what is said of the two moments is. */
function Exactness({
    profile,
    growth,
    sums,
}: ViewProps & { growth: Growth; sums: GrowthSums }): JSX.Element {
    const moments = [growth.from, growth.to],
        doubt = moments.find((each) => each.doubt)?.doubt;
    const byCurves = moments.some((each) => each.how === "curves");
    const isTraced = moments.some((each) => each.how === "trace");
    return (
        <p class="dim remark" data-exactness>
            {profile.summary.sampled
                ? "Estimated: allocations were sampled. "
                : isTraced
                  ? "Exact, from the trace. "
                  : !byCurves
                    ? "Exact: the profile has the level of every call path at both moments. "
                    : ""}
            {byCurves &&
                `By curves: a path's level is within 5 % or its curve's threshold${
                    isKnown(sums.bound)
                        ? `; all together within ±${format(sums.bound, "bytes")}`
                        : ""
                }. `}
            {sums.unknown > 0 &&
                `${count(sums.unknown)} ${sums.unknown === 1 ? "path has" : "paths have"} no curve: what ${
                    sums.unknown === 1 ? "it" : "they"
                } grew by is not known${
                    Number.isNaN(sums.most)
                        ? ""
                        : `, and no more than ${bytes(sums.most)} in all, what ${sums.unknown === 1 ? "it" : "they"} ever held`
                }. `}
            {doubt}
        </p>
    );
}

function Sums({
    growth,
    sums,
    waits,
    why,
}: {
    growth: Growth;
    sums: GrowthSums;
    waits: boolean;
    why: string;
}): JSX.Element {
    const figure = (name: string, value: number) => (
        <b data-sum={name} title={exact(value, "bytes")}>
            {format(value, "bytes")}
        </b>
    );
    return (
        <div class="bar-row" aria-busy={waits}>
            <span>
                {momentWords(growth.from, "A")}: {figure("before", sums.before)}
                {ofProgram(growth.from)}
            </span>
            <span>
                {momentWords(growth.to, "B")}: {figure("after", sums.after)}
                {ofProgram(growth.to)}
            </span>
            <b data-sum="change" title={exact(sums.change, "bytes")} class={toneOf(sums.change)}>
                {signed(sums.change, "bytes")}
            </b>
            {Number.isNaN(sums.born) ? (
                <span>
                    paths that grew {figure("grown", sums.grown)}, that shrank{" "}
                    {figure("shrunk", sums.shrunk)}
                </span>
            ) : (
                <span>
                    born after A and alive at B {figure("born", sums.born)}, of A's gone{" "}
                    {figure("gone", sums.gone)}
                </span>
            )}
            {waits && <span class="dim">replaying what was born in between…</span>}
            {why && <span class="dim">{why}</span>}
        </div>
    );
}

function Lens({ profile, of, growth }: ViewProps & { of: CallTree; growth: Growth }): JSX.Element {
    const { inclusive, hide } = state.value;
    const { born, why, waits } = useBorn(profile, of, growth);
    const wanted = wantedSites(of);
    const inputs = [growth, born, inclusive, focusKey()];
    const worked = useInSlices(
        function* () {
            return {
                of,
                growth,
                born,
                sums: yield* growthSumsInSlices(growth, born, wanted),
                rows: yield* growthRowsInSlices(of, growth, born, wanted, inclusive, hide),
            };
        },
        growth.change.length > MANY_SITES,
        inputs,
    );
    if (!worked.value) return <div class="empty" aria-busy="true" />;
    return (
        <LensOf profile={profile} value={worked.value} waits={waits || worked.waits} why={why} />
    );
}

const MANY_SITES = 20_000;

function LensOf({
    profile,
    value: { of, growth, born, sums, rows },
    waits,
    why,
}: ViewProps & {
    value: {
        of: CallTree;
        growth: Growth;
        born: Float64Array | null;
        sums: GrowthSums;
        rows: GrowthRow[];
    };
    waits: boolean;
    why: string;
}): JSX.Element {
    const shown = getOption(state.value, "as") ?? "table";
    return (
        <>
            <Sums growth={growth} sums={sums} waits={waits} why={why} />
            <Exactness profile={profile} growth={growth} sums={sums} />
            <Ways shown={shown} />
            {shown === "flame" ? (
                <GrowthFlame of={of} growth={growth} />
            ) : (
                <Rows rows={rows} isExact={!sums.unknown && sums.bound === 0} withBorn={!!born} />
            )}
        </>
    );
}

/* As what growth is shown. */
function Ways({ shown }: { shown: string }): JSX.Element {
    const ways: [string, string][] = [
        ["table", "functions"],
        ["flame", "difference flame graph"],
        ["looks", "between two looks"],
    ];
    return (
        <div class="bar-row">
            {ways.map(([id, title]) => (
                <button
                    key={id}
                    aria-pressed={shown === id}
                    onClick={() =>
                        go(
                            {
                                sort: "",
                                opt: withOptions(state.value, {
                                    as: id === "table" ? undefined : id,
                                }),
                            },
                            "replace",
                        )
                    }>
                    {title}
                </button>
            ))}
            {shown === "flame" && <OnlyChanges />}
        </div>
    );
}

function OnlyChanges(): JSX.Element {
    const only = getOption(state.value, "only") === "1";
    return (
        <button
            aria-pressed={only}
            title="Each path as wide as its change: what stayed as it was has no width"
            onClick={() =>
                go({ opt: withOptions(state.value, { only: only ? undefined : "1" }) }, "replace")
            }>
            only what changed
        </button>
    );
}

/* One tree, path by path as wide as the larger of the two levels, or as the change. */
function* growthFlame(of: CallTree, growth: Growth, only: boolean): Work<DiffFlame> {
    const { hide, collapse } = state.value;
    const masked = (level: Float64Array) =>
        level.map((value, site) => (growth.known[site] ? value : 0));
    const before = masked(growth.from.level);
    yield;
    const after = masked(growth.to.level);
    yield;
    const width = before.map((value, site) =>
        only ? Math.abs(after[site]! - value) : Math.max(value, after[site]!),
    );
    yield;
    const flame = yield* flameOf(of.tree, of.passes, width, wantedSites(of), {
        hide,
        collapse,
        inverted: false,
        least: 0.0001,
        most: 100_000,
        more: [before, after],
    });
    return {
        ...flame,
        before: Float64Array.from(flame.frames, (frame) => frame.more[0]!),
        after: Float64Array.from(flame.frames, (frame) => frame.more[1]!),
        names: flame.frames.map((frame) => (frame.line < 0 ? "all" : of.names.ofLine(frame.line))),
        places: flame.frames.map((frame) => (frame.line < 0 ? "" : of.names.place(frame.line))),
    };
}

function GrowthFlame({ of, growth }: { of: CallTree; growth: Growth }): JSX.Element {
    const only = getOption(state.value, "only") === "1";
    const { value: flame } = useInSlices(
        () => growthFlame(of, growth, only),
        growth.change.length > MANY_SITES,
        [of, growth, only, state.value.collapse, focusKey()],
    );
    if (!flame) return <div class="empty" aria-busy="true" />;
    if (flame.frames.length < 2)
        return <div class="empty">No call path whose level is known at both moments.</div>;
    return (
        <Difference
            flame={flame}
            unit="bytes"
            words={["A", "B"]}
            width={
                only
                    ? "as wide as the change, path by path; levels are those of the paths that changed"
                    : undefined
            }
            name="growth"
        />
    );
}

const isUnknown = (row: GrowthRow) => Number.isNaN(row.change);

/* How exact a row's change is. */
const doubtColumns: Column<GrowthRow>[] = [
    {
        id: "bound",
        title: "sure to ±",
        hint: "How far off the change is at most (doc/METRICS.md, “Curves”)",
        width: "92px",
        unit: "bytes",
        number: (row) => (isUnknown(row) ? NaN : row.bound),
    },
    {
        id: "unknown",
        title: "paths not known",
        hint: "Call paths without a curve, which the change lacks",
        width: "92px",
        number: (row) => row.unknown,
    },
    {
        id: "most",
        title: "at most",
        hint: "What paths without a curve ever held, in all: they have changed by no more",
        width: "92px",
        unit: "bytes",
        number: (row) => row.most,
    },
];

function columnsOf(isExact: boolean, withBorn: boolean): Column<GrowthRow>[] {
    const figure = (
        id: "before" | "after" | "born" | "gone",
        title: string,
        hint: string,
    ): Column<GrowthRow> => ({
        id,
        title,
        hint,
        width: "104px",
        unit: "bytes",
        number: (row) => row[id],
    });
    return [
        {
            id: "change",
            title: "change",
            hint: "At B less at A, of the paths that are known at both",
            width: "110px",
            unit: "bytes",
            number: (row) => row.change,
            show: (row) => (
                <span title={exact(row.change, "bytes")} class={toneOf(row.change)}>
                    {signed(row.change, "bytes")}
                </span>
            ),
        },
        figure("before", "at A", "Alive at A"),
        figure("after", "at B", "Alive at B"),
        ...(withBorn
            ? [
                  figure("born", "born since", "Began after A and is alive at B"),
                  figure("gone", "gone", "Alive at A and no more at B"),
              ]
            : []),
        ...(isExact ? [] : doubtColumns),
        {
            id: "function",
            title: "function",
            width: "minmax(200px, 2fr)",
            text: (row) => row.name,
            show: (row) => shortName(row.name),
        },
        {
            id: "module",
            title: "module",
            width: "minmax(90px, 0.7fr)",
            text: (row) => row.module,
            show: (row) => fileName(row.module),
        },
    ];
}

const isSame = (row: GrowthRow) => row.change === 0 && !(row.born > 0) && !(row.gone > 0);

function Rows({
    rows,
    isExact,
    withBorn,
}: {
    rows: GrowthRow[];
    isExact: boolean;
    withBorn: boolean;
}): JSX.Element {
    const { search, sort } = state.value;
    const withSame = getOption(state.value, "same") === "1",
        withUnknown = getOption(state.value, "unknown") === "1";
    const found = useMemo(() => {
        const has = searcher(search);
        return has
            ? rows.filter((row) => has({ function: row.name, file: row.file, module: row.module }))
            : rows;
    }, [rows, search]);
    const shown = useMemo(
        () => found.filter((row) => (isUnknown(row) ? withUnknown : withSame || !isSame(row))),
        [found, withSame, withUnknown],
    );
    const columns = useMemo(() => columnsOf(isExact, withBorn), [isExact, withBorn]);
    const toggle = (name: "same" | "unknown", is: boolean, number: number, title: string) =>
        number > 0 && (
            <button
                aria-pressed={is}
                onClick={() =>
                    go(
                        { opt: withOptions(state.value, { [name]: is ? undefined : "1" }) },
                        "replace",
                    )
                }>
                with {count(number)} {title}
            </button>
        );
    return (
        <Table
            name="growth"
            label="Growth by function"
            rows={shown}
            columns={columns}
            sort={sort || "-change"}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(row) => row.key}
            onOpen={(row) => go({ fn: row.key })}
            onMenu={(row, x, y) =>
                showMenu(x, y, functionMenu(row.key, row.name, row.file || row.module))
            }
            empty={
                found.some(isUnknown)
                    ? "Of no function that is shown the change is known: choose the beginning, the peak or the end, of which every path is known."
                    : search
                      ? `No function, file or module with “${search}” in it changed.`
                      : "Nothing grew, and nothing went."
            }
            foot={
                <>
                    {toggle(
                        "same",
                        withSame,
                        found.filter((row) => !isUnknown(row) && isSame(row)).length,
                        "unchanged",
                    )}
                    {toggle("unknown", withUnknown, found.filter(isUnknown).length, "not known")}
                </>
            }
        />
    );
}
