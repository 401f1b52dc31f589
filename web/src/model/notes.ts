/* Notes and saved views of who looks at a profile (doc/API.md, "Notes"). They stand in a file beside
 * the profile, which somebody may have written by hand: whatever is not as it should be is passed
 * over, and nothing of it becomes markup or an address outside the page. */
import { fromHash, toHash } from "../state/url.ts";

export interface Note {
    id: string;
    text: string;
    unix_ms: number; /* when it was written */
    address: string; /* of what its writer saw: "#/…" */
    function: string | null; /* the name of the one it is about … */
    from_ns: number | null; /* … or a moment, or a range of time: to_ns is another one */
    to_ns: number | null;
}
export interface SavedView {
    id: string;
    title: string;
    unix_ms: number;
    address: string;
}
export interface Notes {
    notes: Note[];
    views: SavedView[];
}

export const LONGEST = 10_000; /* letters of a note */
const MOST = 2_000; /* notes, and views */

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null;
const textOf = (value: unknown) => (typeof value === "string" ? value.slice(0, LONGEST) : "");
const whenOf = (value: unknown) =>
    typeof value === "number" && Math.abs(value) <= 8.64e15 ? value : 0;
const momentOf = (value: unknown) =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
/* A state of the page, and nothing else. */
const addressOf = (value: unknown) => toHash(fromHash(typeof value === "string" ? value : ""));

function noteOf(raw: Raw): Note {
    const from = momentOf(raw["from_ns"]);
    return {
        id: textOf(raw["id"]),
        text: textOf(raw["text"]),
        unix_ms: whenOf(raw["unix_ms"]),
        address: addressOf(raw["address"]),
        function: textOf(raw["function"]) || null,
        from_ns: from,
        to_ns: from === null ? null : (momentOf(raw["to_ns"]) ?? from),
    };
}

const viewOf = (raw: Raw): SavedView => ({
    id: textOf(raw["id"]),
    title: textOf(raw["title"]),
    unix_ms: whenOf(raw["unix_ms"]),
    address: addressOf(raw["address"]),
});

/* Each id once: what is saved again takes the place of what was saved. What was written by hand
 * without one has its place. */
function rowsOf<Row extends { id: string }>(list: unknown, of: (raw: Raw) => Row): Row[] {
    const rows = new Map<string, Row>();
    for (const [at, raw] of (Array.isArray(list) ? list.slice(0, MOST) : []).entries()) {
        if (!isRaw(raw)) continue;
        const row = of(raw);
        row.id ||= `at ${at}`;
        rows.set(row.id, row);
    }
    return [...rows.values()];
}

/* Null: these are no notes. */
export function readNotes(text: string): Notes | null {
    try {
        const said: unknown = JSON.parse(text);
        if (!isRaw(said) || said["format"] !== "tidemark-notes") return null;
        return {
            notes: rowsOf(said["notes"], noteOf).filter((note) => note.text),
            views: rowsOf(said["views"], viewOf).filter((view) => view.title),
        };
    } catch {
        return null;
    }
}

/* The server looks for this beginning. */
export function writeNotes({ notes, views }: Notes): string {
    return JSON.stringify({ format: "tidemark-notes", version: 1, notes, views }) + "\n";
}

/* Both, each once; of one id the second. */
export function mergeNotes(a: Notes, b: Notes): Notes {
    const both = <Row extends { id: string }>(first: Row[], second: Row[]) => [
        ...new Map([...first, ...second].map((row) => [row.id, row])).values(),
    ];
    return { notes: both(a.notes, b.notes), views: both(a.views, b.views) };
}
