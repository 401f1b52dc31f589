/* Resident memory: whose it is, at the look that found most; and at one look at the process its figures, the
 * mappings, and by call path what is resident, what was never touched and what is kept by few
 * blocks. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, whole } from "../data/columns.ts";
import type { Sample } from "../data/types.ts";
import { shortName } from "../model/names.ts";
import { callersOf, wrapperOf, type CallTree, fileName } from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { mappingMark, type Mapping } from "../model/space.ts";
import { bytes, count, exact, format } from "../model/units.ts";
import { focusKey, wantedSites } from "../state/profiles.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { HeapView } from "./heap.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Through } from "../widgets/through.tsx";
import { LookOptions } from "../widgets/look_options.tsx";
import { NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { OwnersView } from "./owners.tsx";
import { RowGone } from "./space.tsx";
import type { ViewProps } from "./registry.ts";

/* There may be hundreds of thousands: names are looked up when somebody looks. */
class Row {
    constructor(
        readonly of: CallTree,
        readonly node: number,
        readonly line: number,
        readonly figures: readonly number[],
    ) {}
    figure(name: (typeof fields)[number]): number {
        return this.figures[fields.indexOf(name)]!;
    }
    get name(): string {
        return this.of.names.ofLine(this.line);
    }
    get place(): string {
        return this.of.names.place(this.line);
    }
}

const fields = [
    "live_count",
    "live_bytes",
    "resident_bytes",
    "untouched_bytes",
    "swapped_bytes",
    "pinned_bytes",
    "pinning_count",
] as const;

export function ResidentView({ profile }: ViewProps): JSX.Element {
    const samples = profile.summary.samples;
    if (!samples?.length)
        return (
            <NotRecorded
                of={profile}
                what={
                    profile.isJob
                        ? "The profile of a whole job has no looks at processes."
                        : profile.importedFrom
                          ? "What was resident is not in this profile."
                          : "The process was not looked at."
                }
                how="record looks through /proc unless told --no-looks; some sandboxes refuse it."
            />
        );
    const wanted = Number(
        getOption(state.value, "sample") ??
            samples.filter((each) => each.ledger).at(-1)?.sample ??
            samples.at(-1)!.sample,
    );
    const sample = samples.find((each) => each.sample === wanted) ?? samples.at(-1)!;
    const which = getOption(state.value, "list") ?? (profile.has("owners") ? "owners" : "paths");
    return (
        <>
            <div class="bar-row">
                {/* a job's is the sum of its ranks' looks, each at its own moment */}
                <label hidden={which === "owners" || profile.isJob}>
                    Look{" "}
                    <select
                        class="behind-word"
                        aria-label="Look"
                        value={sample.sample}
                        onChange={(event) =>
                            go({
                                opt: withOptions(state.value, {
                                    sample: event.currentTarget.value,
                                }),
                            })
                        }>
                        <LookOptions samples={samples} />
                    </select>
                </label>
                {profile.has("owners") && (
                    <button
                        aria-pressed={which === "owners"}
                        onClick={() =>
                            go(
                                { sort: "", opt: withOptions(state.value, { list: undefined }) },
                                "replace",
                            )
                        }>
                        owners
                    </button>
                )}
                <button
                    aria-pressed={which === "paths"}
                    onClick={() =>
                        go(
                            { sort: "", opt: withOptions(state.value, { list: "paths" }) },
                            "replace",
                        )
                    }>
                    call paths
                </button>
                {profile.has("heap") && (
                    <button
                        aria-pressed={which === "heap"}
                        onClick={() =>
                            go(
                                { sort: "", opt: withOptions(state.value, { list: "heap" }) },
                                "replace",
                            )
                        }>
                        page map
                    </button>
                )}
                {profile.has("mappings") && (
                    <button
                        aria-pressed={which === "mappings"}
                        onClick={() =>
                            go(
                                { sort: "", opt: withOptions(state.value, { list: "mappings" }) },
                                "replace",
                            )
                        }>
                        mappings
                    </button>
                )}
            </div>
            {which !== "owners" && <Facts of={sample} />}
            {(which === "paths" || which === "mappings") && (
                <p class="dim below-bar">
                    {profile.has("heap")
                        ? "Which pages of the heap they are on: “page map”."
                        : "Pages are counted by call path; where each lies in the heap is not kept, so there is no map of it."}{" "}
                    Blocks that keep free pages from going back: column “pins”.
                </p>
            )}
            {which === "owners" && profile.has("owners") ? (
                <OwnersView profile={profile} />
            ) : which === "heap" ? (
                <HeapView profile={profile} />
            ) : which === "paths" ? (
                <Paths profile={profile} sample={sample} />
            ) : profile.has("mappings") ? (
                <Mappings profile={profile} sample={sample} />
            ) : (
                <NotRecorded
                    of={profile}
                    what="What the process had mapped is not in this profile."
                    how="The looks at it could not read its mappings."
                />
            )}
        </>
    );
}

