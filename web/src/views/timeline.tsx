/* Memory over time: levels, rates, call paths, marks and regions of the program. A range chosen
 * in any chart holds for every view. A moment that is clicked shows who held memory then. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, whole, type ColumnsDocument } from "../data/columns.ts";
import type { Mark, Peak, Region, Sample } from "../data/types.ts";
import {
    crests,
    highestNear,
    sumsAt,
    levelAt,
    raised,
    readCurves,
    snapped,
    type Curves,
} from "../model/curves.ts";
import { highest, holders, notable } from "../model/peaks.ts";
import { shortName } from "../model/names.ts";
import { fileName, type CallTree, type Profile } from "../model/profile.ts";
import { inSlices } from "../model/slices.ts";
import { bytes, count, duration, exact, format, isKnown } from "../model/units.ts";
import { focusKey, wantedSites } from "../state/profiles.ts";
import type { Note } from "../model/notes.ts";
import { notes } from "../state/notes.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { shortList } from "../widgets/more.tsx";
import { Plot, type PlotProps, type PlotSeries } from "../widgets/plot.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { MachineCard } from "./machine.tsx";
import type { Thread } from "./threads.tsx";
import type { ViewProps } from "./registry.ts";

interface Timeline {
    x: Float64Array;
    bucketNs: number;
    column: (name: string) => Float64Array;
}

export function readTimeline(document: ColumnsDocument): Timeline {
    const bucketNs = Number(document.header["bucket_ns"] ?? 1);
    const length = numbers(document, "requested_max").length;
    return {
        x: Float64Array.from({ length }, (_, at) => at * bucketNs),
        bucketNs,
        column: (name) => numbers(document, name),
    };
}

function perSecond(values: Float64Array, bucketNs: number): Float64Array {
    return values.map((value) => (value * 1e9) / bucketNs);
}

export function TimelineView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () =>
            profile.has("timeline") ? readTimeline(await profile.columns("timeline")) : null,
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(timeline) =>
                timeline ? (
                    <Timelines profile={profile} timeline={timeline} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="Nothing of this profile is known over time."
                        how="Nothing was allocated while it was recorded."
                    />
                )
            }
        </Ready>
    );
}

/* The curves of the first chart. Those that few look for are hidden at first. */
function levelSeries(
    profile: Profile,
    timeline: Timeline,
    alive: Float64Array | null,
): PlotSeries[] {
    const series: PlotSeries[] = [
        {
            title: "live blocks, bytes",
            tone: "data-1",
            values: steady(timeline.column("requested_max")),
            format: bytes,
            binary: true,
            filled: true,
            stepped: true,
        },
    ];
    const optional: [string, string, string, boolean][] = [
        ["physical", "resident", "data-2", false],
        ["virtual", "virtual", "data-8", true],
        ["tool", "Tidemark itself", "data-7", true],
    ];
    for (const [name, title, tone, hidden] of optional) {
        const values = timeline.column(`${name}_max`);
        if (values.some((value) => !Number.isNaN(value)))
            series.push({
                title,
                tone,
                values: fillGaps(values),
                format: bytes,
                binary: true,
                hidden,
            });
    }
    const unique = atLooks(timeline, profile.summary.samples ?? []);
    if (unique)
        series.push({
            title: "USS",
            tone: "data-4",
            values: unique,
            format: bytes,
            binary: true,
            points: true,
            hidden: true,
        });
    series.push({
        title: "live blocks, number",
        tone: "data-3",
        values: steady(timeline.column("blocks_max")),
        format: count,
        scale: "count",
        hidden: true,
        stepped: true,
    });
    if (alive)
        series.push({
            title: "threads",
            tone: "data-6",
            values: alive,
            format: (value) => (Number.isInteger(value) ? count(value) : ""),
            scale: "threads",
            hidden: true,
            stepped: true,
        });
    return series;
}

