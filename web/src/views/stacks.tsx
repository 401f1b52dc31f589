/* Stacks of threads: how deep each went, how much of it was touched, and where it was deepest.
 * Where function hooks were recorded, ExactStacks has the bytes of each function. A chart has
 * the depth over time. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { shortName } from "../model/names.ts";
import { fileName } from "../model/profile.ts";
import { bytes, duration } from "../model/units.ts";
import { searcher } from "../model/search.ts";
import { go, link, state } from "../state/state.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Plot, type PlotSeries } from "../widgets/plot.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import type { Thread } from "./threads.tsx";
import type { ViewProps } from "./registry.ts";

/* What function hooks told of a thread's stack: doc/REPORT-JSON.md, "stacks". */
type Layer = {
    bytes: number;
    frames: number;
    function?: string | null;
    file?: string | null;
    line?: number | null;
};
type Exact = {
    thread: number | null;
    bytes: number;
    time_ns: number;
    path: { node?: number; function?: string } | null;
    growth: [number, number][];
    functions: Layer[];
};
type Row = Thread & { index: number };

export function StacksView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () =>
            ((await profile.json<{ threads: Thread[] | null }>("threads")).threads ?? []).map(
                (thread, index): Row => ({ ...thread, index }),
            ),
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(threads) =>
                threads.some((each) => each.stack_deepest_bytes !== null) ? (
                    <Stacks profile={profile} threads={threads} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="How deep stacks went was not recorded."
                        how="Recordings of format 2 know it; those with --stacks=none do not."
                    />
                )
            }
        </Ready>
    );
}

function Stacks({ threads, profile }: ViewProps & { threads: Row[] }): JSX.Element {
    const most = threads.reduce((best, each) => Math.max(best, each.stack_deepest_bytes ?? 0), 1);
    const columns = useMemo<Column<Row>[]>(
        () => [
            {
                id: "deepest",
                title: "deepest",
                hint: "Largest extent seen by any event",
                width: "130px",
                unit: "bytes",
                number: (row) => row.stack_deepest_bytes,
                fill: (row) => (row.stack_deepest_bytes ?? 0) / most,
            },
            {
                id: "touched",
                title: "pages touched",
                hint: "Known of threads that lived when the process was looked at",
                width: "130px",
                unit: "bytes",
                number: (row) => row.stack_touched_bytes,
            },
            {
                id: "tid",
                title: "thread",
                width: "90px",
                number: (row) => row.tid,
                show: (row) => String(row.tid),
            },
            {
                id: "name",
                title: "name",
                width: "minmax(100px, 1fr)",
                text: (row) => row.name ?? "",
            },
            {
                id: "lived",
                title: "lived",
                width: "100px",
                unit: "ns",
                number: (row) => (row.end_ns ?? profile.durationNs) - row.start_ns,
            },
            {
                id: "where",
                title: "deepest in",
                width: "minmax(240px, 3fr)",
                text: (row) => row.stack_deepest_path?.function ?? "",
                show: (row) =>
                    row.stack_deepest_path?.function ? (
                        <a href={link({ view: "flame", node: row.stack_deepest_path.node ?? -1 })}>
                            {shortName(row.stack_deepest_path.function)}
                        </a>
                    ) : (
                        <span class="dim">not known</span>
                    ),
            },
        ],
        [threads, profile],
    );
    const { search } = state.value;
    const rows = useMemo(() => {
        const has = searcher(search);
        return has
            ? threads.filter((each) =>
                  has({
                      function: `${each.name ?? ""} ${each.tid} ${each.stack_deepest_path?.function ?? ""}`,
                      file: each.stack_deepest_path?.file ?? "",
                      module: each.team ?? "",
                  }),
              )
            : threads;
    }, [threads, search]);
    const rank = (each: Row) =>
        (each.stack_deepest_path?.node ? 2 ** 50 : 0) +
        (each.stack_deepest_bytes ?? -1); /* where a path is known, first */
    const deepest = threads.reduce(
        (best, each) => (rank(each) > rank(best) ? each : best),
        threads[0]!,
    );
    const chosen = threads[state.value.thread] ?? deepest;
    return (
        <>
            <p class="dim pad">
                {profile.has("stacks") ? "In the table below, a" : "A"} stack's extent is seen when
                the thread allocates or frees; what it did deeper in between is not (
                {duration(profile.durationNs)} were recorded). Pages that were touched and are
                resident show it where they are known. Of each thread the deepest moment is kept
                {profile.has("stacks")
                    ? ", and how it came to that"
                    : "; over time all stacks together are known, from the looks at the process"}
                .
            </p>
            {profile.has("stacks") && <ExactStacks profile={profile} threads={threads} />}
            <div class="upper-half">
                <Table
                    name="stacks"
                    label="Stacks of threads"
                    rows={rows}
                    whole={threads.length}
                    columns={columns}
                    sort={state.value.sort || "-deepest"}
                    onSort={(next) => go({ sort: next }, "replace")}
                    rowKey={(row) => row.index}
                    selected={chosen.index}
                    onSelect={(row) => go({ thread: row.index }, "replace")}
                />
            </div>
            <div class="split lower-half">
                <DeepestPath profile={profile} of={chosen} />
                <OverTime profile={profile} of={chosen} />
            </div>
        </>
    );
}

