/* Annotated source: figures beside every line. Files and functions stand in lists beside it. A
 * chosen line shows all its metrics, the call paths that lead to it, and the sizes and lifetimes
 * of their blocks. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { sureHint, sureTo, varianceOf } from "../model/estimate.ts";
import { choiceMark, keyOfChoice, placeOfKey } from "../model/focus.ts";
import { linesOf, type Lines, type LineSums } from "../model/lines.ts";
import { functionRows, type FunctionRow } from "../model/functions.ts";
import { shortName } from "../model/names.ts";
import {
    baseName,
    derive,
    ownLines,
    type CallTree,
    type Profile,
    fileName,
} from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { sumOf } from "../model/sandwich.ts";
import { breathe, inSlices } from "../model/slices.ts";
import { both, listed } from "../model/tree.ts";
import { exact, format, share, type Unit } from "../model/units.ts";
import { focusKey, shownColumn, shownMetric, sitesKey, wantedSites } from "../state/profiles.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Code, type LineFigures } from "../widgets/code.tsx";
import { saveText } from "../widgets/save.ts";
import { shortList } from "../widgets/more.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { SpreadCards, spreadOf, type Spreads } from "./spread.tsx";
import { Ready, useLoaded } from "../widgets/states.tsx";
import type { ViewProps } from "./registry.ts";

interface Source {
    file: number;
    path: string;
    name: string;
    origin: string | null;
    changed: boolean;
    note: string | null;
    text: string | null;
}
interface FileRow {
    file: number;
    path: string;
    exclusive: number;
    inclusive: number;
}

/* The number of a file that is named in the URL: numbers change from recording to recording. */
function fileNumber(of: CallTree, path: string): number {
    if (!path) return -1;
    for (let file = 0; file < of.names.fileCount; file++)
        if (of.names.file(file) === path) return file;
    for (let file = 0; file < of.names.fileCount; file++)
        if (of.names.file(file)?.endsWith("/" + path)) return file;
    return -1;
}

export function SourceView({ profile }: ViewProps): JSX.Element {
    const now = state.value,
        { hide } = now;
    const metric = shownMetric(profile, "at_peak_bytes", now);
    const loaded = useLoaded(
        () =>
            profile.work(["source", metric, focusKey(now)].join(), async (): Promise<Data> => {
                const of = await profile.callTree();
                const lines = linesOf(of),
                    column = await shownColumn(profile, of, metric, now),
                    wanted = wantedSites(of, now);
                const sums = await inSlices(lines.sums(column, wanted, hide));
                const keys = { key: focusKey(now), sites: sitesKey(now) };
                return { profile, metric, ...keys, of, lines, column, wanted, ...sums };
            }),
        [profile, metric, focusKey(now)],
    );
    return <Ready of={loaded}>{(data) => <Browser data={data} />}</Ready>;
}

/* Of what profile, metric and focus: others may be chosen while theirs are on the way. */
interface Data extends LineSums {
    profile: Profile;
    metric: string;
    key: string;
    sites: string; /* what `wanted` depends on */
    of: CallTree;
    lines: Lines;
    column: Float64Array;
    wanted: Uint8Array | null;
}

/* The files with anything of the metric. */
function filesOf(data: Data): FileRow[] {
    const { of } = data;
    const rows: FileRow[] = [];
    for (let file = 0; file < of.names.fileCount; file++)
        if (data.filesInclusive[file + 1]! > 0 || data.filesExclusive[file + 1]! > 0)
            rows.push({
                file,
                path: of.names.file(file) ?? "?",
                exclusive: data.filesExclusive[file + 1]!,
                inclusive: data.filesInclusive[file + 1]!,
            });
    return rows;
}

function fileColumns(unit: Unit, most: number): Column<FileRow>[] {
    return [
        {
            id: "exclusive",
            title: "itself",
            width: "76px",
            unit,
            number: (row) => row.exclusive,
            fill: (row) => row.exclusive / most,
        },
        {
            id: "inclusive",
            title: "with callees",
            width: "88px",
            unit,
            number: (row) => row.inclusive,
        },
        {
            id: "file",
            title: "file",
            width: "minmax(140px, 1fr)",
            text: (row) => row.path,
            show: (row) => fileName(row.path),
        },
    ];
}