function rateSeries(timeline: Timeline): PlotSeries[] {
    return (
        [
            {
                title: "asked for",
                tone: "data-1",
                values: perSecond(timeline.column("alloc_bytes"), timeline.bucketNs),
                format: (value) => `${bytes(value)}/s`,
                binary: true,
                stepped: true,
                filled: true,
            },
            {
                title: "freed",
                tone: "data-2",
                values: perSecond(timeline.column("free_bytes"), timeline.bucketNs),
                format: (value) => `${bytes(value)}/s`,
                binary: true,
                stepped: true,
            },
            {
                title: "allocations",
                tone: "data-3",
                values: perSecond(timeline.column("alloc_count"), timeline.bucketNs),
                format: (value) => `${count(value)}/s`,
                scale: "calls",
                stepped: true,
            },
        ] satisfies PlotSeries[]
    ).filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/* A job's profile has levels over time, and 0 for what was asked for when; so have some tools'. */
function hasRates(profile: Profile, timeline: Timeline): boolean {
    const isSome = (name: string) => timeline.column(name).some((value) => value > 0);
    return !profile.summary.program?.["alloc_count"] || isSome("alloc_count");
}

/* The peaks, the marks of the program, and moments that somebody has noted, as lines over the curves. */
function marksOf(
    peaks: readonly Peak[],
    points: readonly Mark[],
    noted: readonly Note[],
    end: number,
    bucketNs: number,
): NonNullable<PlotProps["marks"]> {
    const most = peaks.reduce((best, peak) => Math.max(best, peak.bytes), 1);
    const place = (time: number) =>
        time < end
            ? Math.min(time, end - bucketNs)
            : time; /* the last interval is shown by its beginning */
    return [
        ...peaks.map((peak) => ({
            x: place(peak.time_ns),
            pick: peak.time_ns,
            title: bytes(peak.bytes),
            weight: peak.bytes === most ? 2 : peak.bytes / most,
        })),
        ...points.map((mark) => ({
            x: place(mark.time_ns),
            pick: mark.time_ns,
            title: markTitle(mark),
            weight: 1,
        })),
        ...noted.flatMap(({ from_ns, text }) =>
            from_ns === null
                ? []
                : [
                      {
                          x: place(from_ns),
                          pick: from_ns,
                          title: `✎ ${text.length > 24 ? `${text.slice(0, 23)}…` : text}`,
                          weight: 3,
                      },
                  ],
        ),
    ];
}

/* The regions of the program as strips, or the chosen one alone. */
function bandsOf(regions: readonly Region[], chosen: string): NonNullable<PlotProps["bands"]> {
    return regions
        .filter((region) => region.entered_count > 0)
        .map((region, tone) => ({
            from: region.first_ns,
            to: region.last_ns,
            title: region.name,
            tone,
        }))
        .filter((band) => !chosen || band.title === chosen);
}

/* The range of time that the URL has, within 0 and `end`, and how it changes. */
function useRange(end: number): {
    range: [number, number] | null;
    setRange: (low: number, high: number) => void;
} {
    const { from, to } = state.value;
    const range = useMemo<[number, number] | null>(
        () => (from < 0 && to < 0 ? null : [Math.max(0, from), to < 0 ? end : to]),
        [from, to, end],
    );
    const setRange = (low: number, high: number) =>
        go(
            (low < 0 && high < 0) || (low <= 0 && high >= end)
                ? { from: -1, to: -1 }
                : { from: Math.max(0, Math.round(low)), to: high >= end ? -1 : Math.round(high) },
            "replace",
        );
    return { range, setRange };
}

/* The number of threads over time; null: it is not recorded, or not there yet. */
function useThreadsAlive(profile: Profile, timeline: Timeline): Float64Array | null {
    const threads = useLoaded(
        async () =>
            profile.has("threads")
                ? threadsOver(
                      timeline,
                      (await profile.json<{ threads: Thread[] | null }>("threads")).threads ?? [],
                  )
                : null,
        [profile, timeline],
    );
    return threads.state === "there" ? threads.value : null;
}

/* The marks and regions that the program named. */
function useSaid(profile: Profile): { marks: Mark[]; regions: Region[] } {
    const said = useLoaded(
        async () => ({
            marks: profile.has("marks")
                ? ((await profile.json<{ marks: Mark[] | null }>("marks")).marks ?? [])
                : [],
            regions: profile.has("regions")
                ? ((await profile.json<{ regions: Region[] | null }>("regions")).regions ?? [])
                : [],
        }),
        [profile],
    );
    return said.state === "there" ? said.value : nothingSaid;
}

function Timelines({ profile, timeline }: ViewProps & { timeline: Timeline }): JSX.Element {
    const end = timeline.x.length * timeline.bucketNs;
    const { range, setRange } = useRange(end);
    const alive = useThreadsAlive(profile, timeline);
    const levels = useMemo(() => levelSeries(profile, timeline, alive), [timeline, alive]);
    const rates = useMemo(() => rateSeries(timeline), [timeline]);
    const peaks = notable(profile.summary.peaks ?? []);
    const { marks: points, regions } = useSaid(profile);
    const marks = useMemo(
        () => marksOf(highest(peaks), points, notes.value.notes, end, timeline.bucketNs),
        [profile, points, end, notes.value],
    );
    const chosen = state.value.region;
    const bands = useMemo(() => bandsOf(regions, chosen), [regions, chosen]);
    const asked = Number(getOption(state.value, "at") ?? -1),
        at = Number.isSafeInteger(asked) ? asked : -1;
    const pick = (x: number) =>
        go(
            { opt: withOptions(state.value, { at: String(Math.max(0, Math.round(x))) }) },
            "replace",
        );
    return (
        <div class="pad stack scrolls">
            <p class="dim tight">
                Drag to choose a range for all views, double click for all of it; Ctrl-wheel zooms,
                Shift-wheel moves; click a moment, or the line of a peak, to see who held memory
                then.
                {range && (
                    <>
                        {" "}
                        <button onClick={() => setRange(-1, -1)}>all of the run</button>{" "}
                        {profile.has("sites") && (
                            <a href={link({ view: "growth", sort: "", opt: "" })}>
                                what grew in this range
                            </a>
                        )}
                    </>
                )}
            </p>
            <Card
                title="Levels (highest in each interval)"
                tools={
                    timeline.column("requested_max").some(Number.isNaN) && (
                        <span class="dim">
                            straight between the moments that{" "}
                            {profile.importedFrom ?? "the recording"} told
                        </span>
                    )
                }>
                <Plot
                    name="memory"
                    label="Memory over time"
                    x={timeline.x}
                    formatX={duration}
                    series={levels}
                    height={260}
                    range={range}
                    onRange={setRange}
                    onPick={pick}
                    marks={marks}
                    bands={bands}
                />
            </Card>
            {regions.length > 0 && (
                <RegionsCard profile={profile} regions={regions} setRange={setRange} />
            )}
            {points.length > 0 && <MarksCard marks={points} pick={pick} />}
            {profile.has("at") && at >= 0 && <MomentCard profile={profile} at={at} />}
            {profile.has("curves") && (
                <CurvesCard
                    profile={profile}
                    timeline={timeline}
                    end={end}
                    range={range}
                    setRange={setRange}
                    at={at}
                    pick={pick}
                />
            )}
            {rates.length > 0 && hasRates(profile, timeline) && (
                <Card title="Rates">
                    <Plot
                        name="rates"
                        label="Allocation rates over time"
                        x={timeline.x}
                        formatX={duration}
                        series={rates}
                        height={180}
                        range={range}
                        onRange={setRange}
                    />
                </Card>
            )}
            {profile.has("machine_memory") && (
                <MachineCard profile={profile} end={end} range={range} setRange={setRange} />
            )}
            {peaks.length > 0 && <PeaksCard peaks={peaks} pick={pick} />}
        </div>
    );
}

const nothingSaid = { marks: [] as Mark[], regions: [] as Region[] };
const markTitle = (mark: Mark) =>
    mark.kind === "mark"
        ? (mark.name ?? "mark")
        : mark.name
          ? `${mark.kind} ${mark.name}`
          : mark.kind;

/* Null: one of both is not known. */
function withReallocs({ total }: Region, name: string, reallocs: string): number | null {
    const [own, grown] = [total[name] ?? null, total[reallocs] ?? null];
    return own === null || grown === null ? null : own + grown;
}

/* What each region asked for; a click makes the time in which it was entered the range of every
 * view. */
function RegionsCard({
    profile,
    regions,
    setRange,
}: ViewProps & { regions: Region[]; setRange: (from: number, to: number) => void }): JSX.Element {
    const columns = useMemo<Column<Region>[]>(
        () => [
            {
                id: "name",
                title: "region",
                width: "minmax(140px, 2fr)",
                text: (row) => row.name,
                ...(profile.has("region")
                    ? {
                          show: (row: Region) => (
                              <a
                                  href={link({ region: row.name })}
                                  title="Only what was asked for in it, in every view">
                                  {row.name}
                              </a>
                          ),
                      }
                    : {}),
            },
            {
                id: "entered_count",
                title: "entered",
                width: "80px",
                number: (row) => row.entered_count,
            },
            {
                id: "time_ns",
                title: "time in it",
                hint: "Of all threads that were in it",
                width: "96px",
                unit: "ns",
                number: (row) => row.time_ns,
            },
            {
                id: "peak_bytes",
                title: "its peak",
                hint: "Most bytes alive at once of what was asked for in it",
                width: "96px",
                unit: "bytes",
                number: (row) => row.peak_bytes,
            },
            {
                id: "left_bytes",
                title: "left",
                hint: "Alive when it ended, of what was asked for in it",
                width: "96px",
                unit: "bytes",
                number: (row) => row.left_bytes,
            },
            {
                id: "program_peak_bytes",
                title: "program's peak in it",
                width: "112px",
                unit: "bytes",
                number: (row) => row.program_peak_bytes,
            },
            {
                id: "asked_bytes",
                title: "asked for",
                hint: "By allocations and reallocations, as report says it",
                width: "96px",
                unit: "bytes",
                number: (row) => withReallocs(row, "alloc_bytes", "realloc_bytes"),
            },
            {
                id: "calls",
                title: "calls",
                hint: "Allocations and reallocations",
                width: "80px",
                number: (row) => withReallocs(row, "alloc_count", "realloc_count"),
            },
            {
                id: "first_ns",
                title: "first",
                width: "80px",
                unit: "ns",
                number: (row) => row.first_ns,
            },
            {
                id: "last_ns",
                title: "last",
                width: "80px",
                unit: "ns",
                number: (row) => row.last_ns,
            },
        ],
        [regions],
    );
    return (
        <Card title={regions.length === 1 ? "One region" : `${regions.length} regions`}>
            <p class="dim first">
                A click chooses the time from a region's first entry to its last exit for every
                view;{" "}
                {profile.has("region")
                    ? "its name chooses what was asked for in it."
                    : "what was asked for in it, by call path: tidemark serve, or tidemark report --region NAME."}
            </p>
            <div class="some-rows" style={{ "--rows": Math.min(9, regions.length) }}>
                <Table
                    name="regions"
                    label="Regions"
                    rows={regions}
                    columns={columns}
                    sort={getOption(state.value, "regions") ?? "-asked_bytes"}
                    onSort={(sort) =>
                        go({ opt: withOptions(state.value, { regions: sort }) }, "replace")
                    }
                    rowKey={(row) => row.name}
                    onSelect={(row) => row.entered_count > 0 && setRange(row.first_ns, row.last_ns)}
                />
            </div>
        </Card>
    );
}

function MarksCard({ marks, pick }: { marks: Mark[]; pick: (x: number) => void }): JSX.Element {
    const columns = useMemo<Column<Mark & { at: number }>[]>(
        () => [
            {
                id: "time_ns",
                title: "at",
                width: "100px",
                unit: "ns",
                number: (row) => row.time_ns,
            },
            { id: "name", title: "mark", width: "minmax(140px, 2fr)", text: markTitle },
            {
                id: "live_bytes",
                title: "live bytes",
                width: "110px",
                unit: "bytes",
                number: (row) => row.live_bytes,
            },
            {
                id: "live_count",
                title: "live blocks",
                width: "110px",
                number: (row) => row.live_count,
            },
            {
                id: "tid",
                title: "thread",
                width: "90px",
                number: (row) => row.tid,
                show: (row) => (row.tid === null ? "not known" : String(row.tid)),
            },
        ],
        [marks],
    );
    const rows = useMemo(() => marks.map((mark, at) => ({ ...mark, at })), [marks]);
    return (
        <Card title={marks.length === 1 ? "One mark" : `${exact(marks.length, "count")} marks`}>
            <div class="some-rows" style={{ "--rows": Math.min(9, marks.length) }}>
                <Table
                    name="marks"
                    label="Marks"
                    rows={rows}
                    columns={columns}
                    sort={getOption(state.value, "marks") ?? "time_ns"}
                    onSort={(sort) =>
                        go({ opt: withOptions(state.value, { marks: sort }) }, "replace")
                    }
                    rowKey={(row) => row.at}
                    onSelect={(row) => pick(row.time_ns)}
                />
            </div>
        </Card>
    );
}

/* Threads that lived in each interval, however little of it. */
export function threadsOver(
    timeline: Pick<Timeline, "x" | "bucketNs">,
    threads: readonly Pick<Thread, "start_ns" | "end_ns">[],
): Float64Array {
    const length = timeline.x.length,
        change = new Float64Array(length + 1);
    for (const { start_ns, end_ns } of threads) {
        const first = Math.floor(Math.max(0, start_ns) / timeline.bucketNs),
            last = end_ns === null ? length - 1 : Math.floor(end_ns / timeline.bucketNs);
        if (first >= length || last < first) continue;
        change[first]!++;
        change[Math.min(length, last + 1)]!--;
    }
    let alive = 0;
    return Float64Array.from({ length }, (_, at) => (alive += change[at]!));
}

/* What /proc said at the few looks at the process; null: nothing. */
function atLooks(timeline: Timeline, samples: readonly Sample[]): (number | null)[] | null {
    const values = new Array<number | null>(timeline.x.length).fill(null);
    for (const sample of samples)
        if (sample.unique_bytes !== null && values.length)
            values[
                Math.min(
                    values.length - 1,
                    Math.max(0, Math.floor(sample.time_ns / timeline.bucketNs)),
                )
            ] = sample.unique_bytes;
    return values.some((value) => value !== null) ? values : null;
}

/* A level of every interval; where another tool told it now and then, straight between two of them. */
export const steady = (values: Float64Array): Float64Array | (number | null)[] =>
    values.some(Number.isNaN) ? fillGaps(values) : values;

/* Readings of /proc come now and then: between two of them the line goes on. */
function fillGaps(values: Float64Array): (number | null)[] {
    const filled: (number | null)[] = Array.from(values, (value) =>
        Number.isNaN(value) ? null : value,
    );
    let last = -1;
    for (let at = 0; at < filled.length; at++) {
        if (filled[at] === null) continue;
        if (last >= 0)
            for (let gap = last + 1; gap < at; gap++)
                filled[gap] =
                    filled[last]! + ((filled[at]! - filled[last]!) * (gap - last)) / (at - last);
        last = at;
    }
    return filled;
}

interface Group {
    key: number;
    line: number;
    curves: number[];
    most: number;
}

/* Curves of call paths that held something in the range, added up by the function that they are listed under; the
 * largest first. */
function groupCurves(
    of: CallTree,
    curves: Curves,
    range: readonly [number, number],
    hide: boolean,
): Group[] {
    const { tree, passes } = of;
    const wanted = wantedSites(of);
    const lines = passes.exclusiveLines(hide);
    const groups = new Map<number, Group>();
    for (let curve = 0; curve < curves.node.length; curve++) {
        const site = passes.siteOf(curves.node[curve]!);
        if (site < 0 || (wanted && !wanted[site])) continue;
        let most = levelAt(curves, curve, range[0]);
        for (let point = curves.first[curve]!; point < curves.first[curve + 1]!; point++)
            if (curves.time[point]! >= range[0] && curves.time[point]! <= range[1])
                most = Math.max(most, curves.level[point]!);
        const key = tree.lineKey[lines[site]!]!;
        let group = groups.get(key);
        if (!group) groups.set(key, (group = { key, line: lines[site]!, curves: [], most: 0 }));
        group.curves.push(curve);
        group.most += most;
    }
    return [...groups.values()].filter(({ most }) => most > 0).sort((a, b) => b.most - a.most);
}

const tones = ["data-1", "data-2", "data-3", "data-4", "data-5", "data-6", "data-7"];

/* A function's colour: that of its place in the whole run, so that it stays whatever range is shown. Of
 * two with one colour the larger of the run keeps it. */
export function tonesOf(shown: readonly number[], places: ReadonlyMap<number, number>): string[] {
    const free = new Set(tones.keys()),
        tone = new Map<number, number>();
    const place = (key: number) => places.get(key) ?? places.size;
    for (const key of [...shown].sort((a, b) => place(a) - place(b))) {
        const own = place(key) % tones.length,
            taken = free.has(own) ? own : [...free][0]!;
        free.delete(taken);
        tone.set(key, taken);
    }
    return shown.map((key) => tones[tone.get(key)!]!);
}

function CurvesCard({
    profile,
    timeline,
    end,
    range,
    setRange,
    at,
    pick,
}: ViewProps & {
    timeline: Timeline;
    end: number;
    range: [number, number] | null;
    setRange: (from: number, to: number) => void;
    at: number;
    pick: (x: number) => void;
}): JSX.Element {
    const { hide } = state.value;
    const loaded = useLoaded(async () => {
        const tree = await profile.callTree();
        /* what groups of curves are made of, which are drawn at once */
        await inSlices(tree.passes.exclusiveLinesInSlices(hide));
        return { tree, curves: readCurves(await profile.columns("curves")), hide };
    }, [profile, hide]);
    return (
        <Ready of={loaded}>
            {({ tree, curves, hide }) => (
                <Areas
                    hide={hide}
                    profile={profile}
                    timeline={timeline}
                    of={tree}
                    curves={curves}
                    range={range ?? [0, end]}
                    shown={range}
                    setRange={setRange}
                    at={at}
                    pick={pick}
                    inputs={focusKey()}
                />
            )}
        </Ready>
    );
}

function Areas({
    profile,
    timeline,
    of,
    curves,
    range,
    shown,
    setRange,
    at,
    pick,
    inputs,
    hide,
}: {
    profile: Profile;
    timeline: Timeline;
    of: CallTree;
    curves: Curves;
    range: readonly [number, number];
    shown: [number, number] | null;
    setRange: (from: number, to: number) => void;
    at: number;
    pick: (x: number) => void;
    inputs: string;
    hide: boolean;
}): JSX.Element {
    const groups = useMemo(
        () => groupCurves(of, curves, range, hide),
        [of, curves, range[0], range[1], inputs, hide],
    );
    const end = timeline.x.length * timeline.bucketNs;
    const ofRun = useMemo(
        () =>
            range[0] === 0 && range[1] === end ? groups : groupCurves(of, curves, [0, end], hide),
        [groups, end],
    );
    const places = useMemo(() => new Map(ofRun.map(({ key }, place) => [key, place])), [ofRun]);
    const { x, series } = useMemo(
        () => stack(profile, timeline, of, curves, groups, range, places),
        [groups, timeline, places],
    );
    const snap = (ns: number) =>
        pick(snapped(x, series[0]?.values ?? [], ns, (range[1] - range[0]) / 300));
    const then = useMemo(
        () =>
            at < 0
                ? []
                : groups
                      .map((group) => ({
                          group,
                          level: group.curves.reduce(
                              (sum, curve) => sum + levelAt(curves, curve, at),
                              0,
                          ),
                      }))
                      .filter((each) => each.level > 0)
                      .sort((a, b) => b.level - a.level),
        [groups, at],
    );
    const { shown: largest, more } = shortList("then", then, 12, (rest) =>
        bytes(rest.reduce((sum, each) => sum + each.level, 0)),
    );
    const greatest = (values: Float64Array) =>
        values.reduce((best, value) => Math.max(best, value), 0);
    /* NaN: of one of them it is not known */
    const error = greatest(curves.threshold),
        stretch = greatest(curves.stretch);
    return (
        <Card
            title="Largest functions over time"
            tools={
                <span class="dim" title="How the curves are kept: doc/METRICS.md, “Curves”">
                    {isKnown(error)
                        ? `each path exact to ${bytes(error)} or 5 %`
                        : "how exact each path is, the profile does not say"}
                    {stretch > 0 && `; of swings within ${duration(stretch)} highest and lowest`}
                </span>
            }>
            {groups.length === 0 && (
                <p class="dim">No call path in this focus held much for long.</p>
            )}
            {groups.length > 0 && (
                <Plot
                    name="functions-over-time"
                    label="Live bytes of the largest functions over time, stacked"
                    x={x}
                    formatX={duration}
                    series={series}
                    height={240}
                    range={shown}
                    onRange={setRange}
                    onPick={snap}
                    marks={at < 0 ? [] : [{ x: at, title: duration(at) }]}
                />
            )}
            {at >= 0 && !profile.has("at") && (
                <>
                    <h3>Who held memory at {duration(at)}</h3>
                    <dl class="facts">
                        {largest.map(({ group, level }) => (
                            <>
                                <dt class="number" title={exact(level, "bytes")}>
                                    {bytes(level)}
                                </dt>
                                <dd class="nowrap" title={of.names.ofLine(group.line)}>
                                    <a href={link({ view: "flame", fn: group.key })}>
                                        {of.names.shortOfLine(group.line)}
                                    </a>
                                </dd>
                            </>
                        ))}
                    </dl>
                    {more}
                    {then.length === 0 && (
                        <p class="dim">No call path that has a curve held anything then.</p>
                    )}
                </>
            )}
        </Card>
    );
}

/* Of a trace the server knows exactly who held memory at a moment. */
function MomentCard({ profile, at }: ViewProps & { at: number }): JSX.Element {
    const { hide } = state.value;
    const loaded = useLoaded(async () => {
        const [of, held] = await Promise.all([profile.callTree(), profile.columns(`at/${at}`)]);
        await inSlices(of.passes.siteOfNodeInSlices());
        await inSlices(of.passes.exclusiveLinesInSlices(hide));
        return {
            of,
            header: held.header,
            rows: holdersAt(of, whole(held, "node"), numbers(held, "bytes"), hide),
        };
    }, [profile, at, focusKey()]);
    return (
        <Ready of={loaded}>
            {({ of, header, rows }) => {
                const { shown, more } = shortList("then", rows, 20, (rest) =>
                    bytes(rest.reduce((sum, each) => sum + each.held, 0)),
                );
                return (
                    <Card
                        title={`Who held memory at ${duration(at)}`}
                        tools={
                            <span class="dim">
                                exact, from the trace: {count(Number(header["events"]))} events
                                before it
                            </span>
                        }>
                        {header["rough"] === true && (
                            <p class="notice">
                                The trace is damaged there: these are the figures shortly before.
                            </p>
                        )}
                        <p>
                            <b title={exact(Number(header["live_bytes"]), "bytes")}>
                                {bytes(Number(header["live_bytes"]))}
                            </b>{" "}
                            in {count(Number(header["live_count"]))} blocks
                        </p>
                        <dl class="facts">
                            {shown.map(({ key, line, held }) => (
                                <>
                                    <dt class="number" title={exact(held, "bytes")}>
                                        {bytes(held)}
                                    </dt>
                                    <dd class="nowrap" title={of.names.ofLine(line)}>
                                        <a href={link({ view: "flame", fn: key })}>
                                            {of.names.shortOfLine(line)}
                                        </a>
                                    </dd>
                                </>
                            ))}
                        </dl>
                        {more}
                        {rows.length === 0 && (
                            <p class="dim">Nothing in this focus held any memory then.</p>
                        )}
                    </Card>
                );
            }}
        </Ready>
    );
}

/* Live bytes by the function that a call path is listed under, the largest first. */
function holdersAt(
    of: CallTree,
    nodes: Uint32Array,
    held: Float64Array,
    hide: boolean,
): { key: number; line: number; held: number }[] {
    const { tree, passes } = of;
    const wanted = wantedSites(of);
    const lines = passes.exclusiveLines(hide);
    const siteOf = passes.siteOfNode();
    const rows = new Map<number, { key: number; line: number; held: number }>();
    nodes.forEach((node, at) => {
        const site = siteOf[node] ?? -1;
        if (site < 0 || (wanted && !wanted[site])) return;
        const line = lines[site]!,
            key = tree.lineKey[line]!;
        const row = rows.get(key) ?? { key, line, held: 0 };
        row.held += held[at]!;
        rows.set(key, row);
    });
    return [...rows.values()].sort((a, b) => b.held - a.held);
}

/* The edges of the intervals that the chart shows. Those of the timeline, some taken together, so that
 * the program's highest level in each is known (NaN where it is not). A range of few of them is divided evenly instead, and
 * `level` is null. */
function intervalsOf(
    timeline: Timeline,
    range: readonly [number, number],
): { edges: Float64Array; level: Float64Array | null } {
    const { bucketNs } = timeline,
        most = 600,
        least = 60;
    const first = Math.floor(range[0] / bucketNs),
        count = Math.min(Math.ceil(range[1] / bucketNs), timeline.x.length) - first;
    if (count < least)
        return {
            edges: Float64Array.from(
                { length: most + 1 },
                (_, at) => range[0] + ((range[1] - range[0]) * at) / most,
            ),
            level: null,
        };
    const step = Math.ceil(count / most),
        length = Math.ceil(count / step);
    const highest = timeline.column("requested_max");
    return {
        edges: Float64Array.from(
            { length: length + 1 },
            (_, at) => (first + Math.min(at * step, count)) * bucketNs,
        ),
        level: Float64Array.from({ length }, (_, at) =>
            highest
                .subarray(first + at * step, first + Math.min((at + 1) * step, count))
                .reduce(
                    (best, value) => (value <= best ? best : isKnown(value) ? value : best),
                    NaN,
                ),
        ),
    };
}

const LONGEST = 40;

/* Names as a legend has them, which is their beginning. Of several that would read the same it has the places, and
 * where these are the same too it numbers them. */
export function titlesApart(names: readonly (readonly [name: string, place: string])[]): string[] {
    const apart = (titles: string[], longer: (at: number) => string) => {
        const times = new Map<string, number>();
        for (const title of titles) times.set(title, (times.get(title) ?? 0) + 1);
        return titles.map((title, at) => (times.get(title)! > 1 ? longer(at) : title));
    };
    const short = names.map(([name]) => name.slice(0, LONGEST)),
        placed = apart(short, (at) =>
            names[at]![1] ? `${short[at]!}, ${fileName(names[at]![1])}` : short[at]!,
        );
    return apart(placed, (at) => `${placed[at]!} (${at + 1})`);
}

/* Stacked: series are sums from the bottom, drawn from the highest down. Each interval is shown at its
 * highest instant. What none of the shown functions held is a band of its own: the whole is the
 * program's level, or, in a focus or where the level is not known so finely, the sum of all curves. */
function stack(
    profile: Profile,
    timeline: Timeline,
    of: CallTree,
    curves: Curves,
    groups: readonly Group[],
    range: readonly [number, number],
    places: ReadonlyMap<number, number>,
): { x: Float64Array; series: PlotSeries[] } {
    const { edges, level } = intervalsOf(timeline, range);
    const all = groups.flatMap((group) => group.curves);
    const x = crests(curves, all, edges, profile.summary.program?.["peak_ns"] ?? -1);
    const sum = new Float64Array(x.length);
    const series: PlotSeries[] = [];
    const add = (title: string, tone: string, own: Float64Array) => {
        own.forEach((value, point) => (sum[point]! += value));
        series.unshift({
            title,
            tone,
            values: sum.slice(),
            own,
            stepped: true,
            filled: true,
            format: bytes,
            binary: true,
        });
    };
    const largest = groups.slice(0, tones.length);
    const tone = tonesOf(
        largest.map(({ key }) => key),
        places,
    );
    const parts = [
        ...largest.map((group) => group.curves),
        groups.slice(tones.length).flatMap((group) => group.curves),
    ];
    const held = parts.map((part) => sumsAt(curves, part, x)),
        isWhole = level && !wantedSites(of);
    if (isWhole && curves.stretch.some((stretch) => stretch > 0)) {
        const highest = parts.map((part) =>
            x.map((ns) => part.reduce((sum, curve) => sum + highestNear(curves, curve, ns), 0)),
        );
        level.forEach((value, point) => {
            if (isKnown(value))
                raised(
                    held.map((own) => own[point]!),
                    highest.map((own) => own[point]!),
                    value,
                ).forEach((own, part) => (held[part]![point] = own));
        });
    }
    const titles = titlesApart(
        largest.map(({ line }) => [of.names.shortOfLine(line), of.names.place(line)]),
    );
    largest.forEach((_, number) => add(titles[number]!, tone[number]!, held[number]!));
    const rest = isWhole
        ? level.map((value, point) =>
              isKnown(value) ? Math.max(0, value - sum[point]!) : held[largest.length]![point]!,
          )
        : held[largest.length]!;
    if (rest.some((value) => value > 0)) add("everything else", "line-strong", rest);
    return { x, series };
}

function PeaksCard({
    peaks,
    pick,
}: {
    peaks: readonly Peak[];
    pick: (ns: number) => void;
}): JSX.Element {
    return (
        <Card title="Separate peaks, and who held them">
            <div class="split flush">
                {peaks.map((peak) => {
                    const { shown, more } = shortList(
                        `peak-${peak.time_ns}`,
                        holders(peak),
                        8,
                        (rest) => bytes(rest.reduce((sum, each) => sum + each.bytes, 0)),
                    );
                    return (
                        <div key={peak.time_ns}>
                            <button
                                class="plain"
                                title={`${exact(peak.bytes, "bytes")} at ${exact(peak.time_ns, "ns")}: show who held memory then`}
                                onClick={() => pick(peak.time_ns)}>
                                <b>{bytes(peak.bytes)}</b> at {duration(peak.time_ns)}
                            </button>
                            <dl class="facts">
                                {shown.map((share, at) => (
                                    <>
                                        <dt
                                            class="number"
                                            key={at}
                                            title={exact(share.bytes, "bytes")}>
                                            {format(share.bytes, "bytes")}
                                        </dt>
                                        <dd class="nowrap" title={share.function}>
                                            {share.node !== undefined ? (
                                                <a href={link({ view: "flame", node: share.node })}>
                                                    {shortName(share.function ?? "?")}
                                                </a>
                                            ) : (
                                                shortName(share.function ?? "?")
                                            )}
                                        </dd>
                                    </>
                                ))}
                            </dl>
                            {more}
                            {peak.shares === null && <p class="dim">Who held it was not kept.</p>}
                        </div>
                    );
                })}
            </div>
        </Card>
    );
}
