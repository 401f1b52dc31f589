/* Histograms (Bars) and heat maps (HeatMap), drawn on canvases. The pointer shows the figure of
 * a bar or cell, and a click chooses it. The pictures and their numbers can be saved. */
import type { ComponentChildren, JSX } from "preact";
import { onAxis } from "../model/units.ts";
import { theme } from "../state/theme.ts";
import { colour, useCanvas } from "./canvas.ts";
import type { Brush } from "./svg.ts";
import { csvCell, SaveChart } from "./save_chart.tsx";
import { hideTip, showTip } from "./tooltip.tsx";
import { useRef } from "preact/hooks";

export interface Bar {
    label: string;
    value: number;
    tip: ComponentChildren;
}

export function Bars({
    name,
    label,
    bars,
    height,
    format,
    onPick,
    picked,
}: {
    name: string;
    label: string;
    bars: readonly Bar[];
    height: number;
    format: (value: number) => string;
    onPick?: (at: number) => void;
    picked?: number;
}): JSX.Element {
    const most = bars.reduce((best, bar) => Math.max(best, bar.value), 0);
    const left = 64,
        foot = 20;
    const slot = (width: number) => (width - left - 4) / Math.max(1, bars.length);
    const canvas = useCanvas(
        ({ context, width, height: tall }) => {
            const ink = colour("dim"),
                fill = colour("data-1"),
                chosen = colour("data-2"),
                line = colour("line");
            context.font = "11px sans-serif";
            context.fillStyle = ink;
            context.textAlign = "right";
            context.textBaseline = "middle";
            const ticks =
                Number.isInteger(most) && most % 2
                    ? [0, 1]
                    : [0, 0.5, 1]; /* no tick at half a block */
            for (const tick of most > 9 ? [0, 0.5, 1] : ticks) {
                const y = 6 + (tall - foot - 6) * tick;
                context.fillText(onAxis(format(most * (1 - tick))), left - 6, y);
                context.fillStyle = line;
                context.fillRect(left, Math.round(y), width - left, 1);
                context.fillStyle = ink;
            }
            const w = slot(width);
            context.textAlign = "center";
            context.textBaseline = "alphabetic";
            let lastLabel = -100;
            bars.forEach((bar, at) => {
                const h = most
                    ? Math.max(bar.value > 0 ? 1 : 0, (bar.value / most) * (tall - foot - 6))
                    : 0;
                context.fillStyle = at === picked ? chosen : fill;
                context.fillRect(left + at * w, tall - foot - h, Math.max(1, w - 1), h);
                const x = left + (at + 0.5) * w;
                if (x - lastLabel < 52 || x > width - 20) return;
                lastLabel = x;
                context.fillStyle = ink;
                context.fillText(bar.label, x, tall - 5);
            });
        },
        [bars, height, theme.value, picked],
    );
    const find = (event: MouseEvent) => {
        const box = canvas.current!.getBoundingClientRect();
        const at = Math.floor((event.clientX - box.left - left) / slot(box.width));
        return at >= 0 && at < bars.length ? at : -1;
    };
    return (
        <>
            <div class="chart sized" style={{ "--height": `${height}px` }}>
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label={label}
                    onMouseLeave={hideTip}
                    onMouseMove={(event) => {
                        const at = find(event);
                        if (at < 0) hideTip();
                        else showTip(event.clientX, event.clientY, bars[at]!.tip);
                    }}
                    onClick={(event) => {
                        const at = find(event);
                        if (at >= 0) onPick?.(at);
                    }}
                />
            </div>
            <SaveChart
                name={name}
                canvas={() => canvas.current}
                csv={() =>
                    "bin,value\n" +
                    bars.map((bar) => `${csvCell(bar.label)},${bar.value}\n`).join("")
                }
            />
        </>
    );
}

export interface HeatCell {
    x: number;
    y: number;
    value: number;
} /* columns and rows, from 0; rows from below */

/* One hue from the ground to strong: an order that needs no colour vision. */
function heat(share: number, dark: boolean): string {
    const from = dark ? [28, 36, 44] : [232, 240, 247],
        to = dark ? [130, 205, 255] : [0, 60, 110];
    const mix = (at: number) => Math.round(from[at]! + (to[at]! - from[at]!) * share);
    return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
}

const foot = 20; /* room for the headings of columns, below; in px */

interface Room {
    left: number; /* for the headings of rows */
    width: number;
    tall: number;
    w: number; /* of a cell */
    h: number;
}

