/* Distributions of block sizes and lifetimes, and of both against each other. The bins are the
 * profile's; empty ones are filled in between. A click on a cell lists the call paths whose
 * blocks may be in it. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { shortName } from "../model/names.ts";
import { type CallTree, type Profile } from "../model/profile.ts";
import { listed } from "../model/tree.ts";
import { bytes, count, duration, exact, share } from "../model/units.ts";
import { focusKey, wantedSites } from "../state/profiles.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Bars, HeatMap, type HeatCell } from "../widgets/bars.tsx";
import { shortList } from "../widgets/more.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { SpreadCards, spreadOf } from "./spread.tsx";
import type { ViewProps } from "./registry.ts";

export type Row = [number, number, number]; /* x, count, bytes */
export type Cell = [number, number, number, number]; /* x, y, count, bytes */
export interface Distributions {
    size: Row[];
    size_exact: Row[];
    lifetime: Row[];
    realloc_grow: Row[];
    realloc_shrink: Row[];
    lifetime_size: Cell[];
    time_size: Cell[];
    realloc: Cell[];
}

type Said = { [Name in keyof Distributions]: Distributions[Name] | null };

/* A list that is null has nothing in it. */
export async function loadDistributions(profile: Profile): Promise<Distributions | null> {
    if (!profile.has("distributions")) return null;
    const { distributions: said } = await profile.json<{ distributions: Said | null }>(
        "distributions",
    );
    return (
        said && {
            size: said.size ?? [],
            size_exact: said.size_exact ?? [],
            lifetime: said.lifetime ?? [],
            realloc_grow: said.realloc_grow ?? [],
            realloc_shrink: said.realloc_shrink ?? [],
            lifetime_size: said.lifetime_size ?? [],
            time_size: said.time_size ?? [],
            realloc: said.realloc ?? [],
        }
    );
}

/* "fine" bins (doc/METRICS.md): 0 1 2 3 4 5 6 7 8 10 12 14 16 20 …: all between the lowest and the
 * highest. */
export function fineBins(low: number, high: number): number[] {
    const bins = [];
    for (
        let bin = 0;
        bin <= high;
        bin = bin < 8 ? bin + 1 : bin + 2 ** (Math.floor(Math.log2(bin)) - 2)
    )
        if (bin >= low) bins.push(bin);
    return bins;
}

/* Bins that nothing fell into are not told: they are put in where the bins are known (sizes; bins
 * of lifetimes are of the clock's ticks, so their bounds in ns are not). */
function binsOf(rows: readonly Row[], whole: boolean): number[] {
    const xs = rows.map((row) => row[0]);
    return whole ? fineBins(Math.min(...xs), Math.max(...xs)) : [...xs].sort((a, b) => a - b);
}

function histogram(
    rows: readonly Row[],
    by: 1 | 2,
    unit: (value: number) => string,
    whole: boolean,
) {
    const known = new Map(rows.map((row) => [row[0], row]));
    return binsOf(rows, whole).map((x) => {
        const row = known.get(x);
        return {
            label: unit(x),
            value: row?.[by] ?? 0,
            tip: (
                <>
                    from {unit(x)}
                    <br />
                    {exact(row?.[1] ?? 0, "count")} blocks, {bytes(row?.[2] ?? 0)}
                </>
            ),
        };
    });
}

export function coarse(values: readonly number[]): number[] {
    const high = Math.max(0, ...values);
    const bins = [0];
    for (let bin = 1; bin <= high; bin *= 2) bins.push(bin);
    const low = Math.min(...values);
    return bins.filter((bin) => bin >= low);
}

export function heatCells(
    cells: readonly Cell[],
    xs: readonly number[],
    ys: readonly number[],
    by: 2 | 3,
): HeatCell[] {
    const columns = new Map(xs.map((x, at) => [x, at])),
        rows = new Map(ys.map((y, at) => [y, at]));
    return cells.flatMap((cell) => {
        const x = columns.get(cell[0]),
            y = rows.get(cell[1]);
        return x === undefined || y === undefined ? [] : [{ x, y, value: cell[by] }];
    });
}

export function SizesView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(() => loadDistributions(profile), [profile]);
    return (
        <Ready of={loaded}>
            {(distributions) =>
                distributions ? (
                    <Sizes profile={profile} of={distributions} />
                ) : profile.region ? (
                    <OfRegion profile={profile} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="No distributions in this profile."
                        how="They are recorded unless the profile is older than format 2, or nothing was allocated."
                    />
                )
            }
        </Ready>
    );
}

