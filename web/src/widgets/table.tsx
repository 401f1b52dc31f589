/* The one table of the page, for hundreds of thousands of rows. Only the rows in sight are in
 * the document. It sorts, follows keys, shows bars in cells, and saves all rows as CSV or JSON. */
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX, RefObject } from "preact";
import { orderInSlices } from "../model/order.ts";
import { atOnce, inIdle, sortedTexts, type Work } from "../model/slices.ts";
import { exact, format, isKnown, type Known, type Unit } from "../model/units.ts";
import { saveText } from "./save.ts";
import { csvCell } from "./save_chart.tsx";
import { useInSlices } from "./states.tsx";

export interface Column<Row> {
    id: string;
    title: string;
    hint?: string;
    width: string; /* of CSS grid: "90px", "minmax(200px, 1fr)" */
    /* One of both. Numbers are sorted largest first, text from A on. */
    number?: (row: Row) => Known;
    unit?: Unit;
    text?: (row: Row) => string | null; /* null: there is none */
    /* What stands in the cell, if it is not the plain value. */
    show?: (row: Row) => ComponentChildren;
    /* Share of the cell's width, 0 to 1: a bar behind the number. */
    fill?: (row: Row) => number;
}

export interface TableProps<Row> {
    name: string; /* of the file that is saved */
    label: string; /* for screen readers */
    rows: readonly Row[];
    columns: readonly Column<Row>[];
    sort: string; /* "id" ascending, "-id" descending */
    onSort: (sort: string) => void;
    rowKey: (row: Row) => string | number;
    selected?: string | number | null;
    onSelect?: (row: Row) => void;
    onOpen?: (row: Row) => void; /* Enter, double click */
    onMenu?: (row: Row, x: number, y: number) => void;
    empty?: string;
    foot?: ComponentChildren;
    follow?: boolean; /* the selected row stays in sight when others select it */
    whole?: number; /* rows before a search: said where it leaves some out */
    only?: ReadonlySet<Row> | null; /* of `rows` those that a search leaves; null: all */
    /* Of these rows is what stands in the table: figures about others are not shown beside it yet. */
    onShown?: (rows: readonly Row[]) => void;
    /* Rows come in the order wanted (trees); columns do not sort. */
    ordered?: boolean;
    /* Rows of a tree: how deep, and whether it is open (null: nothing below). */
    branch?: (row: Row) => { level: number; open: boolean | null };
    onToggle?: (row: Row, open: boolean) => void; /* → and ← */
}

export function sortRows<Row>(
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    sort: string,
): Row[] {
    return atOnce(sortInSlices(rows, columns, sort));
}

function* sortInSlices<Row>(
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    sort: string,
): Work<Row[]> {
    const descending = sort.startsWith("-"),
        id = descending ? sort.slice(1) : sort;
    const column = columns.find((each) => each.id === id);
    if (!column) return [...rows];
    const keys = yield* keysOf(rows, column);
    return yield* inOrder(rows, yield* orderInSlices(keys, descending));
}

/* What rows are sorted by, of long lists kept by column: it is worked out before somebody asks for it. */
const keptKeys = new WeakMap<readonly unknown[], Map<string, Float64Array>>();
const keyFor = <Row,>({ id, title }: Column<Row>) => `${id} ${title}`;
function* keysOf<Row>(rows: readonly Row[], column: Column<Row>): Work<Float64Array> {
    const name = keyFor(column),
        known = keptKeys.get(rows)?.get(name);
    if (known) return known;
    const keys = column.number
        ? yield* numbersOf(rows, column.number)
        : yield* placesOf(rows, column.text ?? (() => ""));
    if (rows.length > MANY) {
        const all = keptKeys.get(rows) ?? new Map<string, Float64Array>();
        keptKeys.set(rows, all.set(name, keys));
    }
    return keys;
}

/* Texts are asked for once, and compared once where many rows have the same. */
function* placesOf<Row>(
    rows: readonly Row[],
    text: (row: Row) => string | null,
): Work<Float64Array> {
    const texts = new Array<string>(rows.length),
        distinct = new Set<string>(),
        place = new Map<string, number>();
    for (let at = 0; at < rows.length; at++) {
        texts[at] = text(rows[at]!) ?? "";
        distinct.add(texts[at]!);
        if ((at & 0xff) === 0xff) yield;
    }
    const sorted = yield* sortedTexts([...distinct]);
    for (let at = 0; at < sorted.length; at++) {
        if ((at & 0xfff) === 0xfff) yield;
        place.set(sorted[at]!, at);
    }
    const keys = new Float64Array(texts.length);
    for (let at = 0; at < texts.length; at++) {
        if ((at & 0x3fff) === 0x3fff) yield;
        keys[at] = place.get(texts[at]!)!;
    }
    return keys;
}

