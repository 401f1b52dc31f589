/* SQL about the profile, where somebody answers it: `tidemark serve`, and the page of `tidemark viewer`.
 * A statement, its rows as a table, and a picture of the first column of numbers. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { charted, readSheet, type Cell, type Sheet } from "../model/sheet.ts";
import { exact } from "../model/units.ts";
import { asksSql, shownIndex } from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Bars } from "../widgets/bars.tsx";
import { Card, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import type { ViewProps } from "./registry.ts";

const examples: { title: string; sql: string }[] = [
    {
        title: "functions at the peak",
        sql: "SELECT function, at_peak_bytes, live_bytes, alloc_count\nFROM functions ORDER BY at_peak_bytes DESC LIMIT 20",
    },
    {
        title: "by library",
        sql: "SELECT module, sum(at_peak_bytes) AS at_peak_bytes, sum(alloc_count) AS allocations\nFROM functions GROUP BY module ORDER BY 2 DESC",
    },
    {
        title: "who has the resident memory",
        sql: "SELECT * FROM owners ORDER BY resident_bytes DESC LIMIT 30",
    },
    {
        title: "allocations for each block that stays",
        sql: "SELECT function, alloc_count * 1.0 / live_count AS allocations_each, live_count\nFROM functions WHERE live_count > 0 ORDER BY 2 DESC LIMIT 20",
    },
    {
        title: "level over time",
        sql: "SELECT seconds, requested_max FROM timeline_seconds",
    },
    { title: "facts", sql: "SELECT key, value FROM meta" },
];

const MOST_BARS = 400;

const shown = (cell: Cell) => (cell === null ? "NULL" : String(cell));

/* What is nothing and what is an empty text look different. */
function cellOf(cell: Cell): JSX.Element | string {
    if (cell === null) return <i class="dim">NULL</i>;
    return cell === "" ? <span class="dim">''</span> : String(cell);
}

function columnsOf({ names, rows }: Sheet): Column<Cell[]>[] {
    return names.map((name, at) => {
        const isNumber = rows.some((row) => typeof row[at] === "number");
        const wide = !isNumber && rows.some((row) => shown(row[at] ?? null).length > 14);
        const column: Column<Cell[]> = {
            id: `c${at}`,
            title: name,
            width: wide ? "minmax(180px, 2fr)" : "minmax(110px, 1fr)",
            text: (row) => (row[at] === null ? null : String(row[at])),
            show: (row) => cellOf(row[at] ?? null),
        };
        if (!isNumber || rows.some((row) => typeof row[at] === "string")) return column;
        delete column.text;
        column.number = (row) => row[at] as number | null;
        return column;
    });
}

function Answer({ sheet }: { sheet: Sheet }): JSX.Element {
    const [sort, setSort] = useState("");
    const columns = useMemo(() => columnsOf(sheet), [sheet]),
        picture = useMemo(() => charted(sheet), [sheet]),
        places = useMemo(() => new Map(sheet.rows.map((row, at) => [row, at])), [sheet]);
    /* What is not known has no bar. */
    const known = picture ? sheet.rows.filter((row) => row[picture.at] !== null) : [],
        drawn = known.slice(0, MOST_BARS);
    return (
        <>
            {picture && (
                <Card
                    title={
                        drawn.length < sheet.rows.length
                            ? `${picture.label}: ${drawn.length} of ${sheet.rows.length} rows`
                            : picture.label
                    }>
                    <Bars
                        name="query"
                        label={`${picture.label} by ${sheet.names[0]}`}
                        bars={drawn.map((row) => ({
                            label: shown(row[0] ?? null).slice(0, 12),
                            value: Number(row[picture.at]),
                            tip: `${shown(row[0] ?? null)}: ${shown(row[picture.at] ?? null)}`,
                        }))}
                        height={160}
                        format={(value) => String(value)}
                    />
                </Card>
            )}
            {sheet.more && (
                <p class="notice" role="status">
                    The first {exact(sheet.rows.length, "count")} rows: there are more. Ask for
                    fewer, or ask <code>tidemark query</code>.
                </p>
            )}
            <Table
                name="query"
                label="Rows"
                rows={sheet.rows}
                columns={columns}
                sort={sort}
                onSort={setSort}
                rowKey={(row) => places.get(row)!}
                empty="No rows."
            />
        </>
    );
}

export function SqlView(_: ViewProps): JSX.Element {
    const ask = asksSql.value,
        index = shownIndex.value;
    const asked = getOption(state.value, "sql");
    const [sql, setSql] = useState(asked ?? examples[0]!.sql);
    const [answer, setAnswer] = useState<Sheet | null>(null);
    const [says, setSays] = useState("");
    const tables = useLoaded(async () => (ask ? await ask(index, "") : ""), [ask, index]);
    const [busy, setBusy] = useState(false);
    const last = useRef(0);
    const answerTo = async (statement: string) => {
        const turn = ++last.current;
        setBusy(true);
        const show = (sheet: Sheet | null, why: string) => {
            if (turn !== last.current) return; /* something else has been asked since */
            setAnswer(sheet);
            setSays(why);
            setBusy(false);
        };
        try {
            show(readSheet(await ask!(index, statement)), "");
        } catch (error) {
            show(null, error instanceof Error ? error.message : String(error));
        }
    };
    /* What was asked stands in the address: a link, a reload and "back" ask it again. */
    const run = (statement: string) =>
        statement === asked
            ? void answerTo(statement)
            : go({ opt: withOptions(state.value, { sql: statement }) });
    useEffect(() => {
        last.current++;
        setAnswer(null);
        setSays("");
        setBusy(false);
        if (!ask || asked === undefined) return;
        setSql(asked);
        void answerTo(asked);
    }, [ask, index, asked]);
    if (!ask)
        return (
            <div class="empty">
                <p>
                    <b>Nobody here answers SQL.</b>
                </p>
                <p>
                    <code>tidemark serve FILE</code> does, <code>tidemark query FILE</code> in a
                    terminal, and the page that <code>tidemark viewer DIR</code> writes, when the
                    profile is dropped on it.
                </p>
            </div>
        );
    return (
        <div aria-busy={busy}>
            <Card title="SQL">
                <textarea
                    class="sql"
                    aria-label="Statement"
                    rows={5}
                    spellcheck={false}
                    value={sql}
                    onInput={(event) => setSql(event.currentTarget.value)}
                    onKeyDown={(event) => {
                        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                            event.preventDefault();
                            run(sql);
                        }
                    }}
                />
                <p>
                    <button onClick={() => run(sql)} title="Ctrl+Enter">
                        run
                    </button>{" "}
                    <label>
                        example{" "}
                        <select
                            aria-label="Example"
                            onChange={(event) => {
                                const chosen = examples[Number(event.currentTarget.value)]!;
                                setSql(chosen.sql);
                                run(chosen.sql);
                            }}>
                            {examples.map((each, at) => (
                                <option key={each.title} value={at}>
                                    {each.title}
                                </option>
                            ))}
                        </select>
                    </label>
                </p>
                {tables.state === "waiting" && (
                    <p class="dim" role="status" data-engine>
                        The profile is being put into tables for SQL, once: the first answer waits
                        for that.
                    </p>
                )}
                {says && (
                    <p class="bad" role="alert">
                        {says}
                    </p>
                )}
            </Card>
            {answer && <Answer sheet={answer} key={asked} />}
            <details>
                <summary>What can be asked</summary>
                <Ready of={tables}>{(text) => <pre class="tables">{text}</pre>}</Ready>
            </details>
        </div>
    );
}