/* What is known of single call paths is known of a region. */
function OfRegion({ profile }: ViewProps): JSX.Element {
    const now = state.value;
    const loaded = useLoaded(
        () =>
            profile.work(["spread", focusKey(now)].join(), async () => {
                const of = await profile.callTree();
                return spreadOf(
                    profile,
                    listed(wantedSites(of, now) ?? new Uint8Array(of.tree.siteNode.length).fill(1)),
                );
            }),
        [profile, focusKey(now)],
    );
    return (
        <div class="pad">
            <Card title="Sizes and lifetimes in this region">
                <p class="dim first">
                    Single blocks are counted by size and lifetime for the whole program, not by
                    region; of each call path in the region the smallest, the largest and the mean
                    are known.
                </p>
                <Ready of={loaded}>
                    {(spread) =>
                        spread.sizes || spread.lifetimes ? (
                            <SpreadCards of={spread} from="of this region" />
                        ) : (
                            <p class="dim">
                                {profile.summary.program?.["alloc_count"] === 0
                                    ? "Nothing was allocated in it."
                                    : "Not known."}
                            </p>
                        )
                    }
                </Ready>
            </Card>
        </div>
    );
}

/* Cells with their bounds. `times`: empty intervals of time are filled in; `value`: which
 * figure. */
function heatOf(cells: readonly Cell[], times: boolean, value: 2 | 3) {
    const xs = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    const all = times && xs.length > 1 ? evenly(xs) : xs;
    const ys = coarse(cells.map((cell) => cell[1]));
    return {
        cells: heatCells(cells, all, ys, value),
        xs: all,
        ys,
        columns: all.map(duration),
        rows: ys.map(bytes),
    };
}

function ByChoice({ by }: { by: 1 | 2 }): JSX.Element {
    return (
        <div class="bar-row">
            <button
                aria-pressed={by === 1}
                onClick={() => go({ opt: withOptions(state.value, { by: undefined }) }, "replace")}>
                blocks
            </button>
            <button
                aria-pressed={by === 2}
                onClick={() => go({ opt: withOptions(state.value, { by: "bytes" }) }, "replace")}>
                bytes
            </button>
            <span class="dim">
                Whole program: distributions are not kept by call path or thread. Click a bar or a
                cell for the call paths that fit.
            </span>
        </div>
    );
}

/* The x of a row that stands for all values that were not counted one by one (doc/METRICS.md). */
export const isOthers = (row: Row): boolean => row[0] >= (2 ** 63 - 1) * 0.99;

