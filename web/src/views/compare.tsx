/* The view "compare": what grew and what shrank between two profiles. It shows the difference by
 * function, by call path as a flame graph, and over time. The later run can be scaled by time or
 * by number of allocations. */
import { useEffect, useMemo } from "preact/hooks";
import type { JSX } from "preact";
import {
    differenceColour,
    diffFlames,
    mostChanged,
    pairFigures,
    pairFunctions,
    scaleBetween,
    valuesOf,
    type DiffFlame,
    type Pair,
} from "../model/compare.ts";
import { buildFlame, frameAddress, frameOfAddress } from "../model/flame.ts";
import { identities } from "../model/identity.ts";
import { shortName } from "../model/names.ts";
import { type Profile } from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { bytes, duration, exact, format, share, signed, type Unit } from "../model/units.ts";
import { afterInRegion, beforeInRegion, metricOr, other, profileNames } from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Icicle, flameToSvg } from "../widgets/icicle.tsx";
import { Plot, type PlotSeries } from "../widgets/plot.tsx";
import { saveText } from "../widgets/save.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { changeText, FigurePairs, toneOf } from "./compare_figures.tsx";
import { readTimeline, steady } from "./timeline.tsx";
import { FrameGone } from "./flame.tsx";
import type { ViewProps } from "./registry.ts";

export function CompareView({ profile }: ViewProps): JSX.Element {
    const names = profileNames.value;
    const with_ = other.value;
    /* Of two there is no choice; but the other may not have the region that is looked at. */
    useEffect(() => {
        if (names.length === 2 && state.value.other < 0 && !state.value.region)
            go({ other: 1 - profile.index }, "replace");
    }, [names.length, profile.index, state.value.other, state.value.region]);
    if (names.length < 2)
        return (
            <NotRecorded
                what="There is one profile only."
                how={
                    <>
                        Open two: <code>tidemark serve before.tmk after.tmk</code>
                    </>
                }
            />
        );
    return (
        <>
            <div class="bar-row">
                <label>
                    before{" "}
                    <select
                        class="in-sentence"
                        aria-label="Before"
                        value={profile.index}
                        onChange={(event) =>
                            go({
                                profile: Number(event.currentTarget.value),
                                rank: -1,
                                fn: -1,
                                node: -1,
                            })
                        }>
                        {names.map((each, at) => (
                            <option key={at} value={at}>
                                {each.name}
                            </option>
                        ))}
                    </select>
                </label>
                <label>
                    after{" "}
                    <select
                        class="in-sentence"
                        aria-label="After"
                        value={state.value.other}
                        onChange={(event) => go({ other: Number(event.currentTarget.value) })}>
                        <option value={-1}>choose…</option>
                        {names.map((each, at) => (
                            <option key={at} value={at}>
                                {each.name}
                            </option>
                        ))}
                    </select>
                </label>
            </div>
            {!with_ ? (
                <div class="empty">
                    {state.value.other >= names.length
                        ? `There is no profile number ${state.value.other} here: choose with which to compare.`
                        : "Choose with which profile to compare."}
                </div>
            ) : state.value.region || state.value.of ? (
                <InRegion />
            ) : (
                <Comparison before={profile} after={with_} />
            )}
        </>
    );
}

/* Both cut to the region, or taken to the level of memory. */
function InRegion(): JSX.Element {
    const before = beforeInRegion.value,
        after = afterInRegion.value;
    const failed = [before, after].find((each) => each?.failure);
    if (failed)
        return (
            <div class="empty">
                <p class="bad" role="alert">
                    <b>
                        {profileNames.value[failed.of.index]?.name}: {failed.failure}
                    </b>
                </p>
            </div>
        );
    if (!before?.profile || !after?.profile) return <div class="empty" aria-busy="true" />;
    return <Comparison before={before.profile} after={after.profile} />;
}

const norms: readonly [string, string][] = [
    ["", "as they are"],
    ["count", "per allocation"],
    ["time", "per second"],
];

function scaleOf(norm: string, before: Profile, after: Profile): number | null {
    const of = (profile: Profile) =>
        norm === "count"
            ? profile.summary.program?.["alloc_count"]
            : norm === "time"
              ? profile.durationNs
              : 1;
    return scaleBetween(of(before), of(after));
}

interface Compared {
    unit: Unit;
    pairs: Pair[];
    flame: DiffFlame | null;
    totalBefore: number;
    totalAfter: number;
}

