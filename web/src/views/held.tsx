/* Who keeps the live blocks: the tree of holders, as the command `held` has it. What a row *keeps* would go
 * if it let go. Of the chosen row it is shown through what it is held, from a root on. Rows may be call
 * paths, libraries or types instead. */
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import {
    childrenOf,
    groupName,
    heldByLibrary,
    lostWords,
    nameOf,
    pathTo,
    placeOf,
    rowAddress,
    rowOfAddress,
    searchedOf,
    treeRows,
    withParents,
    type Placed,
    type Sharer,
    type Sum,
    type TreeRow,
} from "../model/held.ts";
import { filePlace, type Profile } from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { bytes, count, duration, exact, isKnown } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Twig } from "../widgets/twig.tsx";
import { saidApart, useApart, type Apart } from "./held_apart.tsx";
import type { ViewProps } from "./registry.ts";

/* doc/HELD.md. */
interface Kept {
    own_blocks: number;
    own_bytes: number;
    retained_blocks: number;
    retained_bytes: number;
}
interface Holder extends Placed, Kept {
    type?: string; /* by type */
    rows?: number[]; /* by type: the tree's rows of its blocks */
    library?: string; /* by library */
}
interface Held {
    at: string;
    time_ns: number;
    held: Sum;
    lost: Sum;
    untyped?: Sum; /* by type */
    holders: Holder[];
}

type Row = TreeRow<Holder>;

/* What rows are of, as `held --by` has them: each a resource of its own. */
const groupings = [
    { by: "holder", title: "by holder", resource: "held" },
    { by: "path", title: "by call path", resource: "held_paths" },
    { by: "library", title: "by library", resource: "held_libraries" },
    { by: "type", title: "by type", resource: "held_types" },
] as const;

export function HeldView({ profile }: ViewProps): JSX.Element {
    const asked = getOption(state.value, "by"),
        there = groupings.filter(({ resource }) => profile.has(resource)),
        grouping = there.find(({ by }) => by === asked) ?? there[0];
    const loaded = useLoaded(async () => {
        if (!grouping) return null;
        const [held, tree] = await Promise.all(
            [grouping.resource, "held"].map((name) => profile.json<Held>(name)),
        );
        return { grouping, held: held!, tree: tree! };
    }, [profile, grouping]);
    return (
        <Ready of={loaded}>
            {(loaded) =>
                loaded ? (
                    <>
                        <Sums held={loaded.held} tree={loaded.tree} profile={profile}>
                            <ByChoice there={there} by={loaded.grouping.by} />
                        </Sums>
                        {loaded.grouping.by === "holder" ? (
                            <PartOfTree profile={profile} held={loaded.held} />
                        ) : (
                            <Groups {...loaded} profile={profile} />
                        )}
                    </>
                ) : (
                    <NotRecorded
                        of={profile}
                        what="Who holds what is not known."
                        how="record --held finds it out at the end of the program, and tidemark held PID of one that runs."
                    />
                )
            }
        </Ready>
    );
}

type Grouping = (typeof groupings)[number];

function ByChoice({ there, by }: { there: readonly Grouping[]; by: string }): JSX.Element {
    return (
        <select
            aria-label="Rows"
            value={by}
            onChange={(event) => {
                const next = event.currentTarget.value;
                go({ sort: "", opt: next === "holder" ? "" : `by:${next}` });
            }}>
            {there.map(({ by, title }) => (
                <option key={by} value={by}>
                    {title}
                </option>
            ))}
        </select>
    );
}

/* Blocks that the pointers' verdict of the same look calls lost; null: not known. */
function lostAt({ summary: { samples } }: Profile, ns: number): number | null {
    const look = samples?.find((each) => each.time_ns === ns && isKnown(each.lost_count));
    return look ? (look.lost_count ?? 0) + (look.indirect_count ?? 0) : null;
}

