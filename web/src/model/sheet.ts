/* The rows of a statement of SQL, as the command's query_sheet() writes them: nothing, numbers and
 * texts stay apart. */

export type Cell = number | string | null; /* null: NULL */

export interface Sheet {
    names: string[];
    rows: Cell[][];
    more: boolean; /* there are rows beyond these */
}

export function readSheet(text: string): Sheet {
    const said = JSON.parse(text) as { columns: string[]; rows: Cell[][]; more: boolean };
    return { names: said.columns, rows: said.rows, more: said.more };
}

/* What a picture can be of: the first column's labels, and the first other one whose cells are all
 * numbers, none below 0, or nothing. Null: there is none. */
export function charted({
    names,
    rows,
}: Pick<Sheet, "names" | "rows">): { label: string; at: number } | null {
    if (rows.length < 2) return null;
    for (let at = 1; at < names.length; at++) {
        const numbers = rows.filter((row) => typeof row[at] === "number").length;
        const others = rows.some((row) => typeof row[at] === "string");
        if (numbers > 1 && !others && rows.every((row) => Number(row[at] ?? 0) >= 0))
            return { label: names[at]!, at };
    }
    return null;
}