/* To the byte, by function: the deepest thread's, or the one that is chosen. */
function ExactStacks({ profile, threads }: ViewProps & { threads: Row[] }): JSX.Element {
    const loaded = useLoaded(
        async () => (await profile.json<{ stacks: Exact[] | null }>("stacks")).stacks ?? [],
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(stacks) => {
                if (!stacks.length)
                    return <p class="dim pad">How deep stacks went to the byte is not known.</p>;
                const deepest = stacks.reduce(
                    (best, each) => (each.bytes > best.bytes ? each : best),
                    stacks[0]!,
                );
                const stack = stacks.find((each) => each.thread === state.value.thread) ?? deepest;
                const nameOf = (each: Exact): string => {
                    const thread = each.thread === null ? undefined : threads[each.thread];
                    return thread ? `${thread.name ?? ""} ${thread.tid}`.trim() : "?";
                };
                return (
                    <section class="pad">
                        <p>
                            <label>
                                To the byte, by function:{" "}
                                <select
                                    value={String(stack.thread)}
                                    onChange={(event) =>
                                        go({ thread: Number(event.currentTarget.value) }, "replace")
                                    }>
                                    {stacks.map((each) => (
                                        <option
                                            value={String(each.thread)}
                                            disabled={each.thread === null}>
                                            {nameOf(each)}: {bytes(each.bytes)}
                                        </option>
                                    ))}
                                </select>
                            </label>{" "}
                            {bytes(stack.bytes)} at most, after {duration(stack.time_ns)}
                            {stack.path?.function && (
                                <>
                                    {" "}
                                    in{" "}
                                    <a href={link({ view: "flame", node: stack.path.node ?? -1 })}>
                                        {shortName(stack.path.function)}
                                    </a>
                                </>
                            )}
                            {stack.growth.length > 1 && (
                                <span class="dim">
                                    ; it grew {stack.growth.length} times, from{" "}
                                    {bytes(stack.growth[0]![1])} after{" "}
                                    {duration(stack.growth[0]![0])}
                                </span>
                            )}
                        </p>
                        {stack.functions.length > 0 ? (
                            <Table
                                name="stack-functions"
                                label="Functions on the stack when it was deepest"
                                rows={stack.functions}
                                columns={layerColumns(stack)}
                                sort={"-bytes"}
                                onSort={() => undefined}
                                rowKey={(row) =>
                                    `${row.function ?? ""}${row.file ?? ""}${row.line ?? 0}`
                                }
                            />
                        ) : (
                            <p class="dim">
                                What stood on it then is not known: the thread was ended by force,
                                or still stood there at the end.
                            </p>
                        )}
                    </section>
                );
            }}
        </Ready>
    );
}

function layerColumns(stack: Exact): Column<Layer>[] {
    return [
        {
            id: "bytes",
            title: "bytes",
            hint: "Of the function's frames, with what without hooks lies above them",
            width: "130px",
            unit: "bytes",
            number: (row) => row.bytes,
            fill: (row) => row.bytes / Math.max(1, stack.bytes),
        },
        {
            id: "frames",
            title: "frames",
            width: "100px",
            number: (row) => row.frames,
            show: (row) => String(row.frames),
        },
        {
            id: "function",
            title: "function",
            width: "minmax(240px, 3fr)",
            text: (row) => row.function ?? "",
            show: (row) => (row.function ? shortName(row.function) : <span class="dim">?</span>),
        },
    ];
}

