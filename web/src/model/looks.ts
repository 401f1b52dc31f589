/* What grew between two looks at the process: owners of resident memory, mappings by kind and file,
 * what is resident of blocks and what is lost by function, live blocks by type. Each look says its own;
 * what a look did not look for, or told only together with others, is not known, and no 0. */
import type { Mapping } from "./space.ts";

/* What is compared. */
export type Subject = "owners" | "mapped" | "resident" | "blocks" | "types" | "lost";

export interface LookRow {
    name: string;
    detail: string; /* the kind of a mapping or owner, the file of a function */
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
    kind?: string; /* of an owner */
}

/* The row that stands for call paths which a look did not tell one by one. */
export const others = "other call paths";

/* Of a look: was a thing of this kind looked for, and would it have a row of its own? */
export type Knows = (sample: number, kind?: string) => boolean;

export const foundInMappings = (mappings: readonly Mapping[], subject: "mapped" | "resident") =>
    mappings.map((row): Found => ({
        sample: row.sample,
        name: row.path ?? "without a name",
        detail: row.kind,
        bytes: subject === "mapped" ? row.virtual_bytes : row.resident_bytes,
    }));

/* Rows of what was found at either look, largest change first. What a look would have had a row for is 0
 * where there is none. */
export function lookRows(found: Iterable<Found>, a: number, b: number, knows: Knows): LookRow[] {
    const rows = new Map<string, LookRow>(),
        sums = new Map<LookRow, { kind?: string; a?: number | null; b?: number | null }>();
    const plus = (sum: number | null | undefined, bytes: number | null) =>
        sum === null || bytes === null ? null : (sum ?? 0) + bytes;
    for (const { sample, name, detail, bytes, kind } of found) {
        if (sample !== a && sample !== b) continue;
        const key = `${detail}\n${name}`;
        let row = rows.get(key);
        if (!row) {
            rows.set(key, (row = { name, detail, before: null, after: null }));
            sums.set(row, kind === undefined ? {} : { kind });
        }
        const sum = sums.get(row)!;
        if (sample === a) sum.a = plus(sum.a, bytes);
        if (sample === b) sum.b = plus(sum.b, bytes);
    }
    for (const [row, { kind, ...of }] of sums) {
        row.before = of.a === undefined ? (knows(a, kind) ? 0 : null) : of.a;
        row.after = of.b === undefined ? (knows(b, kind) ? 0 : null) : of.b;
    }
    return [...rows.values()].sort(
        (x, y) => Math.abs(changeOf(y) ?? 0) - Math.abs(changeOf(x) ?? 0),
    );
}

/* Of all that a look found. */
export function sumOfFound(found: Iterable<Found>, of: number): number | null {
    let sum: number | null = 0;
    for (const { sample, bytes } of found)
        if (sample === of) sum = sum === null || bytes === null ? null : sum + bytes;
    return sum;
}