/* `all`: of all sizes, of which the profile keeps the commonest. */
function Commonest({
    rows,
    by,
    all,
}: {
    rows: readonly Row[];
    by: 1 | 2;
    all: readonly Row[];
}): JSX.Element {
    const sum = (list: readonly Row[]) => list.reduce((total, row) => total + row[by], 0),
        say = (value: number) => (by === 2 ? bytes(value) : `${count(value)} blocks`);
    const total = sum(all),
        sorted = useMemo(
            () => rows.filter((row) => !isOthers(row)).sort((a, b) => b[by] - a[by]),
            [rows, by],
        ),
        { shown, more } = shortList("sizes", sorted, 24, (rest) => say(sum(rest)));
    return (
        <Card title={by === 2 ? "Sizes with most bytes" : "Commonest sizes"}>
            <table>
                <thead>
                    <tr>
                        <th>size</th>
                        <th class="number">blocks</th>
                        <th class="number">bytes</th>
                        <th class="number">{by === 2 ? "of all bytes" : "of all blocks"}</th>
                    </tr>
                </thead>
                <tbody>
                    {shown.map((row) => (
                        <tr key={row[0]}>
                            <td class="number" title={exact(row[0], "bytes")}>
                                {exact(row[0], "bytes")}
                            </td>
                            <td class="number" title={exact(row[1], "count")}>
                                {count(row[1])}
                            </td>
                            <td class="number" title={exact(row[2], "bytes")}>
                                {bytes(row[2])}
                            </td>
                            <td class="number">{share(row[by] / total)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {more}
            {sum(sorted) < total && (
                <p class="dim tight" data-other-sizes>
                    Of sizes that are not told one by one: {say(total - sum(sorted))} (
                    {share(1 - sum(sorted) / total)}).
                </p>
            )}
        </Card>
    );
}

function Sizes({ profile, of }: ViewProps & { of: Distributions }): JSX.Element {
    const by = getOption(state.value, "by") === "bytes" ? 2 : 1;
    const of2 = by === 2 ? 3 : 2;
    const format = by === 2 ? bytes : count;
    const says = (value: number) => (by === 2 ? bytes(value) : `${count(value)} blocks`);
    const figure = (value: number) =>
        by === 2 ? exact(value, "bytes") : `${exact(value, "count")} blocks`;
    const sizes = useMemo(() => histogram(of.size, by, bytes, true), [of, by]);
    const lifetimes = useMemo(() => histogram(of.lifetime, by, duration, false), [of, by]);
    const life = useMemo(() => heatOf(of.lifetime_size, false, of2), [of, by]);
    const time = useMemo(() => heatOf(of.time_size, true, of2), [of, by]);
    const total = of.size.reduce((sum, row) => sum + row[1], 0);
    const picked = getOption(state.value, "cell")?.split("_").map(Number);
    const pick = (size: number, lifetime: number) =>
        go({ opt: withOptions(state.value, { cell: `${size}_${lifetime}` }) }, "replace");
    if (!total) return <div class="empty">Nothing was allocated.</div>;
    return (
        <div class="scrolls">
            <ByChoice by={by} />
            <div class="split">
                <Card title="Sizes asked for">
                    <Bars
                        name="sizes"
                        label="Distribution of sizes"
                        bars={sizes}
                        height={180}
                        format={format}
                        onPick={(at) => pick(binsOf(of.size, true)[at]!, -1)}
                    />
                </Card>
                <Card title="Lifetimes of freed blocks">
                    {of.lifetime.length ? (
                        <Bars
                            name="lifetimes"
                            label="Distribution of lifetimes"
                            bars={lifetimes}
                            height={180}
                            format={format}
                        />
                    ) : (
                        <p class="dim">No block was freed.</p>
                    )}
                </Card>
                <Card title="Size × lifetime">
                    {life.cells.length ? (
                        <HeatMap
                            name="lifetime-size"
                            label="Sizes against lifetimes"
                            cells={life.cells}
                            columns={life.columns}
                            rows={life.rows}
                            height={260}
                            format={says}
                            tip={(cell) => (
                                <>
                                    lives from {life.columns[cell.x]}, asks from {life.rows[cell.y]}
                                    <br />
                                    {figure(cell.value)}
                                </>
                            )}
                            onPick={(cell) => pick(life.ys[cell.y]!, life.xs[cell.x]!)}
                        />
                    ) : (
                        <p class="dim">No block was freed.</p>
                    )}
                </Card>
                <Card title="Size × time of birth">
                    <HeatMap
                        name="time-size"
                        label="Sizes over time"
                        cells={time.cells}
                        columns={time.columns}
                        rows={time.rows}
                        height={260}
                        format={says}
                        tip={(cell) => (
                            <>
                                born from {time.columns[cell.x]}, asks from {time.rows[cell.y]}
                                <br />
                                {figure(cell.value)}
                            </>
                        )}
                        onPick={(cell) => pick(time.ys[cell.y]!, -1)}
                    />
                </Card>
                {picked && picked.length === 2 && (
                    <Fitting profile={profile} size={picked[0]!} lifetime={picked[1]!} />
                )}
                <Commonest rows={of.size_exact} by={by} all={of.size} />
                <Temporary profile={profile} />
            </div>
        </div>
    );
}

/* Intervals of time are of one length, but for rounding; those in which nothing was born are not
 * told. */
export function evenly(xs: readonly number[]): number[] {
    let least = Infinity,
        steps = 0;
    for (let at = 1; at < xs.length; at++) least = Math.min(least, xs[at]! - xs[at - 1]!);
    for (let at = 1; at < xs.length; at++) steps += Math.round((xs[at]! - xs[at - 1]!) / least);
    if (!(steps > 0) || steps > 4096) return [...xs];
    const first = xs[0]!,
        step = (xs[xs.length - 1]! - first) / steps;
    const all = Array.from({ length: steps + 1 }, (_, at) => Math.round(first + at * step));
    for (const x of xs) all[Math.round((x - first) / step)] = x;
    return all;
}

/* Call paths whose blocks may be in a cell: what is kept of each is the smallest and largest size
 * and lifetime. */
function Fitting({
    profile,
    size,
    lifetime,
}: ViewProps & { size: number; lifetime: number }): JSX.Element {
    const loaded = useLoaded(async () => {
        const names = [
            "size_min",
            "size_max",
            "lifetime_min_ns",
            "lifetime_max_ns",
            "alloc_count",
            "alloc_bytes",
        ];
        const [tree, ...columns] = await Promise.all([
            profile.callTree(),
            ...names.map((name) => profile.column(name)),
        ]);
        return fitting(tree as CallTree, columns as Float64Array[], size, lifetime);
    }, [profile, size, lifetime, focusKey()]);
    return (
        <Card
            title={
                `Call paths that ask for ${bytes(size)} to ${bytes(Math.max(1, 2 * size))}` +
                (lifetime >= 0
                    ? `, with lifetimes of ${duration(lifetime)} to ${duration(Math.max(1, 2 * lifetime))}`
                    : "")
            }
            tools={
                <button
                    class="plain"
                    aria-label="Close"
                    onClick={() =>
                        go({ opt: withOptions(state.value, { cell: undefined }) }, "replace")
                    }>
                    ✕
                </button>
            }>
            <Ready of={loaded}>
                {(rows) => {
                    const { shown, more } = shortList("fitting", rows, 20);
                    return (
                        <>
                            <p class="dim">
                                Their smallest and largest size and lifetime enclose the cell; how
                                many of their blocks are in it is not kept.
                            </p>
                            <dl class="facts">
                                {shown.map((row) => (
                                    <>
                                        <dt class="number" title={exact(row.count, "count")}>
                                            {count(row.count)} × {bytes(row.min)}
                                            {row.max > row.min ? `–${bytes(row.max)}` : ""}
                                        </dt>
                                        <dd class="nowrap" title={row.name}>
                                            <a
                                                href={link({
                                                    view: "flame",
                                                    node: row.node,
                                                    opt: "",
                                                })}>
                                                {shortName(row.name)}
                                            </a>
                                        </dd>
                                    </>
                                ))}
                            </dl>
                            {rows.length === 0 && <p class="dim">None in this focus.</p>}
                            {more}
                        </>
                    );
                }}
            </Ready>
        </Card>
    );
}

function fitting(
    of: CallTree,
    [low, high, young, old, number]: readonly Float64Array[],
    size: number,
    lifetime: number,
) {
    const wanted = wantedSites(of),
        lines = of.passes.exclusiveLines(state.value.hide);
    const upper = Math.max(size + 1, 2 * size),
        longest = Math.max(lifetime + 1, 2 * lifetime);
    const rows = [];
    for (let site = 0; site < of.tree.siteNode.length; site++) {
        if (wanted && !wanted[site]) continue;
        if (!(low![site]! < upper && high![site]! >= size)) continue;
        if (lifetime >= 0 && !(young![site]! < longest && old![site]! >= lifetime)) continue;
        rows.push({
            node: of.tree.siteNode[site]!,
            name: of.names.ofLine(lines[site]!),
            count: number![site]!,
            min: low![site]!,
            max: high![site]!,
        });
    }
    return rows.sort((a, b) => b.count - a.count);
}

function Temporary({ profile }: ViewProps): JSX.Element {
    const {
        temporary_count: temporary,
        alloc_count: allocs,
        realloc_count: reallocs,
    } = profile.summary.program ?? {};
    const all = allocs && allocs + (reallocs ?? 0); /* reallocations make blocks too */
    return (
        <Card
            title="Temporary allocations"
            tools={
                <a href={link({ view: "functions", metric: "temporary_count", opt: "" })}>
                    functions
                </a>
            }>
            <p>
                {temporary === null || temporary === undefined ? (
                    "Not known."
                ) : (
                    <>
                        <b title={exact(temporary, "count")}>{count(temporary)}</b> blocks
                        {all
                            ? ` (${share(temporary / all)}${reallocs ? " with reallocs" : ""})`
                            : ""}{" "}
                        were freed by the thread that made them before it allocated anything else: a
                        buffer on the stack, or one that is kept, would do.
                    </>
                )}
            </p>
        </Card>
    );
}