function NoSource(): JSX.Element {
    return (
        <div class="empty">
            <p>
                <b>No line of source is known.</b>
            </p>
            <p>
                The program and its libraries have no debug information: compile with{" "}
                <code>-g</code> (optimised code is fine), or install the -dbgsym packages, and
                record again. Functions by name are in the{" "}
                <a href={link({ view: "functions" })}>list of functions</a>.
            </p>
        </div>
    );
}

function Browser({ data }: { data: Data }): JSX.Element {
    const { profile, metric } = data;
    const asked = getOption(state.value, "fn") ?? "";
    const list = getOption(state.value, "list") ?? "files";
    const unit = profile.unitOf(metric);
    const start = useMemo(
        () => startOf(data, state.value.file, asked),
        [data, state.value.file, asked],
    );
    const files = useMemo(() => filesOf(data), [data]);
    const most = files.reduce((best, row) => Math.max(best, row.exclusive), 1);
    const columns = useMemo(() => fileColumns(unit, most), [files, unit]);
    const wanted = state.value.search;
    const shown = useMemo(() => {
        const has = searcher(wanted);
        return has ? files.filter((row) => has({ function: "", file: row.path })) : files;
    }, [files, wanted]);
    if (files.length === 0) return <NoSource />;
    return (
        <div class="beside">
            <div class="list">
                <div class="bar-row">
                    <b>{profile.titleOf(metric)}</b>
                    <button
                        aria-pressed={list === "files"}
                        onClick={() =>
                            go(
                                { sort: "", opt: withOptions(state.value, { list: undefined }) },
                                "replace",
                            )
                        }>
                        files
                    </button>
                    <button
                        aria-pressed={list === "functions"}
                        onClick={() =>
                            go(
                                { sort: "", opt: withOptions(state.value, { list: "functions" }) },
                                "replace",
                            )
                        }>
                        functions
                    </button>
                </div>
                {list === "files" ? (
                    <Table
                        name="files"
                        label="Files"
                        rows={shown}
                        whole={files.length}
                        columns={columns}
                        sort={state.value.sort || "-exclusive"}
                        onSort={(sort) => go({ sort }, "replace")}
                        rowKey={(row) => row.file}
                        selected={start.file}
                        onSelect={(row) =>
                            go(
                                {
                                    file: row.path,
                                    line: 0,
                                    opt: withOptions(state.value, { fn: undefined }),
                                },
                                "replace",
                            )
                        }
                    />
                ) : (
                    <FunctionList data={data} />
                )}
            </div>
            <div class="column">
                {start.file < 0 ? (
                    <div class="empty">Choose a file.</div>
                ) : (
                    <File data={data} file={start.file} line={state.value.line || start.line} />
                )}
            </div>
        </div>
    );
}

/* By key: is it the function that an address has the mark of? Where none is, one of its name. */
function keysNamed(of: CallTree, mark: string): Uint8Array {
    const keys = Uint8Array.from({ length: of.tree.keyCount }, (_, key) =>
        choiceMark(of.names.ofKey(key), placeOfKey(of, key)) === mark ? 1 : 0,
    );
    const found = keys.includes(1) ? -1 : keyOfChoice(of, mark);
    if (found >= 0) keys[found] = 1;
    return keys;
}
const markOf = ({ name, file, module }: FunctionRow) => choiceMark(name, file || module);

/* Where to begin: the file of the URL, or where a function is, or the line with most. */
function startOf(data: Data, path: string, asked: string): { file: number; line: number } {
    const { of, lines } = data;
    const named = fileNumber(of, path);
    if (named >= 0) return { file: named, line: 0 };
    let best = 0;
    const ofFunction = new Uint8Array(lines.groupCount);
    const isAsked = asked ? keysNamed(of, asked) : null;
    if (isAsked)
        for (let line = 0; line < lines.groups.length; line++)
            if (isAsked[of.tree.lineKey[line]!]) ofFunction[lines.groups[line]!] = 1;
    for (let group = 1; group < lines.groupCount; group++) {
        if (isAsked && !ofFunction[group]) continue;
        const better =
            data.exclusive[group]! - data.exclusive[best]! ||
            data.inclusive[group]! - data.inclusive[best]!;
        if (!best || better > 0) best = group;
    }
    return best ? { file: lines.file[best]!, line: lines.number[best]! } : { file: -1, line: 0 };
}

