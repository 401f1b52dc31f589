/* Who keeps what, as the command `held` has it (doc/HELD.md): its names, its order, and the rows of a tree
 * that is open in places. Of two looks a row has what it kept at each. */
import { bytes, count } from "./units.ts";
import { shortName } from "./names.ts";
import { nameMark } from "./flame.ts";
import { baseName, filePlace } from "./profile.ts";
import type { Searched } from "./search.ts";

export interface Named {
    kind: string;
    name: string | null;
    of: string | null;
    thread: number | null;
    function?: string | null;
    file?: string | null;
    line?: number | null;
    module?: string | null;
}
/* One of those that hold a row together (kind "several"). */
export interface Sharer extends Named {
    reached_blocks: number;
    reached_bytes: number;
    direct_bytes: number;
    alone_blocks: number;
    alone_bytes: number;
}
export interface Placed extends Named {
    id: number;
    parent: number; /* smaller than its own; 0: none */
    merged: number;
    node?: number; /* of a call path: its number in the profile */
    sharers?: readonly Sharer[]; /* the nearest, then by what they reach; absent: not known */
    more_sharers?: number | null; /* beside these; null: any number */
}
export interface Sum {
    blocks: number;
    bytes: number;
}

/* The resource `held_looks` (doc/API.md). */
export interface HeldLooks {
    looks: { sample: number; at: string; time_ns: number; held: Sum; lost: Sum }[];
    holders: (Placed & { retained_bytes: number[]; retained_blocks: number[] })[];
}

/* What two looks say of a holder. */
export interface Grown extends Placed {
    change: number;
    before: number;
    after: number;
    blocks: number; /* how many more */
}

export type TreeRow<Row> = Row & { level: number; hasBelow: boolean; says: string };

function ownName(row: Named): string {
    if (row.function) return shortName(row.function);
    const of = row.of ? ` of ${baseName(row.of)}` : "";
    return row.name ? `${row.name}${of}` : `${row.kind}${of}`;
}

const NAMED = 2;

/* "a, b and 28 more", as the command has it. */
export function togetherOf(
    sharers: readonly Named[],
    more: number | null | undefined,
    name: (row: Named) => string = ownName,
): string {
    const named = sharers.slice(0, more === 0 && sharers.length <= NAMED + 1 ? NAMED + 1 : NAMED),
        others = sharers.length - named.length + (more ?? 0),
        names = named.map(name).join(", ");
    if (more === null) return `${names} and others`;
    return others ? `${names} and ${count(others)} more` : names;
}

export function nameOf(row: Named & Partial<Pick<Placed, "sharers" | "more_sharers">>): string {
    if (row.kind !== "several") return ownName(row);
    return row.sharers?.length
        ? togetherOf(row.sharers, row.more_sharers)
        : `${ownName(row)} and others`;
}
export const placeOf = (row: Named): string => (row.file ? filePlace(row.file, row.line) : "");

/* As the command has them: those with most first, and what is summed up last. */
export function childrenOf<Row extends Placed>(
    holders: readonly Row[],
    figure: (row: Row) => number,
): Map<number, Row[]> {
    const children = new Map<number, Row[]>();
    for (const each of holders) {
        const list = children.get(each.parent);
        if (list) list.push(each);
        else children.set(each.parent, [each]);
    }
    for (const list of children.values())
        list.sort(
            (a, b) =>
                Number(a.kind === "rest") - Number(b.kind === "rest") ||
                figure(b) - figure(a) ||
                a.id - b.id,
        );
    return children;
}

/* The rows below what is open, each behind its parent; a chain of holders may be long. */
export function treeRows<Row extends Placed>(
    children: ReadonlyMap<number, readonly Row[]>,
    isOpen: (id: number) => boolean,
): TreeRow<Row>[] {
    const rows: TreeRow<Row>[] = [],
        waiting = (children.get(0) ?? []).map((of) => ({ of, level: 1 })).reverse();
    for (let next = waiting.pop(); next; next = waiting.pop()) {
        const { of, level } = next,
            below = children.get(of.id) ?? [];
        rows.push({
            ...of,
            level,
            hasBelow: below.length > 0,
            says: of.merged ? `${count(of.merged)} more` : nameOf(of),
        });
        if (below.length && isOpen(of.id))
            for (let at = below.length - 1; at >= 0; at--)
                waiting.push({ of: below[at]!, level: level + 1 });
    }
    return rows;
}

/* Rows beside each other that read the same: by number the first caller in which the call path of one differs
 * from those of the others, as the command has it. `callersOf`: those of a path, the nearest first. */
export function callersApart<Row extends Placed>(
    rows: readonly Row[],
    callersOf: (node: number) => readonly string[],
): Map<number, string> {
    const apart = new Map<number, string>();
    for (const alike of alikeOf(rows)) {
        const callers = new Map(alike.map((row) => [row.id, callersOf(row.node!)])),
            left = [{ alike, depth: 0 }];
        for (let next = left.pop(); next; next = left.pop()) {
            const { alike, depth } = next,
                parts = grouped(alike, ({ id }) => callers.get(id)![depth]);
            for (const [caller, part] of parts) {
                if (caller === undefined) continue; /* they end */
                if (parts.size > 1) for (const { id } of part) apart.set(id, caller);
                if (part.length > 1) left.push({ alike: part, depth: depth + 1 });
            }
        }
    }
    return apart;
}

function grouped<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
    const groups = new Map<Key, Row[]>();
    for (const row of rows) {
        const key = keyOf(row),
            group = groups.get(key);
        if (group) group.push(row);
        else groups.set(key, [row]);
    }
    return groups;
}

