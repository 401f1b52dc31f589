/* What grew between two looks at the process: mappings by kind and file, what is resident of blocks by
 * function, lost blocks by function. Each look says its own; what a look did not look for is not
 * known, and no 0. */
import type { Mapping } from "./space.ts";

/* What is compared. */
export type Subject = "mapped" | "resident" | "blocks" | "lost";

export interface LookRow {
    name: string;
    detail: string; /* the kind of a mapping, the file of a function */
    before: number | null;
    after: number | null;
}
export const changeOf = ({ before, after }: LookRow): number | null =>
    before === null || after === null ? null : after - before;

/* One figure of something that was found at a look. */
export interface Found {
    sample: number;
    name: string;
    detail: string;
    bytes: number | null;
}

export const foundInMappings = (mappings: readonly Mapping[], subject: "mapped" | "resident") =>
    mappings.map((row): Found => ({
        sample: row.sample,
        name: row.path ?? "without a name",
        detail: row.kind,
        bytes: subject === "mapped" ? row.virtual_bytes : row.resident_bytes,
    }));

/* Rows of what was found at either look, largest change first; `knows`: was it looked for then? What
 * was looked for and not found is 0. */
export function lookRows(
    found: Iterable<Found>,
    a: number,
    b: number,
    knows: (sample: number) => boolean,
): LookRow[] {
    const rows = new Map<string, LookRow>();
    const [ofA, ofB] = [knows(a) ? 0 : null, knows(b) ? 0 : null];
    const plus = (sum: number | null, bytes: number | null) =>
        sum === null || bytes === null ? null : sum + bytes;
    for (const { sample, name, detail, bytes } of found) {
        if (sample !== a && sample !== b) continue;
        const key = `${detail}\n${name}`;
        let row = rows.get(key);
        if (!row) rows.set(key, (row = { name, detail, before: ofA, after: ofB }));
        if (sample === a) row.before = plus(row.before, bytes);
        if (sample === b) row.after = plus(row.after, bytes);
    }
    return [...rows.values()].sort(
        (x, y) => Math.abs(changeOf(y) ?? 0) - Math.abs(changeOf(x) ?? 0),
    );
}

export function sumOfRows(rows: readonly LookRow[], at: "before" | "after"): number | null {
    let sum: number | null = 0;
    for (const row of rows) sum = sum === null || row[at] === null ? null : sum + row[at];
    return sum;
}