/* Of hundreds of thousands: numbers are asked for once. What is not known is the least. */
function* numbersOf<Row>(rows: readonly Row[], number: (row: Row) => Known): Work<Float64Array> {
    const keys = new Float64Array(rows.length);
    for (let at = 0; at < rows.length; at++) {
        if ((at & 0xfff) === 0xfff) yield;
        const value = number(rows[at]!);
        keys[at] = isKnown(value) ? value : -Infinity;
    }
    return keys;
}

function* inOrder<Row>(rows: readonly Row[], order: Uint32Array): Work<Row[]> {
    const sorted = new Array<Row>(rows.length);
    for (let at = 0; at < order.length; at++) {
        if ((at & 0x3fff) === 0x3fff) yield;
        sorted[at] = rows[order[at]!]!;
    }
    return sorted;
}

/* Long lists stay sorted while one looks at something else. */
const kept = new WeakMap<readonly unknown[], { sort: string; sorted: unknown[] }>();
function sortOnce<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): Row[] {
    const known = kept.get(rows);
    if (known?.sort === sort) return known.sorted as Row[];
    const sorted = sortRows(rows, columns, sort);
    if (rows.length > 10_000) kept.set(rows, { sort, sorted });
    return sorted;
}

const MANY = 5_000; /* rows that are not sorted while one waits, until their keys are known */
const WARM = 100_000; /* rows whose keys are worked out before somebody asks for them */

/* Many rows are sorted in slices: until they are what was shown stays. */
function useSorted<Row>({ rows, columns, sort, ordered }: TableProps<Row>): {
    of:
        | readonly Row[]
        | null; /* the rows that are sorted: those of before, until the others are; null: none yet */
    sorted: readonly Row[];
    isBusy: boolean;
} {
    const column = columns.find(({ id }) => id === sort || `-${id}` === sort);
    const isReady =
        kept.get(rows)?.sort === sort ||
        (!!column && rows.length <= WARM && !!keptKeys.get(rows)?.has(keyFor(column)));
    const isSlow = !ordered && rows.length > MANY && !isReady;
    const { value, waits } = useInSlices(
        function* () {
            if (ordered) return { of: rows, sorted: rows };
            if (!isSlow) return { of: rows, sorted: sortOnce(rows, columns, sort) };
            const sorted = yield* sortInSlices(rows, columns, sort);
            kept.set(rows, { sort, sorted });
            return { of: rows, sorted };
        },
        isSlow,
        [rows, columns, sort, ordered],
    );
    useEffect(() => {
        if (waits || ordered || rows.length <= MANY || rows.length > WARM) return;
        const work = allKeysOf(rows, columns);
        void inIdle(work);
        return () => void work.return(undefined);
    }, [rows, columns, ordered, waits]);
    return { of: value?.of ?? null, sorted: value?.sorted ?? [], isBusy: waits };
}

function* allKeysOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Work<void> {
    for (const column of columns) yield* keysOf(rows, column);
}

/* Rows that a search leaves, in the order of all of them: a search sorts nothing. What it leaves of
 * `rows` says nothing of those that are shown until these are sorted: they keep what it left of them. */
function useLeft<Row>(
    { of, sorted }: { of: readonly Row[] | null; sorted: readonly Row[] },
    { rows, only }: TableProps<Row>,
): readonly Row[] {
    const last = useRef(only);
    if (of === rows) last.current = only;
    const left = last.current;
    return useMemo(() => (left ? sorted.filter((row) => left.has(row)) : sorted), [sorted, left]);
}

function plain<Row>(column: Column<Row>, row: Row): string {
    if (!column.number) return column.text?.(row) ?? "";
    const value = column.number(row);
    return isKnown(value) ? String(value) : "";
}

export function toCsv<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
    const lines = [columns.map((column) => csvCell(column.id)).join(",")];
    for (const row of rows)
        lines.push(columns.map((column) => csvCell(plain(column, row))).join(","));
    return lines.join("\n") + "\n";
}

export function toJson<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
    const value = (column: Column<Row>, row: Row) =>
        column.number
            ? isKnown(column.number(row))
                ? column.number(row)
                : null
            : (column.text?.(row) ?? null);
    return (
        JSON.stringify(
            rows.map((row) =>
                Object.fromEntries(columns.map((column) => [column.id, value(column, row)])),
            ),
            null,
            1,
        ) + "\n"
    );
}

