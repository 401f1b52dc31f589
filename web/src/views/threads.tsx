/* Threads: what each asked for and what it cost. A matrix shows which thread freed whose blocks.
 * A chosen thread shows its calls by kind. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { bytes, count, duration, exact } from "../model/units.ts";
import { shortName } from "../model/names.ts";
import { searcher } from "../model/search.ts";
import { go, link, state } from "../state/state.ts";
import { HeatMap } from "../widgets/bars.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { cannotHave, Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import type { ViewProps } from "./registry.ts";

export interface Thread {
    tid: number;
    name: string | null;
    team?: string | null; /* of the run-time that made it */
    start_ns: number;
    end_ns: number | null;
    alloc_count: number | null;
    alloc_bytes: number | null;
    free_count: number | null;
    free_bytes: number | null;
    waits: number;
    wait_ns: number;
    malloc_count: number | null;
    calloc_count: number | null;
    aligned_count: number | null;
    new_count: number | null;
    realloc_count: number | null;
    live_bytes: number | null;
    peak_bytes: number | null;
    peak_ns: number | null;
    freed_elsewhere_count: number | null;
    freed_elsewhere_bytes: number | null;
    alloc_time_ns: number | null;
    free_time_ns: number | null;
    stack_deepest_bytes: number | null;
    stack_touched_bytes: number | null;
    earlier_count?: number | null;
    stack_deepest_path?: { node?: number; function?: string; file?: string } | null;
}
export interface Exchange {
    owner: number | null;
    freer: number | null;
    count: number;
    bytes: number;
}
type Indexed = Thread & { index: number };

const teamColumn: Column<Indexed> = {
    id: "team",
    title: "Team",
    hint: "The run-time that made the thread; a search for its name leaves these",
    width: "80px",
    text: (row) => row.team ?? "",
};

const earlierColumn: Column<Indexed> = {
    id: "earlier_count",
    title: "after",
    hint: "So many threads that ended one after the other before this one are in its row",
    width: "80px",
    unit: "count",
    number: (row) => row.earlier_count ?? null,
};

const numberColumns: readonly [keyof Thread & string, string, "bytes" | "count" | "ns", string][] =
    [
        ["alloc_bytes", "asked for", "bytes", "Bytes that the thread asked for"],
        ["alloc_count", "calls", "count", "Allocations and reallocations"],
        ["free_count", "frees", "count", "Blocks whose life it ended"],
        ["peak_bytes", "peak", "bytes", "Most bytes alive at once of what it allocated"],
        ["live_bytes", "live at end", "bytes", "Of what it allocated, whoever freed the rest"],
        ["freed_elsewhere_count", "others freed", "count", "Its blocks that other threads freed"],
        ["alloc_time_ns", "in malloc", "ns", "Time in the allocator (record --timed)"],
        ["free_time_ns", "in free", "ns", "Time in the allocator (record --timed)"],
        ["wait_ns", "waited", "ns", "For Tidemark's collector"],
    ];

export function ThreadsView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(async () => {
        const threads = (await profile.json<{ threads: Thread[] | null }>("threads")).threads ?? [];
        const exchanges = profile.has("exchanges")
            ? (await profile.json<{ exchanges: Exchange[] | null }>("exchanges")).exchanges
            : null;
        return {
            threads: threads.map((thread, index): Indexed => ({ ...thread, index })),
            exchanges,
        };
    }, [profile]);
    return (
        <Ready of={loaded}>
            {({ threads, exchanges }) =>
                threads.length || !cannotHave(profile) ? (
                    <Threads profile={profile} threads={threads} exchanges={exchanges} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="What each thread asked for is not in this profile."
                        how=""
                    />
                )
            }
        </Ready>
    );
}

function Threads({
    threads,
    exchanges,
}: ViewProps & { threads: Indexed[]; exchanges: Exchange[] | null }): JSX.Element {
    const { search, sort, thread } = state.value;
    const rows = useMemo(() => {
        const has = searcher(search);
        return has
            ? threads.filter((each) =>
                  has({ function: `${each.name ?? ""} ${each.tid}`, module: each.team ?? "" }),
              )
            : threads;
    }, [threads, search]);
    const most = threads.reduce((best, each) => Math.max(best, each.alloc_bytes ?? 0), 1);
    const columns = useMemo<Column<Indexed>[]>(
        () => [
            {
                id: "tid",
                title: "Thread",
                width: "80px",
                number: (row) => row.tid,
                show: (row) => String(row.tid),
            },
            {
                id: "name",
                title: "Name",
                width: "minmax(110px, 1fr)",
                text: (row) => row.name ?? "",
            },
            ...(threads.some((each) => each.team) ? [teamColumn] : []),
            ...(threads.some((each) => each.earlier_count) ? [earlierColumn] : []),
            ...numberColumns
                .filter(([name]) => threads.some((each) => each[name] !== null))
                .map(([name, title, unit, hint]): Column<Indexed> => ({
                    id: name,
                    title,
                    hint,
                    width: "96px",
                    unit,
                    number: (row) => row[name] as number | null,
                    ...(name === "alloc_bytes"
                        ? { fill: (row: Indexed) => (row.alloc_bytes ?? 0) / most }
                        : {}),
                })),
            {
                id: "start_ns",
                title: "began",
                width: "80px",
                unit: "ns",
                number: (row) => row.start_ns,
            },
            {
                id: "end_ns",
                title: "ended",
                width: "80px",
                unit: "ns",
                number: (row) => row.end_ns,
            },
        ],
        [threads],
    );
    return (
        <>
            <div class="upper-half">
                <Table
                    name="threads"
                    label="Threads"
                    rows={rows}
                    whole={threads.length}
                    columns={columns}
                    sort={sort || "-alloc_bytes"}
                    onSort={(next) => go({ sort: next }, "replace")}
                    rowKey={(row) => row.index}
                    selected={thread >= 0 ? thread : null}
                    onSelect={(row) => go({ thread: row.index }, "replace")}
                    foot={
                        <span>
                            A thread that is chosen shows its own figures here and its stack in
                            Stacks. Call paths are kept for all threads together
                        </span>
                    }
                />
            </div>
            <div class="split lower-half">
                {thread >= 0 && threads[thread] && <Calls of={threads[thread]} />}
                <Exchanges threads={threads} exchanges={exchanges} />
            </div>
        </>
    );
}

