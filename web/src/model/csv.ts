/* Rows of CSV as `tidemark query` writes them (RFC 4180), back into cells. Texts stand in quotes or
 * have none that need them; a cell that is a number as JSON has it is one. */

export type Cell = number | string | null; /* null: nothing stands there */

export interface Sheet {
    names: string[];
    rows: Cell[][];
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

function* cellsIn(text: string): Generator<{ cell: Cell; ends: boolean }> {
    for (let at = 0; at < text.length;) {
        let cell: Cell;
        if (text[at] === '"') {
            let end = at + 1;
            while (end < text.length && (text[end] !== '"' || text[end + 1] === '"'))
                end += text[end] === '"' ? 2 : 1;
            cell = text.slice(at + 1, end).replaceAll('""', '"');
            at = end + 1;
        } else {
            const start = at;
            while (at < text.length && text[at] !== "," && text[at] !== "\r" && text[at] !== "\n")
                at++;
            const plain = text.slice(start, at);
            cell = plain === "" ? null : NUMBER.test(plain) ? Number(plain) : plain;
        }
        const ends = text[at] !== ",";
        at += text[at] === "\r" ? 2 : 1;
        yield { cell, ends };
        if (!ends && at >= text.length) yield { cell: null, ends: true };
    }
}

/* Sheets of several statements are parted by an empty line. */
export function readSheet(text: string): Sheet {
    const rows: Cell[][] = [];
    let row: Cell[] = [];
    for (const { cell, ends } of cellsIn(text)) {
        row.push(cell);
        if (!ends) continue;
        rows.push(row);
        row = [];
    }
    const [head = [], ...rest] = rows;
    return { names: head.map(String), rows: rest };
}

/* What a picture can be of: the first column's labels, and the first other one whose cells are all
 * numbers, none below 0, or nothing. Null: there is none. */
export function charted({ names, rows }: Sheet): { label: string; at: number } | null {
    if (rows.length < 2) return null;
    for (let at = 1; at < names.length; at++) {
        const numbers = rows.filter((row) => typeof row[at] === "number").length;
        const others = rows.some((row) => typeof row[at] === "string");
        if (numbers > 1 && !others && rows.every((row) => Number(row[at] ?? 0) >= 0))
            return { label: names[at]!, at };
    }
    return null;
}