const overscan = 8;

/* Letters of a heading's longer line, if it is set in two where that is shortest. */
function headingLength(title: string): number {
    const words = title.split(" ");
    let best = title.length;
    for (let at = 1; at < words.length; at++)
        best = Math.min(
            best,
            Math.max(words.slice(0, at).join(" ").length, words.slice(at).join(" ").length + 2),
        );
    return words.length === 1 ? title.length + 2 : best;
}

const minutes = 7.8; /* em: "59 min 59 s" and the cell's padding */

/* At least as wide as its heading with the arrow of sorting, and as the longest duration. */
function widthOf<Row>(column: Column<Row>): string {
    const heading = `${Math.max(headingLength(column.title) * 0.58 + 1.4, column.unit === "ns" ? minutes : 0).toFixed(1)}em`;
    const range = /^minmax\(([^,]+),(.*)\)$/.exec(column.width);
    return range
        ? `minmax(max(${range[1]}, ${heading}),${range[2]})`
        : `max(${column.width}, ${heading})`;
}

const letter = 13; /* px: the size of letters (app.css) */
const glimpse = 90; /* px of the names that must be in sight */

/* Where names would begin off the side: the column of names in front, so that one sees of what the
 * figures are. */
export function fitting<Row>(
    columns: readonly Column<Row>[],
    width: number,
): readonly Column<Row>[] {
    const at = columns.findIndex((column) => column.text && column.width.startsWith("minmax"));
    const before = columns
        .slice(0, at)
        .reduce(
            (sum, column) =>
                sum +
                Math.max(
                    ...[...widthOf(column).matchAll(/([\d.]+)(px|em)/g)].map(
                        ([, size, unit]) => Number(size) * (unit === "em" ? letter : 1),
                    ),
                ),
            0,
        );
    if (at <= 0 || before + glimpse <= width) return columns;
    const name = columns[at]!;
    return [
        { ...name, width: `${Math.round(width * 0.42)}px` },
        ...columns.filter((column) => column !== name),
    ];
}

/* The size of the box that scrolls, and of a row, which app.css says. */
function useMeasure(scroll: RefObject<HTMLDivElement | null>): {
    width: number;
    height: number;
    rowHeight: number;
} {
    const [width, setWidth] = useState(Infinity);
    const [height, setHeight] = useState(600);
    const [rowHeight, setRowHeight] = useState(22);
    useEffect(() => {
        const box = scroll.current!;
        const measure = () => {
            setHeight(box.clientHeight);
            setWidth(box.clientWidth);
            setRowHeight(parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 22);
        };
        measure();
        const observer = new ResizeObserver(measure);
        observer.observe(box);
        return () => observer.disconnect();
    }, []);
    return { width, height, rowHeight };
}

/* Of a tree: how deep a row is, and whether it is open. */
function rowState<Row>(
    props: TableProps<Row>,
    row: Row,
): { "aria-level"?: number; "aria-expanded"?: boolean } {
    const branch = props.branch?.(row);
    if (!branch) return {};
    return {
        "aria-level": branch.level + 1,
        ...(branch.open === null ? {} : { "aria-expanded": branch.open }),
    };
}

/* What a key acts on: the rows as they are sorted, the one that is selected, and heights in px. */
interface Selected<Row> {
    props: TableProps<Row>;
    sorted: readonly Row[];
    columns: readonly Column<Row>[];
    selectedAt: number;
    rowHeight: number;
    headHeight: number;
    height: number;
}