function Calls({ of }: { of: Indexed }): JSX.Element {
    const kinds: readonly [string, number | null][] = [
        ["malloc", of.malloc_count],
        ["calloc", of.calloc_count],
        ["aligned", of.aligned_count],
        ["operator new", of.new_count],
        ["realloc", of.realloc_count],
    ];
    return (
        <Card title={`Thread ${of.tid} ${of.name ?? ""}`}>
            <dl class="facts">
                {kinds.map(([name, value]) => (
                    <>
                        <dt>{name}</dt>
                        <dd>{value === null ? "not known" : count(value)}</dd>
                    </>
                ))}
                <dt>peak</dt>
                <dd>
                    {of.peak_bytes === null ? (
                        "not known"
                    ) : (
                        <>
                            {bytes(of.peak_bytes)}
                            {of.peak_ns !== null && <> at {duration(of.peak_ns)}</>}
                        </>
                    )}
                </dd>
                <dt>stack</dt>
                <dd>
                    {of.stack_deepest_bytes === null ? "not known" : bytes(of.stack_deepest_bytes)}
                    {of.stack_deepest_path?.function && (
                        <>
                            {" "}
                            in{" "}
                            <a
                                href={link({
                                    view: "flame",
                                    node: of.stack_deepest_path.node ?? -1,
                                })}>
                                {shortName(of.stack_deepest_path.function)}
                            </a>
                        </>
                    )}
                </dd>
            </dl>
        </Card>
    );
}

const shownMost = 24;

/* Why there is nothing to draw: nobody freed another's blocks, or it is not known between whom, or whether. */
export function whyNoPairs(
    threads: readonly Pick<Thread, "freed_elsewhere_count">[],
    exchanges: readonly Exchange[] | null,
): string {
    const blocks = (number: number) =>
        number === 1
            ? "1 block was freed by another thread than asked for it"
            : `${exact(number, "count")} blocks were freed by other threads than asked for them`;
    const told = (exchanges ?? []).reduce((sum, each) => sum + each.count, 0);
    if (told > 0) return `${blocks(told)}; which these were is not known.`;
    if (!threads.length || threads.some((each) => each.freed_elsewhere_count === null))
        return "Not known: this profile does not say who freed whose blocks.";
    const freed = threads.reduce((sum, each) => sum + each.freed_elsewhere_count!, 0);
    return freed > 0
        ? `${blocks(freed)}; which these were is not known.`
        : "None: every block was freed by the thread that allocated it, or not at all.";
}

function Exchanges({
    threads,
    exchanges,
}: {
    threads: Indexed[];
    exchanges: Exchange[] | null;
}): JSX.Element {
    const data = useMemo(() => {
        const pairs = (exchanges ?? []).filter(
            (each) => each.owner !== null && each.freer !== null,
        );
        const weight = new Map<number, number>();
        for (const each of pairs)
            for (const at of [each.owner!, each.freer!])
                weight.set(at, (weight.get(at) ?? 0) + each.count);
        const chosen = [...weight]
            .sort((a, b) => b[1] - a[1])
            .slice(0, shownMost)
            .map(([at]) => at)
            .sort((a, b) => a - b);
        const place = new Map(chosen.map((at, number) => [at, number]));
        const titles = chosen.map((at) =>
            `${threads[at]?.name ?? ""} ${threads[at]?.tid ?? at}`.trim(),
        );
        const cells = pairs.flatMap((each) =>
            place.has(each.owner!) && place.has(each.freer!)
                ? [{ x: place.get(each.owner!)!, y: place.get(each.freer!)!, value: each.count }]
                : [],
        );
        const rest = (exchanges ?? []).find((each) => each.owner === null);
        return { titles, cells, rest, left: weight.size - chosen.length };
    }, [exchanges, threads]);
    if (!data.cells.length)
        return (
            <Card title="Blocks freed by another thread">
                <p class="dim">{whyNoPairs(threads, exchanges)}</p>
            </Card>
        );
    return (
        <Card title="Blocks freed by another thread: allocated by (across), freed by (up)">
            <HeatMap
                name="exchanges"
                label="Who frees whose blocks"
                cells={data.cells}
                columns={data.titles}
                rows={data.titles}
                format={(value) => `${count(value)} blocks`}
                height={Math.max(120, 40 + 18 * data.titles.length)}
                tip={(cell) => (
                    <>
                        {exact(cell.value, "count")} blocks of {data.titles[cell.x]} freed by{" "}
                        {data.titles[cell.y]}
                    </>
                )}
            />
            {data.left > 0 && <p class="dim">{data.left} more threads exchanged fewer blocks.</p>}
            {data.rest && (
                <p class="dim">All other pairs together: {count(data.rest.count)} blocks.</p>
            )}
        </Card>
    );
}