function FunctionList({ data }: { data: Data }): JSX.Element {
    const { profile, metric, of, column, wanted } = data;
    const { inclusive, hide, search, sort } = state.value;
    const asked = getOption(state.value, "fn"),
        has = searcher(search);
    const loaded = useLoaded(
        () =>
            functionRows(
                profile,
                of,
                [metric],
                wanted,
                inclusive,
                hide,
                new Map([[metric, column]]),
            ),
        [data, inclusive, hide],
    );
    return (
        <Ready of={loaded}>
            {(rows) => (
                <Table
                    name="functions"
                    label="Functions"
                    rows={rows.filter(
                        (row) =>
                            !has || has({ function: row.name, file: row.file, module: row.module }),
                    )}
                    whole={rows.length}
                    sort={sort || "-value"}
                    onSort={(next) => go({ sort: next }, "replace")}
                    rowKey={(row) => row.key}
                    onSelect={(row) =>
                        go(
                            {
                                file: "",
                                line: 0,
                                opt: withOptions(state.value, { fn: markOf(row) }),
                            },
                            "replace",
                        )
                    }
                    selected={asked ? (rows.find((row) => markOf(row) === asked)?.key ?? -1) : -1}
                    columns={[
                        {
                            id: "value",
                            title: inclusive ? "inclusive" : "itself",
                            width: "90px",
                            unit: profile.unitOf(metric),
                            number: (row) => row.values[metric],
                        },
                        {
                            id: "name",
                            title: "function",
                            width: "minmax(160px, 1fr)",
                            text: (row) => row.name,
                            show: (row) => shortName(row.name),
                        },
                    ]}
                />
            )}
        </Ready>
    );
}

function File({ data, file, line }: { data: Data; file: number; line: number }): JSX.Element {
    const { profile, metric } = data;
    const anyway = getOption(state.value, "changed") === "1";
    const loaded = useLoaded(async () => {
        const source = await profile.json<Source>(`source/${file}`);
        return anyway && source.text === null && source.changed
            ? profile.json<Source>(`source/${file}/changed`)
            : source;
    }, [profile, file, anyway]);
    const { lines, inclusive, exclusive } = data;
    const unit = profile.unitOf(metric);
    const figures = useMemo(() => {
        const map = new Map<number, LineFigures>();
        let most = 0;
        for (let group = 1; group < lines.groupCount; group++)
            if (lines.file[group] === file) most = Math.max(most, inclusive[group]!);
        for (let group = 1; group < lines.groupCount; group++)
            if (lines.file[group] === file && (inclusive[group]! > 0 || exclusive[group]! > 0))
                map.set(lines.number[group]!, {
                    exclusive: exclusive[group] ? format(exclusive[group], unit) : "",
                    inclusive: inclusive[group] ? format(inclusive[group], unit) : "",
                    share: most ? inclusive[group]! / most : 0,
                });
        return map;
    }, [data, file, unit]);
    const choose = (next: number) => go({ file: data.of.names.file(file) ?? "", line: next });
    return (
        <Ready of={loaded}>
            {(source) => (
                <>
                    <div class="bar-row">
                        <b class="nowrap" title={source.path}>
                            {source.name}
                        </b>
                        <span class="dim">left: itself · right: with all below it</span>
                        <button
                            class="plain"
                            title="Exact figures of each line"
                            onClick={() =>
                                saveText(
                                    `${baseName(source.name)}.csv`,
                                    "text/csv",
                                    linesToCsv(data, file),
                                )
                            }>
                            lines as CSV
                        </button>
                        {source.note && (
                            <span class={source.changed ? "bad" : "dim"}>{source.note}</span>
                        )}
                        {source.text === null && source.changed && !anyway && (
                            <button
                                onClick={() =>
                                    go({ opt: withOptions(state.value, { changed: "1" }) })
                                }>
                                show it all the same
                            </button>
                        )}
                    </div>
                    {source.text !== null ? (
                        <Code
                            file={source.name}
                            text={source.text}
                            figures={figures}
                            line={line}
                            onLine={choose}
                        />
                    ) : (
                        <Bare figures={figures} onLine={choose} line={line} />
                    )}
                    {line > 0 && <Leading data={data} file={file} line={line} />}
                </>
            )}
        </Ready>
    );
}