/* `tree`: says what the holders are, whatever rows are of. */
function Sums({
    profile,
    held,
    tree,
    children,
}: ViewProps & {
    held: Held;
    tree: Held;
    children: ComponentChildren;
}): JSX.Element {
    const { untyped } = held,
        lost = lostWords({ holders: tree.holders, lost: held.lost }, lostAt(profile, held.time_ns));
    return (
        <p class="dim pad" data-held>
            {`${bytes(held.held.bytes)} in ${count(held.held.blocks)} blocks are held, ${duration(held.time_ns)} after the beginning (${held.at}); ${lost}.`}{" "}
            {untyped && untyped.blocks > 0 && (
                <span data-untyped title={exact(untyped.bytes, "bytes")}>
                    Of {bytes(untyped.bytes)} in {count(untyped.blocks)} blocks the type is not
                    known.{" "}
                </span>
            )}
            {children}
        </p>
    );
}

/* Of the blocks that are held or lost, what a row keeps. */
function keeps<Row extends Kept>(whole: number): Column<Row>[] {
    return [
        {
            id: "retained",
            title: "keeps",
            hint: "What would go, or be kept by another, if it let go",
            width: "120px",
            unit: "bytes",
            number: (row) => row.retained_bytes,
            fill: (row) => (whole ? row.retained_bytes / whole : 0),
        },
        {
            id: "share",
            title: "share",
            width: "70px",
            unit: "share",
            number: (row) => (whole ? row.retained_bytes / whole : null),
        },
        {
            id: "blocks",
            title: "blocks",
            width: "90px",
            unit: "count",
            number: (row) => row.retained_blocks,
        },
        {
            id: "own",
            title: "its own",
            hint: "Bytes of the blocks themselves",
            width: "100px",
            unit: "bytes",
            number: (row) => row.own_bytes,
        },
    ];
}

function placeColumn<Row extends { file?: string | null; line?: number | null }>(): Column<Row> {
    return {
        id: "place",
        title: "place",
        width: "minmax(90px, 1fr)",
        text: (row) => (row.file ? filePlace(row.file, row.line) : ""),
        show: (row) =>
            row.file ? (
                <a
                    href={link({
                        view: "source",
                        file: row.file,
                        line: row.line ?? 0,
                        sort: "",
                        opt: "",
                        search: "",
                    })}>
                    {filePlace(row.file, row.line)}
                </a>
            ) : (
                ""
            ),
    };
}

function columnsOf(
    whole: number,
    apart: Apart,
    toggle: (row: Row, open: boolean) => void,
    isOpen: (id: number) => boolean,
): Column<Row>[] {
    return [
        ...keeps<Row>(whole),
        {
            id: "holder",
            title: "holder",
            width: "minmax(260px, 3fr)",
            text: (row) => saidApart(row, apart),
            show: (row) => (
                <Twig
                    row={row}
                    apart={apart.get(row.id)}
                    isOpen={isOpen(row.id)}
                    onToggle={toggle}
                />
            ),
        },
        { id: "kind", title: "kind", width: "100px", text: (row) => row.kind },
        placeColumn(),
        {
            id: "level",
            title: "depth",
            width: "60px",
            number: (row) => row.level,
        },
    ];
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\&]/g, "\\$&");

/* Where the tree has who holds what a row is about. */
function wayTo({ type, library, function: name }: Holder): { search: string; opt: string } {
    if (type !== undefined) return { search: "", opt: `type:${encodeURIComponent(type)}` };
    if (library !== undefined) return { search: "", opt: `library:${encodeURIComponent(library)}` };
    return { search: `function:^${escaped(name ?? "")}$`, opt: "" };
}