function Facts({ of }: { of: Sample }): JSX.Element {
    const facts: [string, number | null | undefined, string][] = [
        ["RSS", of.resident_bytes, ""],
        ["PSS", of.proportional_bytes, "shared pages by share"],
        ["USS", of.unique_bytes, "what would come free"],
        ["swap", of.swapped_bytes, ""],
        ["live blocks", of.requested_bytes, "as requested"],
        ["never touched", of.untouched_bytes, "of live blocks"],
        ["could go back", of.returnable_bytes, "whole pages without a live block"],
        ["pinned", of.pinned_bytes, "free bytes on pages that live blocks keep"],
        [
            "cgroup",
            of.cgroup_bytes,
            of.cgroup_limit_bytes ? `of ${bytes(of.cgroup_limit_bytes)}` : "",
        ],
        [
            "machine has left",
            of.machine_available_bytes,
            of.machine_bytes ? `of ${bytes(of.machine_bytes)}` : "",
        ],
    ];
    return (
        <div class="bar-row airy">
            {facts
                .filter(([, value]) => value !== null && value !== undefined)
                .map(([title, value, hint]) => (
                    <span key={title} title={exact(value, "bytes")}>
                        <span class="dim">{title}</span> <b>{format(value, "bytes")}</b>{" "}
                        <span class="dim">{hint}</span>
                    </span>
                ))}
        </div>
    );
}

function Paths({ profile, sample }: ViewProps & { sample: Sample }): JSX.Element {
    const now = state.value,
        { hide, search, sort } = now;
    const loaded = useLoaded(
        () =>
            profile.work(["resident", sample.sample, focusKey(now)].join(), async () => {
                if (!profile.has("residency")) return null;
                const [tree, document] = await Promise.all([
                    profile.callTree(),
                    profile.columns("residency"),
                ]);
                const samples = whole(document, "sample"),
                    nodes = whole(document, "node");
                const columns = fields.map((name) => numbers(document, name));
                const siteOf = tree.passes.siteOfNode();
                const wanted = wantedSites(tree, now),
                    lines = tree.passes.exclusiveLines(hide);
                const rows: Row[] = [];
                for (let at = 0; at < nodes.length; at++) {
                    const site = siteOf[nodes[at]!] ?? -1;
                    if (samples[at] !== sample.sample || (wanted && !wanted[site])) continue;
                    const line =
                        site < 0
                            ? tree.tree.codeFirstLine[tree.tree.code[nodes[at]!]!]!
                            : lines[site]!;
                    rows.push(
                        new Row(
                            tree,
                            nodes[at]!,
                            line,
                            columns.map((column) => column[at]!),
                        ),
                    );
                }
                return rows;
            }),
        [profile, sample.sample, focusKey(now)],
    );
    return (
        <Ready of={loaded}>
            {(rows) =>
                rows ? (
                    <PathTable rows={rows} search={search} sort={sort || "-resident_bytes"} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="Which pages of blocks were resident is not known."
                        how="This look made no pass over the pages: see `record --looks`."
                    />
                )
            }
        </Ready>
    );
}