/* The functions of both, and both call trees in one flame graph if it is asked for. */
async function compared({
    before,
    after,
    metric,
    scale,
    withFlame,
}: {
    before: Profile;
    after: Profile;
    metric: string;
    scale: number;
    withFlame: boolean;
}): Promise<Compared> {
    const { hide, inclusive, collapse } = state.value;
    if (!after.metric(metric)?.recorded)
        throw new Error(
            `“${before.titleOf(metric)}” was not recorded in ${profileNames.value[after.index]?.name}.`,
        );
    const [a, b, columnA, columnB] = await Promise.all([
        before.callTree(),
        after.callTree(),
        before.column(metric),
        after.column(metric),
    ]);
    const executable = (profile: Profile) => String(profile.summary.meta["executable"] ?? "");
    const identified = identities(
        { tree: a, executable: executable(before) },
        { tree: b, executable: executable(after) },
    );
    const { names, byKey, byLine } = identified;
    const pairs = pairFunctions(
        identified,
        valuesOf(a, byLine[0], byKey[0], names.length, columnA, inclusive, hide),
        valuesOf(b, byLine[1], byKey[1], names.length, columnB, inclusive, hide),
        scale,
    );
    const options = {
        hide,
        collapse,
        inverted: false,
        least: 0.0005,
        most: 30_000,
    };
    const namer = (of: typeof a, lines: Uint32Array) => ({
        identity: (line: number) => lines[line]!,
        name: (identity: number) => names[identity]!,
        place: (line: number) => of.names.place(line),
    });
    const flame = withFlame
        ? diffFlames(
              buildFlame(a.tree, a.passes, columnA, null, options),
              namer(a, byLine[0]),
              buildFlame(b.tree, b.passes, columnB, null, options),
              namer(b, byLine[1]),
              scale,
          )
        : null;
    const sum = (column: Float64Array) => column.reduce((total, value) => total + (value || 0), 0);
    return {
        unit: before.unitOf(metric),
        pairs,
        flame,
        totalBefore: sum(columnA),
        totalAfter: sum(columnB) * scale,
    };
}

/* The figures of a whole run; of a region or a level there is no duration of its own. */
const figuresOf = ({ summary }: Profile) => {
    const duration = summary.meta["duration_ns"];
    const isPart = !!(state.value.region || state.value.of);
    return {
        ...summary.program,
        duration_ns: duration === undefined || isPart ? null : Number(duration),
    };
};

function Comparison({ before, after }: { before: Profile; after: Profile }): JSX.Element {
    const { hide, inclusive } = state.value;
    const norm = getOption(state.value, "norm") ?? "";
    const shown = getOption(state.value, "as") ?? "table";
    const known = scaleOf(norm, before, after),
        scale = known ?? 1;
    const figures = pairFigures(figuresOf(before), figuresOf(after), scale);
    const there = figures.filter(
        (row) => row.metric && [before, after].every((of) => of.metric(row.metric!)?.recorded),
    );
    const metric = metricOr(before, mostChanged(there) ?? "at_peak_bytes");
    const loaded = useLoaded(
        () => compared({ before, after, metric, scale, withFlame: shown === "flame" }),
        [before, after, metric, hide, inclusive, scale, shown, state.value.collapse],
    );
    const button = (id: string, title: string) => (
        <button
            aria-pressed={shown === id}
            onClick={() =>
                go(
                    {
                        sort: "",
                        opt: withOptions(state.value, {
                            as: id === "table" ? undefined : id,
                            zoom: undefined,
                        }),
                    },
                    "replace",
                )
            }>
            {title}
        </button>
    );
    return (
        <>
            <FigurePairs rows={figures} chosen={metric} />
            <div class="bar-row">
                <b>{before.titleOf(metric)}</b>
                {button("table", "functions")}
                {button("flame", "flame graph")}
                {button("time", "over time")}
                <select
                    aria-label="Normalised"
                    value={norm}
                    onChange={(event) =>
                        go(
                            {
                                opt: withOptions(state.value, {
                                    norm: event.currentTarget.value || undefined,
                                }),
                            },
                            "replace",
                        )
                    }>
                    {norms.map(([id, title]) => (
                        <option key={id} value={id}>
                            {title}
                        </option>
                    ))}
                </select>
            </div>
            <Ready of={loaded}>
                {({ unit, pairs, flame, totalBefore, totalAfter }) => (
                    <>
                        <div class="bar-row">
                            <span title={exact(totalBefore, unit)}>
                                before <b>{format(totalBefore, unit)}</b>
                            </span>
                            <span title={exact(totalAfter, unit)}>
                                after <b>{format(totalAfter, unit)}</b>
                            </span>
                            <b>
                                {totalAfter === totalBefore
                                    ? "unchanged in sum"
                                    : signed(totalAfter - totalBefore, unit)}
                            </b>
                            {totalBefore > 0 && totalAfter !== totalBefore && (
                                <span class="dim">
                                    {signed((totalAfter - totalBefore) / totalBefore, "share")}
                                </span>
                            )}
                            {norm && (
                                <span class="dim" data-scale>
                                    {known === null
                                        ? norm === "time"
                                            ? "How long one of the two ran is not known: as they are."
                                            : "How often one of the two allocated is not known: as they are."
                                        : `after × ${known.toPrecision(3)}`}
                                </span>
                            )}
                        </div>
                        {shown === "table" && <Pairs pairs={pairs} unit={unit} />}
                        {shown === "flame" && flame && <Difference flame={flame} unit={unit} />}
                        {shown === "time" && <Overlay before={before} after={after} />}
                    </>
                )}
            </Ready>
        </>
    );
}