/* Rows without a tree: what those of one call path, library or type keep, wherever they are. */
function Groups({
    profile,
    held,
    grouping,
}: ViewProps & { held: Held; grouping: Grouping }): JSX.Element {
    const { search, sort } = state.value,
        whole = held.held.bytes + held.lost.bytes;
    const apart = useApart(profile, held.holders);
    const rows = useMemo(
        () => held.holders.map((row) => ({ ...row, says: groupName(row) })),
        [held],
    );
    const found = useMemo(() => {
        const has = searcher(search);
        return has
            ? rows.filter((row) =>
                  has({
                      function: row.says,
                      file: row.file ?? "",
                      module: row.module ?? row.library ?? "",
                  }),
              )
            : rows;
    }, [rows, search]);
    const columns = useMemo<Column<(typeof rows)[number]>[]>(
        () => [
            ...keeps<(typeof rows)[number]>(whole),
            {
                id: grouping.by,
                title: grouping.title.slice("by ".length),
                width: "minmax(260px, 3fr)",
                text: (row) => saidApart(row, apart),
                show: (row) => (
                    <>
                        <a href={link({ ...wayTo(row), sort: "" })}>{row.says}</a>
                        {apart.has(row.id) && <span class="dim"> ↑ {apart.get(row.id)}</span>}
                    </>
                ),
            },
            ...(rows.some((row) => row.file) ? [placeColumn<(typeof rows)[number]>()] : []),
        ],
        [rows, whole, grouping, apart],
    );
    return (
        <Table
            name={`held-${grouping.by}`}
            label={`What is kept, ${grouping.title}`}
            rows={found}
            whole={rows.length}
            columns={columns}
            sort={sort || "-retained"}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(row) => row.id}
            empty={
                search
                    ? `None with “${search}” in its name.`
                    : grouping.by === "type"
                      ? "Of no block that is held the type is known."
                      : "Nothing was held."
            }
            foot={
                grouping.by === "library" ? undefined : (
                    <span>What one keeps may be kept by others of these too: no sum of rows</span>
                )
            }
        />
    );
}

/* A part of the tree that an address asks for. */
interface Part {
    by: "type" | "library";
    name: string;
    rows: ReadonlySet<number>;
}
async function partOf(
    profile: Profile,
    held: Held,
    type: string | undefined,
    library: string | undefined,
): Promise<Part | null> {
    if (type !== undefined && profile.has("held_types")) {
        const { holders } = await profile.json<Held>("held_types"),
            of = holders.find((each) => each.type === type);
        return { by: "type", name: type, rows: new Set(of?.rows ?? []) };
    }
    if (library === undefined) return null;
    return { by: "library", name: library, rows: heldByLibrary(held.holders, library) };
}

/* The tree, or of it what blocks of one type stand in, or what one library holds: the address has
 * its name. */
function PartOfTree({ profile, held }: ViewProps & { held: Held }): JSX.Element {
    const type = getOption(state.value, "type"),
        library = getOption(state.value, "library");
    const loaded = useLoaded(
        () => partOf(profile, held, type, library),
        [profile, held, type, library],
    );
    return (
        <Ready of={loaded}>
            {(part) => (
                <>
                    {part && <PartNotice part={part} />}
                    <Holders
                        profile={profile}
                        held={held}
                        only={part?.rows.size ? part.rows : null}
                    />
                </>
            )}
        </Ready>
    );
}

function PartNotice({ part: { by, name, rows } }: { part: Part }): JSX.Element {
    const [what, none, all] =
        by === "type"
            ? (["Who holds blocks of type", "No row of blocks of type", "all types"] as const)
            : (["What is held by", "No row of what is held by", "all libraries"] as const);
    return (
        <p class="notice" role="status" data-part>
            {rows.size ? (
                <>
                    {what} <b>{name}</b>: rows of other blocks are left out.{" "}
                </>
            ) : (
                <>
                    {none} {name} is in this tree.{" "}
                </>
            )}
            <a href={link({ opt: `by:${by}`, search: "" })}>{all}</a>{" "}
            <a href={link({ opt: "", search: "" })}>all holders</a>
        </p>
    );
}