/* Call paths below one parent that are called the same, where there are several. */
export function alikeOf<Row extends Placed>(rows: readonly Row[]): Row[][] {
    const groups = grouped(
        rows.filter(({ node, merged }) => node && !merged),
        (row) => [row.parent, row.kind, nameOf(row), row.file, row.line].join("\n"),
    );
    return [...groups.values()].filter(({ length }) => length > 1);
}

/* What the holders of either look kept at A and at B: what was not there kept nothing. Null: one of the two
 * looks did not find out who holds what. */
export function grownBetween(
    { looks, holders }: HeldLooks,
    a: number,
    b: number,
): { before: HeldLooks["looks"][0]; after: HeldLooks["looks"][0]; rows: Grown[] } | null {
    const [from, to] = [a, b].map((sample) => looks.findIndex((each) => each.sample === sample));
    if (from! < 0 || to! < 0) return null;
    const rows = holders.flatMap((each): Grown[] => {
        const { retained_bytes: kept, retained_blocks: blocks, ...placed } = each;
        const [before, after] = [kept[from!]!, kept[to!]!],
            [had, has] = [blocks[from!]!, blocks[to!]!];
        return before || after || had || has
            ? [{ ...placed, before, after, change: after - before, blocks: has - had }]
            : [];
    });
    return { before: looks[from!]!, after: looks[to!]!, rows };
}

/* Rows that a test passes, and those that they stand below. */
export function withParents<Row extends Placed>(
    rows: readonly Row[],
    passes: (row: Row) => boolean,
): Row[] {
    const wanted = new Set<number>();
    for (let at = rows.length - 1; at >= 0; at--) {
        const row = rows[at]!;
        if (!wanted.has(row.id) && !passes(row)) continue;
        wanted.add(row.id).add(row.parent);
    }
    return rows.filter((row) => wanted.has(row.id));
}

/* A parent's number is smaller than its children's, so this ends. */
export function pathTo<Row extends Placed>(holders: readonly Row[], chosen: number): Row[] {
    const byId = new Map(holders.map((each) => [each.id, each])),
        path: Row[] = [];
    for (let at = byId.get(chosen); at; at = at.parent < at.id ? byId.get(at.parent) : undefined)
        path.unshift(at);
    return path;
}

/* What a search looks at; of several all that hold it together. */
export function searchedOf(row: Placed): Searched {
    const of = [row, ...(row.kind === "several" ? (row.sharers ?? []) : [])],
        all = (text: (each: Named) => string | null | undefined) =>
            of.map((each) => text(each) ?? "").join("\n");
    return {
        function: all((each) => `${each.function ?? ""}\n${each.name ?? ""}\n${each.kind}`),
        file: all((each) => each.file),
        module: all((each) => each.of ?? each.module),
    };
}

/* What `held --by library` lists a root under: several's by the one library of all of them. */
function libraryOf(row: Placed): string {
    const [first, ...others] = row.kind === "several" ? (row.sharers ?? []) : [],
        name = ({ of, kind }: Named) => (of ? baseName(of) : kind);
    if (!first) return name(row);
    const isCommon =
        row.more_sharers === 0 &&
        others.every((each) => each.kind === first.kind && (each.of ?? "") === (first.of ?? ""));
    return isCommon ? name(first) : "several";
}

/* The rows of what a library holds, with all below them. */
export function heldByLibrary(holders: readonly Placed[], library: string): Set<number> {
    const rows = new Set<number>();
    for (const row of holders)
        if (row.parent ? rows.has(row.parent) : libraryOf(row) === library) rows.add(row.id);
    return rows;
}

/* Of a row by type, library or call path. */
export const groupName = (row: Named & { type?: string; library?: string }): string =>
    row.type ?? row.library ?? nameOf(row);

/* Why it is held by nobody, as the command has it: a buffer of stdio holds nothing, and a garbage collector may come
 * yet. `leaks` does not count either as lost. */
export function lostWords(
    { holders, lost }: { holders: readonly { kind: string }[]; lost: Sum },
    lostByPointers: number | null,
): string {
    const are = lost.blocks === 1 ? "is" : "are";
    if (!lost.blocks) return "none is lost";
    const what = `${bytes(lost.bytes)} in ${count(lost.blocks)} ${are}`;
    if (holders.some(({ kind }) => kind === "module variable"))
        return `${what} held by nobody: lost, or for the garbage collector to find`;
    return lostByPointers !== null && lost.blocks > lostByPointers
        ? `${what} held by nobody: lost, or only a buffer of stdio has the address`
        : `${what} lost`;
}

/* A row as an address names it: by names from a root on. Numbers of rows change from look to look. */
const markOf = (row: Placed): string =>
    nameMark([row.kind, row.name, row.of, row.thread, row.function, row.file, row.line].join("\n"));

export function rowAddress<Row extends Placed>(holders: readonly Row[], id: number): string {
    return pathTo(holders, id).map(markOf).join(".");
}

/* 0: there is no such row. */
export function rowOfAddress<Row extends Placed>(holders: readonly Row[], address: string): number {
    const marks = address ? address.split(".") : [],
        depth = new Map<number, number>([[0, 0]]);
    for (const row of holders) {
        const above = depth.get(row.parent);
        if (above === undefined || marks[above] !== markOf(row)) continue;
        if (above + 1 === marks.length) return row.id;
        depth.set(row.id, above + 1);
    }
    return 0;
}