function followKey<Row>(event: KeyboardEvent, of: Selected<Row>, box: HTMLElement): void {
    const { props, sorted, columns, selectedAt, rowHeight, headHeight, height } = of;
    const reveal = (at: number) => {
        if (at * rowHeight < box.scrollTop) box.scrollTop = at * rowHeight;
        else if ((at + 1) * rowHeight + headHeight > box.scrollTop + box.clientHeight)
            box.scrollTop = (at + 1) * rowHeight + headHeight - box.clientHeight;
    };
    const select = (at: number) => {
        const row = sorted[Math.max(0, Math.min(sorted.length - 1, at))];
        if (!row) return;
        props.onSelect?.(row);
        reveal(sorted.indexOf(row));
    };
    /* Opens or closes; where that is so already goes inwards or outwards. */
    const turn = (at: number, open: boolean) => {
        const { level, open: now } = props.branch!(sorted[at]!);
        if (now !== null && now !== open) props.onToggle!(sorted[at]!, open);
        else if (open && now) select(at + 1);
        else if (!open)
            for (let up = at - 1; up >= 0; up--)
                if (props.branch!(sorted[up]!).level < level) return select(up);
    };
    /* The selected row's, where its name is: for who has no right button. */
    const openMenu = () => {
        const row = box.querySelector("[aria-selected=true]")?.getBoundingClientRect();
        if (row) props.onMenu!(sorted[selectedAt]!, Math.max(row.left, 0) + 40, row.bottom);
    };
    const page = Math.max(1, Math.floor(height / rowHeight) - 2);
    const steps: Record<string, number> = {
        ArrowDown: 1,
        ArrowUp: -1,
        PageDown: page,
        PageUp: -page,
    };
    if (event.key in steps) select(selectedAt < 0 ? 0 : selectedAt + steps[event.key]!);
    else if (event.key === "Home") select(0);
    else if (event.key === "End") select(sorted.length - 1);
    else if (
        (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) &&
        props.onMenu &&
        selectedAt >= 0
    )
        openMenu();
    else if (event.key === "Enter" && selectedAt >= 0) props.onOpen?.(sorted[selectedAt]!);
    else if (
        (event.key === "ArrowRight" || event.key === "ArrowLeft") &&
        props.onToggle &&
        selectedAt >= 0
    )
        turn(selectedAt, event.key === "ArrowRight");
    else if (
        event.key === "c" &&
        (event.ctrlKey || event.metaKey) &&
        selectedAt >= 0 &&
        !getSelection()?.toString()
    )
        void navigator.clipboard?.writeText(
            columns.map((column) => plain(column, sorted[selectedAt]!)).join("\t"),
        );
    else return;
    event.preventDefault();
}

/* The row that an address has chosen is in sight when the table comes; later its reader scrolls. */
function useRowInSight(
    scroll: { current: HTMLDivElement | null },
    selectedAt: number,
    rowHeight: number,
    height: number,
): void {
    const isNew = useRef(true);
    useLayoutEffect(() => {
        if (!isNew.current || !height) return;
        isNew.current = false;
        const below = (selectedAt + 3) * rowHeight - height;
        if (selectedAt >= 0 && below > 0) scroll.current!.scrollTop = below;
    }, [height]);
}

export function Table<Row>(props: TableProps<Row>): JSX.Element {
    const { sort, rowKey } = props;
    const scroll = useRef<HTMLDivElement>(null);
    const id = useId();
    const { width, height, rowHeight } = useMeasure(scroll);
    const columns = useMemo(() => fitting(props.columns, width), [props.columns, width]);
    const isNarrow = columns !== props.columns;
    const [top, setTop] = useState(0);
    const all = useSorted(props),
        sorted = useLeft(all, props),
        { isBusy } = all;
    useLayoutEffect(() => {
        if (all.of) props.onShown?.(all.of);
    }, [all.of]);
    const selectedAt = useMemo(
        () =>
            props.selected === undefined || props.selected === null
                ? -1
                : sorted.findIndex((row) => rowKey(row) === props.selected),
        [sorted, props.selected],
    );

    const headHeight = columns.some((column) => column.title.includes(" ")) ? 38 : 26;
    useRowInSight(scroll, selectedAt, rowHeight, height);
    useLayoutEffect(() => {
        const box = scroll.current!,
            top = selectedAt * rowHeight;
        if (!props.follow || selectedAt < 0) return;
        if (top < box.scrollTop) box.scrollTop = top;
        else if (top + rowHeight + headHeight > box.scrollTop + box.clientHeight)
            box.scrollTop = top + rowHeight + headHeight - box.clientHeight;
    }, [props.selected]);

    const onKeyDown = (event: KeyboardEvent) =>
        followKey(
            event,
            { props, sorted, columns, selectedAt, rowHeight, headHeight, height },
            scroll.current!,
        );
    const template = columns.map(widthOf).join(" ");
    const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
    const last = Math.min(sorted.length, Math.ceil((top + height) / rowHeight) + overscan);
    const shown = [];
    for (let at = first; at < last; at++) {
        const row = sorted[at]!;
        shown.push(
            <TableRow
                key={rowKey(row)}
                row={row}
                at={at}
                id={at === selectedAt ? `${id}-chosen` : undefined}
                columns={columns}
                of={props}
            />,
        );
    }
    return (
        <div aria-busy={isBusy} class={isNarrow ? "table names-stay" : "table"}>
            <div
                class="scroll"
                style={{ "--columns": template, "--head": `${headHeight}px` }}
                role={props.branch ? "treegrid" : "grid"}
                aria-activedescendant={
                    selectedAt >= first && selectedAt < last ? `${id}-chosen` : undefined
                }
                aria-label={props.label}
                aria-rowcount={sorted.length + 1}
                tabIndex={0}
                ref={scroll}
                onScroll={() => setTop(scroll.current!.scrollTop)}
                onKeyDown={onKeyDown}>
                <div class="header" role="row">
                    {columns.map((column) => (
                        <Heading
                            key={column.id}
                            column={column}
                            sort={props.ordered ? "" : sort}
                            fixed={props.ordered}
                            onSort={props.onSort}
                        />
                    ))}
                </div>
                <div role="presentation" class="room" style={{ "--count": sorted.length }} />
                {shown}
                {sorted.length === 0 && !isBusy && (
                    <div class="empty">{props.empty ?? "Nothing here."}</div>
                )}
            </div>
            <Foot
                name={props.name}
                rows={sorted}
                whole={props.whole ?? (props.only ? props.rows.length : 0)}
                columns={columns}
                foot={props.foot}
            />
        </div>
    );
}