function drawCells(
    context: Brush,
    cells: readonly HeatCell[],
    { left, width, tall, w, h }: Room,
    linear: boolean,
): void {
    const dark = theme.value === "dark";
    const most = cells.reduce((best, cell) => Math.max(best, cell.value), 0);
    context.fillStyle = colour("sunk");
    context.fillRect(left, 0, width - left, tall - foot);
    for (const cell of cells) {
        if (cell.value <= 0) continue;
        /* counts go by order of magnitude: a linear scale shows the largest cell and
         * nothing else */
        const part = linear ? cell.value / most : Math.log(1 + cell.value) / Math.log(1 + most);
        context.fillStyle = heat(most > 1 ? 0.08 + 0.92 * part : 1, dark);
        /* on whole pixels: else seams make a pattern that is not in the data */
        const x0 = Math.round(left + cell.x * w),
            x1 = Math.round(left + (cell.x + 1) * w),
            gap = w > 6 ? 1 : 0;
        const y0 = Math.round(tall - foot - (cell.y + 1) * h),
            y1 = Math.round(tall - foot - cell.y * h);
        context.fillRect(
            x0,
            y0,
            Math.max(1, x1 - x0 - gap),
            Math.max(1, y1 - y0 - (h > 6 ? 1 : 0)),
        );
    }
}

/* As wide as the widest heading of a row, and at most two fifths of all. */
function leftOf(context: Brush, rows: readonly string[], width: number): number {
    context.font = "11px sans-serif";
    const widest = rows.reduce((most, row) => Math.max(most, context.measureText(row).width), 0);
    return Math.max(64, Math.min(Math.ceil(widest) + 10, Math.round(width * 0.4)));
}

/* The text, or what of its end there is room for: a thread's number stands there. */
function endOf(context: Brush, text: string, room: number): string {
    let end = text;
    while (end.length > 1 && context.measureText(end).width > room) end = `…${end.slice(2)}`;
    return end;
}

/* As many headings as do not lie on one another. */
function drawHeadings(
    context: Brush,
    columns: readonly string[],
    rows: readonly string[],
    { left, width, tall, w, h }: Room,
): void {
    context.fillStyle = colour("dim");
    context.font = "11px sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(14 / h));
    rows.forEach(
        (row, at) =>
            at % every === 0 &&
            context.fillText(endOf(context, row, left - 8), left - 6, tall - foot - (at + 0.5) * h),
    );
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const widest = columns.reduce(
        (most, column) => Math.max(most, context.measureText(column).width),
        0,
    );
    const across = Math.max(1, Math.ceil(Math.max(56, widest + 10) / w));
    columns.forEach((column, at) => {
        const x = left + (at + 0.5) * w,
            half = context.measureText(column).width / 2;
        if (at % across === 0 && x + half <= width) context.fillText(column, x, tall - 5);
    });
}

export function HeatMap({
    name,
    label,
    cells,
    columns,
    rows,
    height,
    tip,
    onPick,
    linear,
    format,
}: {
    name: string;
    label: string;
    cells: readonly HeatCell[];
    columns: readonly string[];
    rows: readonly string[];
    height: number;
    tip: (cell: HeatCell) => ComponentChildren;
    onPick?: (cell: HeatCell) => void;
    linear?: boolean;
    format: (value: number) => string;
}): JSX.Element {
    const most = cells.reduce((best, cell) => Math.max(best, cell.value), 0);
    const grid = useRef(new Map<number, HeatCell>()),
        edge = useRef(64);
    const canvas = useCanvas(
        ({ context, width, height: tall }) => {
            const left = (edge.current = leftOf(context, rows, width));
            grid.current = new Map(cells.map((cell) => [cell.y * columns.length + cell.x, cell]));
            const room = {
                left,
                width,
                tall,
                w: (width - left) / Math.max(1, columns.length),
                h: (tall - foot) / Math.max(1, rows.length),
            };
            drawCells(context, cells, room, !!linear);
            drawHeadings(context, columns, rows, room);
        },
        [cells, height, theme.value, columns, rows],
    );
    const find = (event: MouseEvent): HeatCell | undefined => {
        const box = canvas.current!.getBoundingClientRect(),
            left = edge.current;
        const x = Math.floor(
            ((event.clientX - box.left - left) / (box.width - left)) * columns.length,
        );
        const y = Math.floor(
            ((box.bottom - foot - event.clientY) / (box.height - foot)) * rows.length,
        );
        return x < 0 || y < 0 || x >= columns.length
            ? undefined
            : grid.current.get(y * columns.length + x);
    };
    return (
        <>
            <div class="chart sized" style={{ "--height": `${height}px` }}>
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label={label}
                    onMouseLeave={hideTip}
                    onMouseMove={(event) => {
                        const cell = find(event);
                        if (cell) showTip(event.clientX, event.clientY, tip(cell));
                        else hideTip();
                    }}
                    onClick={(event) => {
                        const cell = find(event);
                        if (cell) onPick?.(cell);
                    }}
                />
            </div>
            <SaveChart
                name={name}
                canvas={() => canvas.current}
                csv={() =>
                    "x,y,value\n" +
                    cells
                        .map(
                            (cell) =>
                                `${csvCell(columns[cell.x] ?? "")},${csvCell(rows[cell.y] ?? "")},${cell.value}\n`,
                        )
                        .join("")
                }>
                <span class="dim" data-shade>
                    {linear ? "shade: level" : "shade: order of magnitude"}, the deepest{" "}
                    {format(most)}
                </span>
            </SaveChart>
        </>
    );
}