/* The whole call path at which the thread's stack was seen deepest, innermost frame first. */
function DeepestPath({ profile, of }: ViewProps & { of: Row }): JSX.Element {
    const node = of.stack_deepest_path?.node ?? -1;
    const loaded = useLoaded(() => profile.callTree(), [profile]);
    return (
        <Card
            title={`Deepest call path of thread ${of.tid} ${of.name ?? ""}`}
            tools={
                of.stack_deepest_bytes === null ? undefined : (
                    <span class="dim">{bytes(of.stack_deepest_bytes)}</span>
                )
            }>
            {node <= 0 ? (
                <p class="dim">
                    Not known: no event of this thread says at which call its stack was deepest.
                </p>
            ) : (
                <Ready of={loaded}>
                    {({ tree, passes, names }) => (
                        <ol data-deepest class="deepest">
                            {(node < tree.nodeCount ? passes.path(node) : []).map((line, at) => {
                                const file = names.file(tree.lineFile[line]!);
                                return (
                                    <li key={at} class="nowrap" title={names.ofLine(line)}>
                                        {shortName(names.ofLine(line))}{" "}
                                        {file ? (
                                            <a
                                                href={link({
                                                    view: "source",
                                                    file,
                                                    line: tree.lineNumber[line]!,
                                                })}>
                                                {fileName(names.place(line))}
                                            </a>
                                        ) : (
                                            <span class="dim">{names.place(line)}</span>
                                        )}
                                    </li>
                                );
                            })}
                        </ol>
                    )}
                </Ready>
            )}
        </Card>
    );
}

/* Where hooks were in the functions: the thread's stack, each time it was deeper than before. Else
 * the resident bytes of all stacks at each look that made a ledger. */
function OverTime({ profile, of }: ViewProps & { of: Row }): JSX.Element {
    const exact = useLoaded(
        async () =>
            profile.has("stacks")
                ? ((await profile.json<{ stacks: Exact[] | null }>("stacks")).stacks ?? [])
                : [],
        [profile],
    );
    const growth = (exact.state === "there" ? exact.value : []).find(
        (each) => each.thread === of.index,
    )?.growth;
    const data = useMemo(() => {
        const looks = (profile.summary.samples ?? []).filter(
            (each) => each.ledger?.["stack_bytes"] !== undefined,
        );
        const series = (title: string, values: number[]): PlotSeries[] => [
            {
                title,
                tone: "data-6",
                values,
                format: (value) => bytes(value),
                points: true,
                binary: true,
                stepped: !!growth?.length,
            },
        ];
        return growth?.length
            ? {
                  x: growth.map(([time]) => time),
                  series: series(
                      `thread ${of.tid}, deepest so far`,
                      growth.map(([, size]) => size),
                  ),
              }
            : {
                  x: looks.map((each) => each.time_ns),
                  series: series(
                      "all stacks, resident",
                      looks.map((each) => each.ledger!["stack_bytes"]!),
                  ),
              };
    }, [profile, growth, of]);
    return (
        <Card
            title={growth?.length ? `Stack of thread ${of.tid} over time` : "All stacks over time"}>
            {data.x.length ? (
                <Plot
                    name="stacks-over-time"
                    label={
                        growth?.length
                            ? "The thread's deepest stack so far"
                            : "Resident bytes of all stacks at each look"
                    }
                    x={data.x}
                    formatX={(value) => duration(value)}
                    series={data.series}
                    height={170}
                    range={[0, Math.max(1, profile.durationNs)]}
                />
            ) : (
                <p class="dim">
                    Not known:{" "}
                    {profile.window
                        ? "looks at the process are of the whole run"
                        : profile.isJob
                          ? "looks are at each rank, and this is the whole job"
                          : "the process was not looked at (--no-looks)"}
                    .
                </p>
            )}
        </Card>
    );
}
