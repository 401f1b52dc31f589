/* Who keeps what, by the line that asked for it: of the tree of holders (doc/HELD.md) the roots that the
 * blocks of a line hang below. */
import { togetherOf, type Sharer } from "./held.ts";

export interface HolderRow {
    id: number;
    parent: number;
    kind: string;
    name: string | null;
    of: string | null;
    thread: number | null;
    merged: number;
    own_bytes: number;
    function?: string | null;
    file?: string | null;
    line?: number | null;
    sharers?: readonly Sharer[];
    more_sharers?: number | null;
}

/* By root, what of a line's blocks is below it. */
export type Roots = ReadonlyMap<string, number>;

export const lineOf = (
    name: string | null | undefined,
    file: string | null | undefined,
    line: number | null | undefined,
): string => `${name ?? ""}\0${file ?? ""}\0${line || 0}`;

const kinds: Readonly<Record<string, string>> = {
    stack: "a stack",
    registers: "registers, or the kernel",
    mapping: "a mapping",
    blocks: "blocks that nothing else holds",
};

function rootName(row: HolderRow): string {
    if (row.sharers?.length)
        return togetherOf(row.sharers, row.more_sharers, (each) => each.name ?? each.kind);
    const thread = row.thread === null ? "" : ` of thread ${row.thread}`;
    const name = row.name ?? row.function ?? kinds[row.kind] ?? row.kind;
    return `${name}${row.kind === "several" ? " and others" : ""}${thread}`;
}

/* Rows that are summed up ("N more") say nothing of lines: what is in them is not here. */
export function rootsByLine(holders: readonly HolderRow[]): Map<string, Map<string, number>> {
    const byId = new Map(holders.map((each) => [each.id, each]));
    const roots = new Map<string, Map<string, number>>();
    for (const row of holders) {
        if (row.kind !== "blocks" || row.merged || !row.own_bytes) continue;
        let root = row;
        /* a parent's number is smaller than its children's, so this ends */
        for (let up = byId.get(row.parent); up && up.id < root.id; up = byId.get(up.parent))
            root = up;
        const key = lineOf(row.function, row.file, row.line),
            name = rootName(root);
        const sums = roots.get(key) ?? new Map<string, number>();
        roots.set(key, sums.set(name, (sums.get(name) ?? 0) + row.own_bytes));
    }
    return roots;
}

/* "table", or "table, names and 2 more": the largest first. */
export function rootsSaid(roots: Roots | undefined): string {
    if (!roots) return "";
    const names = [...roots].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    return names.length > 2
        ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`
        : names.join(", ");
}