function Pairs({ pairs, unit }: { pairs: Pair[]; unit: Unit }): JSX.Element {
    const { search, sort } = state.value;
    const withSame = getOption(state.value, "same") === "1";
    const found = useMemo(() => {
        const has = searcher(search);
        return has ? pairs.filter((pair) => has({ function: pair.name, file: pair.file })) : pairs;
    }, [pairs, search]);
    const hasFiles = pairs.some((pair) => pair.file);
    const rows = useMemo(
        () => (withSame ? found : found.filter((pair) => pair.before !== pair.after)),
        [found, withSame],
    );
    const same = found.filter((pair) => pair.before === pair.after).length;
    const columns = useMemo<Column<Pair>[]>(
        () => [
            {
                id: "delta",
                title: "difference",
                width: "120px",
                unit,
                number: (row) => row.after - row.before,
                show: (row) => (
                    <span
                        title={exact(row.after - row.before, unit)}
                        class={toneOf(row.after - row.before)}>
                        {signed(row.after - row.before, unit)}
                    </span>
                ),
            },
            { id: "before", title: "before", width: "110px", unit, number: (row) => row.before },
            { id: "after", title: "after", width: "110px", unit, number: (row) => row.after },
            {
                id: "change",
                title: "change",
                width: "90px",
                unit: "share",
                number: (row) => (row.before ? (row.after - row.before) / row.before : NaN),
                show: (row) => changeText(row.before, row.after),
            },
            {
                id: "name",
                title: "function",
                width: "minmax(240px, 1fr)",
                text: (row) => row.name,
                show: (row) => shortName(row.name),
            },
            ...(hasFiles
                ? [
                      {
                          id: "file",
                          title: "file",
                          hint: "Of functions of one name, which it is",
                          width: "minmax(90px, 0.4fr)",
                          text: (row: Pair) => row.file,
                      },
                  ]
                : []),
        ],
        [unit, hasFiles],
    );
    return (
        <Table
            name="compare"
            label="Functions before and after"
            rows={rows}
            columns={columns}
            sort={sort || "-delta"}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(row) => String(row.identity)}
            empty={
                search && !found.length
                    ? `No function with “${search}” in it.`
                    : same
                      ? "No function differs in this metric."
                      : "Neither has anything of this metric."
            }
            foot={
                same > 0 && (
                    <button
                        aria-pressed={withSame}
                        onClick={() =>
                            go(
                                {
                                    opt: withOptions(state.value, {
                                        same: withSame ? undefined : "1",
                                    }),
                                },
                                "replace",
                            )
                        }>
                        with {same.toLocaleString("en")} unchanged
                    </button>
                )
            }
        />
    );
}