function TableRow<Row>({
    row,
    at,
    id,
    columns,
    of,
}: {
    row: Row;
    at: number;
    id: string | undefined; /* of the selected row */
    columns: readonly Column<Row>[];
    of: TableProps<Row>;
}): JSX.Element {
    return (
        <div
            role="row"
            class="row"
            id={id}
            aria-selected={id !== undefined}
            aria-rowindex={at + 2}
            {...rowState(of, row)}
            style={{ "--at": at }}
            onClick={() => of.onSelect?.(row)}
            onDblClick={() => of.onOpen?.(row)}
            onContextMenu={(event) => {
                if (!of.onMenu) return;
                event.preventDefault();
                of.onMenu(row, event.clientX, event.clientY);
            }}>
            {columns.map((column) => (
                <Cell key={column.id} column={column} row={row} />
            ))}
        </div>
    );
}

/* The number of rows, and all of them as a file. */
function Foot<Row>({
    name,
    rows,
    whole,
    columns,
    foot,
}: {
    name: string;
    rows: readonly Row[];
    whole: number;
    columns: readonly Column<Row>[];
    foot: ComponentChildren;
}): JSX.Element {
    return (
        <div class="foot">
            <span data-rows-shown>
                {exact(rows.length, "count")}
                {whole > rows.length && ` of ${exact(whole, "count")}`}{" "}
                {Math.max(whole, rows.length) === 1 ? "row" : "rows"}
            </span>
            {foot}
            <span class="spring" />
            <button
                class="plain"
                onClick={() => saveText(`${name}.csv`, "text/csv", toCsv(rows, columns))}>
                CSV
            </button>
            <button
                class="plain"
                onClick={() => saveText(`${name}.json`, "application/json", toJson(rows, columns))}>
                JSON
            </button>
        </div>
    );
}

function Heading<Row>({
    column,
    sort,
    onSort,
    fixed,
}: {
    column: Column<Row>;
    sort: string;
    fixed?: boolean | undefined;
    onSort: (sort: string) => void;
}): JSX.Element {
    const ascending = sort === column.id,
        descending = sort === "-" + column.id;
    const cls = column.number ? "cell number" : "cell";
    if (fixed)
        return (
            <div role="columnheader" class={cls} title={column.hint}>
                {column.title}
            </div>
        );
    const next = descending
        ? column.id
        : ascending
          ? "-" + column.id
          : column.number
            ? "-" + column.id
            : column.id;
    return (
        <div
            role="columnheader"
            class={cls}
            aria-sort={ascending ? "ascending" : descending ? "descending" : "none"}>
            <button title={column.hint} onClick={() => onSort(next)}>
                {column.title}
                {ascending ? " ▲" : descending ? " ▼" : ""}
            </button>
        </div>
    );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }): JSX.Element {
    if (column.show)
        return (
            <div
                role="gridcell"
                class={column.number ? "cell number" : "cell"}
                title={column.text?.(row) ?? undefined}>
                {column.show(row)}
            </div>
        );
    if (!column.number)
        return (
            <div role="gridcell" class="cell" title={column.text?.(row) ?? undefined}>
                {column.text?.(row)}
            </div>
        );
    const value = column.number(row);
    const fill = column.fill?.(row) ?? 0;
    return (
        <div role="gridcell" class="cell number" title={exact(value, column.unit ?? "count")}>
            {fill > 0 && (
                <div class="fill" style={{ "--share": `${Math.min(100, 100 * fill)}%` }} />
            )}
            <span class="over">{format(value, column.unit ?? "count")}</span>
        </div>
    );
}