function PathTable({
    rows,
    search,
    sort,
}: {
    rows: Row[];
    search: string;
    sort: string;
}): JSX.Element {
    const shown = useMemo(() => {
        const has = search && rows[0]?.of.names.finder(search);
        return has ? rows.filter((row) => has(row.line)) : rows;
    }, [rows, search]);
    const most = rows.reduce((best, row) => Math.max(best, row.figure("resident_bytes")), 1);
    const columns = useMemo<Column<Row>[]>(
        () => [
            {
                id: "resident_bytes",
                title: "resident",
                width: "110px",
                unit: "bytes",
                number: (row) => row.figure("resident_bytes"),
                fill: (row) => row.figure("resident_bytes") / most,
            },
            {
                id: "live_bytes",
                title: "live",
                width: "100px",
                unit: "bytes",
                number: (row) => row.figure("live_bytes"),
            },
            {
                id: "untouched_bytes",
                title: "never touched",
                width: "126px",
                unit: "bytes",
                number: (row) => row.figure("untouched_bytes"),
            },
            {
                id: "swapped_bytes",
                title: "swapped",
                width: "90px",
                unit: "bytes",
                number: (row) => row.figure("swapped_bytes"),
            },
            {
                id: "pinned_bytes",
                title: "pins",
                hint: "Free bytes on pages that these blocks keep resident: their share",
                width: "90px",
                unit: "bytes",
                number: (row) => row.figure("pinned_bytes"),
            },
            {
                id: "pinning_count",
                title: "pinning blocks",
                width: "126px",
                number: (row) => row.figure("pinning_count"),
            },
            {
                id: "live_count",
                title: "blocks",
                width: "90px",
                number: (row) => row.figure("live_count"),
            },
            {
                id: "function",
                title: "Function",
                width: "minmax(160px, 3fr)",
                text: (row) => row.name,
                show: (row) => (
                    <>
                        <Through wrapper={wrapperOf(row.of, row.node, row.line)} />
                        <a href={link({ view: "flame", node: row.node, opt: "", sort: "" })}>
                            {shortName(row.name)}
                        </a>
                    </>
                ),
            },
            {
                id: "callers",
                title: "Called by",
                width: "minmax(160px, 3fr)",
                text: (row) => callersOf(row.of, row.node, row.line),
            },
            {
                id: "place",
                title: "Place",
                width: "minmax(90px, 1fr)",
                text: (row) => row.place,
                show: (row) => fileName(row.place),
            },
        ],
        [rows],
    );
    return (
        <Table
            name="resident"
            label="Resident bytes of call paths"
            rows={shown}
            columns={columns}
            sort={sort}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(row) => row.node}
        />
    );
}

function Mappings({ profile, sample }: ViewProps & { sample: Sample }): JSX.Element {
    const loaded = useLoaded(
        async () => (await profile.json<{ mappings: Mapping[] | null }>("mappings")).mappings ?? [],
        [profile],
    );
    const has = searcher(state.value.search),
        chosen = getOption(state.value, "row") ?? "";
    const markOf = (row: Mapping) => mappingMark(row.kind, row.path);
    const columns: Column<Mapping & { index: number }>[] = [
        {
            id: "resident_bytes",
            title: "RSS",
            width: "100px",
            unit: "bytes",
            number: (row) => row.resident_bytes,
        },
        {
            id: "proportional_bytes",
            title: "PSS",
            width: "100px",
            unit: "bytes",
            number: (row) => row.proportional_bytes,
        },
        {
            id: "unique_bytes",
            title: "USS",
            width: "100px",
            unit: "bytes",
            number: (row) => row.unique_bytes,
        },
        {
            id: "swapped_bytes",
            title: "swap",
            width: "90px",
            unit: "bytes",
            number: (row) => row.swapped_bytes,
        },
        {
            id: "virtual_bytes",
            title: "virtual",
            width: "100px",
            unit: "bytes",
            number: (row) => row.virtual_bytes,
        },
        { id: "count", title: "mappings", width: "90px", number: (row) => row.count },
        { id: "kind", title: "kind", width: "110px", text: (row) => row.kind },
        { id: "path", title: "file", width: "minmax(220px, 1fr)", text: (row) => row.path ?? "" },
    ];
    return (
        <Ready of={loaded}>
            {(mappings) => {
                const here = mappings
                    .filter((each) => each.sample === sample.sample)
                    .map((each, index) => ({ ...each, index }));
                const selected = chosen ? here.findIndex((row) => markOf(row) === chosen) : -1;
                return (
                    <>
                        {chosen && selected < 0 && <RowGone of="what is mapped" />}
                        <Table
                            name="mappings"
                            label="Mappings"
                            rows={here.filter(
                                (each) =>
                                    !has || has({ function: each.kind, file: each.path ?? "" }),
                            )}
                            columns={columns}
                            sort={state.value.sort || "-resident_bytes"}
                            onSort={(next) => go({ sort: next }, "replace")}
                            rowKey={(row) => row.index}
                            selected={selected}
                            onSelect={(row) =>
                                go(
                                    { opt: withOptions(state.value, { row: markOf(row) }) },
                                    "replace",
                                )
                            }
                            foot={
                                <span>
                                    {count(mappings.length)} rows in all looks · by kind and file:
                                    where in the address space they lay a profile does not keep ·{" "}
                                    <a
                                        href={link({
                                            view: "space",
                                            sort: "",
                                            opt: `sample:${sample.sample}`,
                                        })}>
                                        as a map
                                    </a>
                                </span>
                            }
                        />
                    </>
                );
            }}
        </Ready>
    );
}