/* `words`: what the two are called; `width`: a sentence, if frames are not as wide as the larger. */
export function Difference({
    flame,
    unit,
    words = ["before", "after"],
    width = "as wide as the larger of the two",
    name: fileName = "difference",
}: {
    flame: DiffFlame;
    unit: Unit;
    words?: readonly [string, string];
    width?: string | undefined;
    name?: string;
}): JSX.Element {
    const dark = theme.value === "dark";
    const address = getOption(state.value, "zoom") ?? "";
    const nameOf = (at: number) => flame.names[at]!;
    const { at: zoom, isWhole } = useMemo(
        () => frameOfAddress(flame, address, nameOf),
        [flame, address],
    );
    const fill = useMemo(
        () => (at: number) => differenceColour(flame.before[at]!, flame.after[at]!, dark),
        [flame, dark],
    );
    const { search } = state.value;
    const matches = useMemo(() => {
        const has = searcher(search);
        return (
            has &&
            Uint8Array.from(flame.names, (name, at) =>
                at && has({ function: name, file: flame.places[at]! }) ? 1 : 0,
            )
        );
    }, [flame, search]);
    const name = (at: number) => (at ? shortName(flame.names[at]!) : "all");
    const figures = (at: number) => (
        <>
            {words[0]} {format(flame.before[at], unit)}, {words[1]} {format(flame.after[at], unit)}:{" "}
            <b title={exact(flame.after[at]! - flame.before[at]!, unit)}>
                {signed(flame.after[at]! - flame.before[at]!, unit)}
            </b>
        </>
    );
    return (
        <>
            {!isWhole && <FrameGone name={zoom ? shortName(nameOf(zoom)) : "all of it"} />}
            <Icicle
                flame={flame}
                label="Difference flame graph"
                name={name}
                fill={fill}
                matches={matches}
                zoom={zoom}
                upwards={false}
                epoch={theme.value}
                tip={(at) => (
                    <>
                        <b>{flame.names[at]!.slice(0, 1000)}</b>
                        <div class="dim">{flame.places[at]}</div>
                        {figures(at)}
                    </>
                )}
                onZoom={(at) =>
                    go({
                        opt: withOptions(state.value, {
                            zoom: frameAddress(flame, at, nameOf) || undefined,
                        }),
                    })
                }
                onMenu={() => {}}
            />
            <div class="bar-row dim">
                <span data-zoomed>
                    {name(zoom)}: {figures(zoom)}
                </span>
                <span>
                    {width} · <span class="more">orange: more</span> ·{" "}
                    <span class="less">blue: less</span>
                </span>
                <span class="spring" />
                <button
                    class="plain"
                    onClick={() =>
                        saveText(
                            `${fileName}.svg`,
                            "image/svg+xml",
                            flameToSvg(flame, 1600, name, fill),
                        )
                    }>
                    SVG
                </button>
            </div>
        </>
    );
}

function Overlay({ before, after }: { before: Profile; after: Profile }): JSX.Element {
    const byShare = getOption(state.value, "axis") === "share";
    const loaded = useLoaded(async () => {
        if (before.region)
            throw new Error("Levels over time are kept of the whole program, not by region.");
        if (!before.has("timeline") || !after.has("timeline"))
            throw new Error("One of the two has no timeline.");
        const [a, b] = await Promise.all([before.columns("timeline"), after.columns("timeline")]);
        return { a: readTimeline(a), b: readTimeline(b) };
    }, [before, after]);
    return (
        <Ready of={loaded}>
            {({ a, b }) => {
                const ends = [a, b].map((each) => each.x.length * each.bucketNs),
                    longest = Math.max(...ends),
                    points = 1200;
                const x = Float64Array.from({ length: points }, (_, at) =>
                    byShare ? at / (points - 1) : (longest * at) / (points - 1),
                );
                const level = (of: typeof a, end: number) => {
                    const levels = steady(of.column("requested_max"));
                    return Array.from(x, (value) => {
                        const at = Math.floor((byShare ? value * end : value) / of.bucketNs);
                        return at < of.x.length
                            ? levels[at]!
                            : byShare
                              ? levels[of.x.length - 1]!
                              : null;
                    });
                };
                const series: PlotSeries[] = [
                    {
                        title: "before",
                        tone: "data-1",
                        values: level(a, ends[0]!),
                        format: bytes,
                        binary: true,
                        stepped: true,
                    },
                    {
                        title: "after",
                        tone: "data-2",
                        values: level(b, ends[1]!),
                        format: bytes,
                        binary: true,
                        stepped: true,
                        dashed: true,
                    },
                ];
                return (
                    <div class="pad">
                        <Card
                            title="Live bytes"
                            tools={
                                <button
                                    aria-pressed={byShare}
                                    onClick={() =>
                                        go(
                                            {
                                                opt: withOptions(state.value, {
                                                    axis: byShare ? undefined : "share",
                                                }),
                                            },
                                            "replace",
                                        )
                                    }>
                                    by share of the run
                                </button>
                            }>
                            <Plot
                                key={String(byShare)}
                                name="compare"
                                label="Live bytes of both runs"
                                x={x}
                                formatX={byShare ? (value) => share(value) : duration}
                                series={series}
                                height={360}
                                range={null}
                            />
                        </Card>
                    </div>
                );
            }}
        </Ready>
    );
}