function linesToCsv({ lines, exclusive, inclusive }: Data, file: number): string {
    const rows: [number, number, number][] = [];
    for (let group = 1; group < lines.groupCount; group++)
        if (lines.file[group] === file && (inclusive[group]! > 0 || exclusive[group]! > 0))
            rows.push([lines.number[group]!, exclusive[group]!, inclusive[group]!]);
    return (
        "line,itself,with_callees\n" +
        rows
            .sort((a, b) => a[0] - b[0])
            .map((row) => row.join(",") + "\n")
            .join("")
    );
}

/* Without the text there are still its lines' numbers. */
function Bare({
    figures,
    onLine,
    line,
}: {
    figures: ReadonlyMap<number, LineFigures>;
    onLine: (line: number) => void;
    line: number;
}): JSX.Element {
    const rows = [...figures].map(([number, of]) => ({ number, ...of }));
    return (
        <Table
            name="lines"
            label="Lines"
            rows={rows}
            sort="number"
            onSort={() => {}}
            rowKey={(row) => row.number}
            selected={line}
            onSelect={(row) => onLine(row.number)}
            columns={[
                {
                    id: "number",
                    title: "line",
                    width: "80px",
                    number: (row) => row.number,
                    show: (row) => String(row.number),
                },
                { id: "exclusive", title: "itself", width: "120px", text: (row) => row.exclusive },
                {
                    id: "inclusive",
                    title: "with callees",
                    width: "120px",
                    text: (row) => row.inclusive,
                },
            ]}
        />
    );
}

const detail = [
    "alloc_count",
    "alloc_bytes",
    "live_bytes",
    "at_peak_bytes",
    "temporary_count",
    "realloc_count",
    "slack_bytes",
    "mean_size",
    "mean_lifetime_ns",
    "recycling_ratio",
];

/* What blocks of a line's call paths are like: whatever metric and range are shown. */
interface LineBlocks {
    sites: Uint32Array;
    figures: { name: string; sure: string; value: number }[];
    spread: Spreads;
}
interface LineFacts extends LineBlocks {
    of: CallTree;
    order: readonly number[]; /* its sites, those with most first */
    column: Float64Array;
}

/* The sums of all that `detail` needs, over some call paths. */
async function sumsOf(profile: Profile, sites: Uint32Array): Promise<Map<string, number>> {
    const needed = new Set(
        detail.flatMap((name) => {
            const derived = profile.derived(name);
            return derived
                ? [...derived.of, ...(derived.by ?? [])]
                : [name, varianceOf(profile, name) ?? name];
        }),
    );
    await Promise.all(
        [...needed]
            .filter((name) => profile.metric(name)?.recorded)
            .map((name) => profile.column(name)),
    );
    const sums = new Map<string, number>();
    for (const name of needed) {
        if (!profile.metric(name)?.recorded) continue;
        const column = await profile.column(name);
        sums.set(name, sumOf(column, sites));
        await breathe();
    }
    return sums;
}

async function blocksOfLine(data: Data, group: number): Promise<LineBlocks> {
    const { profile, lines } = data;
    const sites = listed(both(await inSlices(lines.sitesThrough(group)), data.wanted)!);
    const sums = await sumsOf(profile, sites);
    const sure = (name: string) =>
        sureTo(profile, name, sums.get(name) ?? 0, sums.get(varianceOf(profile, name) ?? "") ?? 0);
    const figures = detail.map((name) => {
        const derived = profile.derived(name);
        return {
            name,
            sure: sure(name),
            value: derived
                ? derive(derived, (part) => sums.get(part) ?? NaN, profile.durationNs)
                : (sums.get(name) ?? NaN),
        };
    });
    return { sites, figures, spread: await spreadOf(profile, sites) };
}