/* `only`: rows that are shown, with what they stand below; null: all. */
function Holders({
    profile,
    held,
    only,
}: ViewProps & { held: Held; only: ReadonlySet<number> | null }): JSX.Element {
    const { search } = state.value;
    const apart = useApart(profile, held.holders);
    const found = useMemo(() => {
        const has = searcher(search);
        return has || only
            ? withParents(
                  held.holders,
                  (row) => (!only || only.has(row.id)) && (!has || has(searchedOf(row))),
              )
            : held.holders;
    }, [held, search, only]);
    const children = useMemo(() => childrenOf(found, (row) => row.retained_bytes), [found]);
    const address = getOption(state.value, "row") ?? "",
        chosen = useMemo(() => rowOfAddress(held.holders, address), [held, address]);
    const path = useMemo(() => pathTo(held.holders, chosen), [held, chosen]);
    const above = path.slice(0, -1).map((each) => each.id);
    const [turned, setTurned] = useState<ReadonlyMap<number, boolean>>(new Map());
    /* what leads to the row that was chosen, or found, is open until somebody folds it */
    const isOpen = (id: number) =>
        turned.get(id) ?? (above.includes(id) || search !== "" || only !== null);
    const all = found.filter((each) => children.has(each.id)),
        isAnyOpen = all.some((each) => isOpen(each.id));
    const rows = useMemo(
        () => treeRows(children, isOpen),
        [children, turned, chosen, search, only],
    );
    const whole = held.held.bytes + held.lost.bytes;
    const toggle = (row: Row, next: boolean) => setTurned(new Map(turned).set(row.id, next));
    return (
        <>
            <div class="bar-row">
                <button
                    type="button"
                    onClick={() => setTurned(new Map(all.map((each) => [each.id, !isAnyOpen])))}>
                    {isAnyOpen ? "Fold all" : "Unfold all"}
                </button>
            </div>
            <div class="upper-half">
                <Table
                    name="holders"
                    label="Who keeps the live blocks"
                    rows={rows}
                    columns={columnsOf(whole, apart, toggle, isOpen)}
                    sort=""
                    onSort={() => undefined}
                    ordered
                    rowKey={(row) => row.id}
                    selected={chosen || null}
                    onSelect={(row) =>
                        go(
                            {
                                opt: withOptions(state.value, {
                                    row: rowAddress(held.holders, row.id),
                                }),
                            },
                            "replace",
                        )
                    }
                    branch={(row) => ({
                        level: row.level,
                        open: row.hasBelow ? isOpen(row.id) : null,
                    })}
                    onToggle={toggle}
                    empty={search ? `No holder with “${search}” in it.` : "Nothing was held."}
                />
            </div>
            {path.length > 0 && <HeldThrough path={path} />}
            {path[0]?.sharers && <HeldTogether of={path[0]} sharers={path[0].sharers} />}
        </>
    );
}

/* From a root to the chosen row: whoever let go of the next would lose all that is below. */
function HeldThrough({ path }: { path: readonly Holder[] }): JSX.Element {
    return (
        <Card title="Held through">
            <ol aria-label="From a root to what was chosen">
                {path.map((each) => (
                    <li key={each.id}>
                        <b>{nameOf(each)}</b>{" "}
                        <span class="dim">
                            {[
                                each.kind,
                                placeOf(each),
                                `keeps ${bytes(each.retained_bytes)} in ${count(each.retained_blocks)} blocks`,
                            ]
                                .filter(Boolean)
                                .join(" · ")}
                        </span>
                    </li>
                ))}
            </ol>
        </Card>
    );
}

/* The holders of what none of them holds alone: what each of them reaches, and keeps beside. */
function HeldTogether({ of, sharers }: { of: Holder; sharers: readonly Sharer[] }): JSX.Element {
    const share = (part: number) =>
        of.retained_bytes ? `${((part / of.retained_bytes) * 100).toFixed(1)} %` : "0 %";
    return (
        <Card title="Held together by">
            <ol aria-label="Who holds together what none holds alone">
                {sharers.map((each, at) => (
                    <li key={at}>
                        <b>{nameOf(each)}</b>{" "}
                        <span class="dim">
                            {[
                                each.kind,
                                placeOf(each),
                                `reaches ${bytes(each.reached_bytes)} (${share(each.reached_bytes)})`,
                                each.direct_bytes &&
                                    `points itself to what keeps ${bytes(each.direct_bytes)}`,
                                `keeps ${bytes(each.alone_bytes)} alone`,
                            ]
                                .filter(Boolean)
                                .join(" · ")}
                        </span>
                    </li>
                ))}
            </ol>
            {of.more_sharers !== 0 && (
                <p class="dim">
                    {of.more_sharers
                        ? `${count(of.more_sharers)} more reach no more than the last of these.`
                        : "There were too many to find all: there may be more, and they may reach more."}
                </p>
            )}
        </Card>
    );
}