/* What a line's call paths have: the metrics of `detail`, sizes and lifetimes, the largest
 * paths. */
async function whatOfLine(data: Data, group: number): Promise<LineFacts> {
    const { profile, of, column } = data;
    const blocks = await profile.work(["line", group, data.sites].join(), () =>
        blocksOfLine(data, group),
    );
    const order = [...blocks.sites.filter((site) => column[site]! > 0)];
    order.sort((a, b) => column[b]! - column[a]!);
    return { ...blocks, of, order, column };
}

function LineFigures({
    profile,
    line,
    found,
}: ViewProps & { line: number; found: LineFacts }): JSX.Element {
    return (
        <div class="bar-row within">
            <b>Line {line}</b>
            {found.figures.map((each) => (
                <span
                    key={each.name}
                    data-metric={each.name}
                    title={exact(each.value, profile.unitOf(each.name))}>
                    <span class="dim">{profile.titleOf(each.name)}</span>{" "}
                    {format(each.value, profile.unitOf(each.name))}
                    {each.sure && (
                        <span class="dim" data-sure title={sureHint}>
                            {" "}
                            {each.sure}
                        </span>
                    )}
                </span>
            ))}
            <button class="plain" aria-label="Close" onClick={() => go({ line: 0 })}>
                ✕
            </button>
        </div>
    );
}

/* All metrics of a line, and the call paths that lead to it. */
function Leading({ data, file, line }: { data: Data; file: number; line: number }): JSX.Element {
    const { profile, metric, lines } = data;
    const group = useMemo(() => {
        for (let at = 1; at < lines.groupCount; at++)
            if (lines.file[at] === file && lines.number[at] === line) return at;
        return 0;
    }, [lines, file, line]);
    const unit = profile.unitOf(metric);
    /* those with most first */
    const pathsOf = (found: LineFacts) => {
        const { shown, more } = shortList("leading", found.order, 8, (rest) =>
            format(
                rest.reduce((sum, site) => sum + found.column[site]!, 0),
                unit,
            ),
        );
        return {
            more,
            shown: shown.map((site) => ({
                node: found.of.tree.siteNode[site]!,
                value: found.column[site]!,
            })),
        };
    };
    const loaded = useLoaded(
        async () =>
            !group
                ? null
                : profile.work(["leading", group, metric, data.key].join(), () =>
                      whatOfLine(data, group),
                  ),
        [group, data],
    );
    if (!group) return <div class="bar-row dim">Line {line}: nothing is asked for here.</div>;
    return (
        <div class="leading">
            <Ready of={loaded}>
                {(found) =>
                    found && (
                        <>
                            <LineFigures profile={profile} line={line} found={found} />
                            <SpreadCards of={found.spread} />
                            <h2 class="lesser">
                                {exact(found.order.length, "count")}{" "}
                                {found.order.length === 1 ? "call path leads" : "call paths lead"}{" "}
                                here
                            </h2>
                            {pathsOf(found).shown.map((path) => (
                                <div
                                    class="nowrap"
                                    key={path.node}
                                    title={found.of.passes
                                        .path(path.node)
                                        .map((at) => found.of.names.ofLine(at))
                                        .join("\n")}>
                                    <a href={link({ view: "flame", node: path.node, opt: "" })}>
                                        {format(path.value, unit)}
                                    </a>{" "}
                                    <span class="dim">
                                        {data.filesInclusive[file + 1]
                                            ? share(path.value / data.filesInclusive[file + 1]!)
                                            : ""}
                                    </span>{" "}
                                    {ownLines(found.of, path.node)
                                        .slice(0, 10)
                                        .map((at) => found.of.names.shortOfLine(at))
                                        .join(" ← ")}
                                </div>
                            ))}
                            {pathsOf(found).more}
                        </>
                    )
                }
            </Ready>
        </div>
    );
}
