/* Charts over time: uPlot as a component. The chart follows the size of its box and the theme.
 * Mouse, wheel and keys choose a range; bands and marks are drawn over the curves, and the chart
 * can be saved. */
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import uPlot from "uplot";
import { axisRange } from "../model/axis.ts";
import { onAxis } from "../model/units.ts";
import { theme } from "../state/theme.ts";
import { colour } from "./canvas.ts";
import { csvCell, SaveChart } from "./save_chart.tsx";
import { SvgBrush, type Brush } from "./svg.ts";

export interface PlotSeries {
    title: string;
    tone: string; /* of the theme: "data-1" */
    values: ArrayLike<number | null>;
    format: (value: number) => string;
    scale?: string; /* "y" unless told; others have an axis at the right */
    filled?: boolean;
    stepped?: boolean;
    dashed?: boolean;
    hidden?: boolean;
    points?: boolean; /* known at single moments: a mark at each, a line from one to the next */
    binary?: boolean; /* ticks at powers of two: bytes */
    own?: ArrayLike<
        number | null
    >; /* what the legend says, where `values` are sums (stacked areas) */
}

export interface PlotProps {
    name: string; /* of the files that are saved */
    label: string;
    x: ArrayLike<number>;
    formatX: (value: number) => string;
    series: readonly PlotSeries[];
    height: number;
    range: readonly [number, number] | null; /* of x that is shown; null: all */
    chosen?: readonly [number, number]; /* what keys change, if that is not the range */
    onRange?: (from: number, to: number) => void;
    onPick?: (x: number) => void;
    marks?: readonly {
        x: number;
        pick?: number; /* a click on its line means this value of x */
        title: string;
        weight?: number;
    }[]; /* moments; words of those that weigh most come first */
    bands?: readonly {
        from: number;
        to: number;
        title: string;
        tone?: number;
    }[]; /* stretches of x, as strips at the bottom */
}

/* As far as a number of 64 bits goes, which a damaged profile may have. */
const binarySteps = Array.from({ length: 65 }, (_, at) => 2 ** at);

function list(values: ArrayLike<number | null>): (number | null)[] {
    return Array.from(values, (value) => (value === null || Number.isNaN(value) ? null : value));
}

const NEAR = 6; /* pixels from a mark's line that still mean it */

/* What a click means: the mark that is nearest, of those that weigh most first, or the place. */
function pickedAt(plot: uPlot, { marks }: PlotProps, left: number): number {
    const away = (x: number) => Math.abs(plot.valToPos(x, "x") - left);
    const [mark] = (marks ?? [])
        .filter((each) => each.pick !== undefined && away(each.x) <= NEAR)
        .sort((a, b) => away(a.x) - away(b.x) || (b.weight ?? 0) - (a.weight ?? 0));
    return mark?.pick ?? plot.posToVal(left, "x");
}

/* What uPlot is told. `latest` has the props of now: uPlot calls back long after it was made. */
type Latest = { readonly current: PlotProps };

function optionsOf(latest: Latest, width: number): uPlot.Options {
    const { height } = latest.current;
    return {
        width,
        height,
        legend: { live: true },
        cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "time" } },
        scales: {
            x: {
                time: false,
                range: (_, low, high) => axisRange(...(latest.current.range ?? [low, high])),
            },
            /* An area is as high as what it stands for: it begins at 0, in a range too. */
            ...Object.fromEntries(
                latest.current.series
                    .filter((each) => each.filled)
                    .map((each) => [
                        each.scale ?? "y",
                        {
                            range: (_: uPlot, low: number | null, high: number | null) =>
                                uPlot.rangeNum(Math.min(0, low ?? 0), high ?? 1, 0.1, true),
                        },
                    ]),
            ),
        },
        axes: axesOf(latest),
        series: seriesOf(latest),
        hooks: hooksOf(latest),
    };
}

/* The axis of x, and one for each scale that a curve has: the first on the left. */
function axesOf(latest: Latest): uPlot.Axis[] {
    const ink = colour("text"),
        grid = colour("line");
    const { series } = latest.current;
    const scales = [...new Set(series.map((each) => each.scale ?? "y"))];
    const axis = {
        stroke: ink,
        grid: { stroke: grid, width: 1 },
        ticks: { stroke: grid },
        font: "12px sans-serif",
    };
    return [
        {
            ...axis,
            space: 80 /* "1 min 05 s" */,
            values: (_, ticks) => ticks.map((tick) => onAxis(latest.current.formatX(tick))),
        },
        ...(scales.map((scale, at) => ({
            ...axis,
            scale,
            side: at === 0 ? 3 : 1,
            size: 74,
            grid: at === 0 ? axis.grid : { show: false },
            ...(series.find((each) => (each.scale ?? "y") === scale)!.binary
                ? { incrs: binarySteps }
                : {}),
            values: (_: uPlot, ticks: number[]) =>
                ticks.map((tick) =>
                    onAxis(series.find((each) => (each.scale ?? "y") === scale)!.format(tick)),
                ),
        })) as uPlot.Axis[]),
    ];
}

function seriesOf(latest: Latest): uPlot.Series[] {
    const { series, x } = latest.current;
    return [
        {
            label: "time",
            value: (_, value) => (value === null ? "–" : latest.current.formatX(value)),
        },
        ...series.map((each): uPlot.Series => ({
            label: each.title,
            stroke: colour(each.tone),
            width: 1.5,
            scale: each.scale ?? "y",
            show: !each.hidden,
            ...(each.filled ? { fill: colour(each.tone) + (each.own ? "" : "30") } : {}),
            ...(each.dashed ? { dash: [4, 3] } : {}),
            ...(each.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
            points:
                each.points || x.length === 1 /* which makes no line */
                    ? { show: true, size: 7, fill: colour(each.tone) }
                    : { show: false },
            spanGaps: !!each.points,
            value: (_, value, __, index) => {
                const shown =
                    each.own && index !== null && index !== undefined ? each.own[index] : value;
                return shown === null || shown === undefined ? "–" : each.format(shown);
            },
        })),
    ];
}

/* What the legend hides is taken out of the sums: what lies above it comes down. */
function restack(plot: uPlot, latest: Latest): void {
    const { x, series } = latest.current;
    if (!series.some((each) => each.own)) return;
    const sum = new Float64Array(x.length);
    const values = series.map((each) => list(each.values));
    for (let at = series.length - 1; at >= 0; at--) {
        const { own } = series[at]!;
        if (!own || !plot.series[at + 1]!.show) continue;
        for (let point = 0; point < sum.length; point++) sum[point]! += own[point] ?? 0;
        values[at] = [...sum];
    }
    plot.setData([list(x), ...values] as uPlot.AlignedData, false);
    plot.redraw(true, true);
}

/* A stretch that was dragged over is told; words are drawn over the curves. */
function hooksOf(latest: Latest): uPlot.Hooks.Arrays {
    return {
        setSeries: [(self, _, change) => change.show !== undefined && restack(self, latest)],
        setSelect: [
            (self) => {
                if (self.select.width < 3) return;
                const from = self.posToVal(self.select.left, "x"),
                    to = self.posToVal(self.select.left + self.select.width, "x");
                self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                latest.current.onRange?.(from, to);
            },
        ],
        draw: [
            (self) => {
                self.ctx.save();
                drawWords(self.ctx, latest.current, {
                    ...self.bbox,
                    scale: devicePixelRatio,
                    place: (value) => self.valToPos(value, "x", true),
                });
                self.ctx.restore();
            },
        ],
    };
}

/* Ctrl zooms around the pointer, Shift or a sideways wheel moves. */
function onWheel(event: WheelEvent, made: uPlot, props: PlotProps): void {
    const { min, max } = made.scales["x"]!;
    const sideways = event.shiftKey
        ? event.deltaY || event.deltaX
        : Math.abs(event.deltaX) > Math.abs(event.deltaY)
          ? event.deltaX
          : 0;
    if (!props.onRange || !(event.ctrlKey || event.metaKey || sideways)) return;
    event.preventDefault();
    if (!event.ctrlKey && !event.metaKey)
        return props.onRange(...panned(props, (sideways / made.over.clientWidth) * (max! - min!)));
    const at = made.posToVal(event.offsetX, "x"),
        factor = event.deltaY > 0 ? 1.25 : 0.8;
    props.onRange(at - (at - min!) * factor, at + (max! - at) * factor);
}

function onKey(event: KeyboardEvent, props: PlotProps): void {
    const { range, chosen, onRange, x } = props;
    if (!onRange) return;
    const [low, high] = chosen ?? range ?? [x[0] ?? 0, x[x.length - 1] ?? 1],
        span = high - low;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight")
        onRange(...panned(props, (event.key === "ArrowLeft" ? -0.1 : 0.1) * span));
    else if (event.key === "+" || event.key === "-")
        onRange(
            low + (event.key === "+" ? 0.1 : -0.125) * span,
            high - (event.key === "+" ? 0.1 : -0.125) * span,
        );
    else if (event.key === "0") onRange(-1, -1);
    else return;
    event.preventDefault();
}

function csvOf(props: PlotProps): string {
    const lines = [["ns", ...props.series.map((each) => csvCell(each.title))].join(",")];
    for (let at = 0; at < props.x.length; at++)
        lines.push(
            [props.x[at], ...props.series.map((each) => (each.own ?? each.values)[at] ?? "")].join(
                ",",
            ),
        );
    return lines.join("\n") + "\n";
}

export function Plot(props: PlotProps): JSX.Element {
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const latest = useRef(props);
    latest.current = props;
    const now = theme.value;

    useEffect(() => {
        const holder = box.current!;
        const { series } = latest.current;
        const made = new uPlot(
            optionsOf(latest, Math.max(200, holder.clientWidth)),
            [
                list(latest.current.x),
                ...series.map((each) => list(each.values)),
            ] as uPlot.AlignedData,
            holder,
        );
        plot.current = made;
        /* By the events' own places, and before uPlot sees them: its cursor follows a frame later, and
         * where the page has just scrolled it takes a click for the end of a drag, and swallows it. */
        let pressed = NaN;
        const press = (event: MouseEvent) => {
            pressed = event.clientX;
        };
        const click = (event: MouseEvent) => {
            if (made.over.contains(event.target as Node) && Math.abs(event.clientX - pressed) < 2)
                latest.current.onPick?.(
                    pickedAt(
                        made,
                        latest.current,
                        event.clientX - made.over.getBoundingClientRect().left,
                    ),
                );
        };
        const listening = new AbortController(),
            early = { capture: true, signal: listening.signal };
        holder.addEventListener("mousedown", press, early);
        holder.addEventListener("click", click, early);
        made.over.addEventListener("dblclick", () => latest.current.onRange?.(-1, -1));
        made.over.addEventListener("wheel", (event) => onWheel(event, made, latest.current), {
            passive: false,
        });
        const observer = new ResizeObserver(
            () =>
                holder.isConnected &&
                made.setSize({
                    width: Math.max(200, holder.clientWidth),
                    height: latest.current.height,
                }),
        );
        observer.observe(holder);
        return () => {
            observer.disconnect();
            listening.abort();
            made.destroy();
        };
    }, [props.x, props.series, now, props.height]);
    useEffect(() => {
        plot.current?.redraw(true, true);
        const made = plot.current;
        if (!made) return;
        const [low, high] = props.range ?? [props.x[0] ?? 0, props.x[props.x.length - 1] ?? 1];
        made.setScale("x", { min: low, max: high });
    }, [props.range?.[0], props.range?.[1]]);

    useEffect(() => plot.current?.redraw(false, false), [props.marks, props.bands]);

    return (
        <div class="chart">
            {props.onRange ? (
                <div
                    ref={box}
                    role="group"
                    tabIndex={0}
                    aria-label={`${props.label}: arrows move, + and - zoom, 0 shows all`}
                    onKeyDown={(event) => onKey(event, props)}
                />
            ) : (
                <div ref={box} role="img" aria-label={props.label} />
            )}
            <SaveChart
                name={props.name}
                canvas={() => box.current?.querySelector("canvas")}
                svg={() => plotToSvg(plot.current!, props)}
                csv={() => csvOf(props)}
            />
        </div>
    );
}

interface Area {
    left: number;
    top: number;
    width: number;
    height: number;
    scale: number;
    place: (x: number) => number;
}

/* What words say of x: stretches, as strips, and moments, as lines. */
function drawWords(brush: Brush, { bands, marks }: PlotProps, area: Area): void {
    drawBands(brush, bands ?? [], area);
    drawMarks(brush, marks ?? [], area);
}

/* Strips above the axis, each in the lowest row where it does not lie on another or on its words,
 * as far up as there is room; they go on beyond what is shown. */
function drawBands(
    brush: Brush,
    bands: NonNullable<PlotProps["bands"]>,
    { left, top, width, height, scale, place }: Area,
): void {
    const row = 14 * scale,
        room = Math.floor((0.6 * height) / row);
    brush.font = `${10.5 * scale}px sans-serif`;
    brush.textAlign = "left";
    brush.textBaseline = "middle";
    const taken: number[] = []; /* by row: where it is free again */
    bands.forEach((band, at) => {
        const from = Math.max(left, place(band.from)),
            to = Math.min(left + width, place(band.to));
        if (to < left || from > left + width) return;
        const level = Array.from({ length: room }, (_, each) => each).find(
            (each) => (taken[each] ?? -Infinity) <= from,
        );
        if (level === undefined) return;
        taken[level] = Math.max(to, from + brush.measureText(band.title).width + 8 * scale) + scale;
        const y = top + height - (level + 1) * row;
        brush.globalAlpha = 0.35;
        brush.fillStyle = colour(`data-${3 + ((band.tone ?? at) % 5)}`);
        brush.fillRect(from, y, Math.max(2 * scale, to - from), row - 2 * scale);
        brush.globalAlpha = 1;
        brush.fillStyle = colour("text");
        brush.fillText(band.title, from + 4 * scale, y + row / 2 - scale);
    });
    brush.textBaseline = "alphabetic";
}

const WORD_ROWS = 3,
    WORDS = 200; /* there may be thousands of moments, and room for some dozens of words */
const DENSE = 12; /* px: closer to one another than this lines are a curtain before what is drawn */

/* A line for each; words for those that weigh most, in the first row where they do not lie on those
 * of others. Where moments are many, lines for those that have words, and a tick at the top for
 * each. */
function drawMarks(
    brush: Brush,
    marks: NonNullable<PlotProps["marks"]>,
    { left, top, width, height, scale, place }: Area,
): void {
    const seen = marks
        .map((mark) => ({ ...mark, at: place(mark.x) }))
        .filter(({ at }) => at >= left && at <= left + width);
    brush.strokeStyle = colour("line-strong");
    brush.lineWidth = scale;
    const places = new Set(seen.map((mark) => Math.round(mark.at))),
        isDense = places.size * DENSE * scale > width;
    const line = (at: number, length: number) => {
        for (let y = 0; y < length; y += 8 * scale) {
            brush.moveTo(at, top + y);
            brush.lineTo(at, top + Math.min(height, y + 4 * scale));
        }
    };
    brush.beginPath();
    for (const at of places) line(at, isDense ? 1 : height);
    brush.stroke();
    brush.beginPath();
    brush.font = `${11 * scale}px sans-serif`;
    brush.textAlign = "left";
    brush.fillStyle = colour("text");
    const taken: { row: number; low: number; high: number }[] = [];
    /* of many that weigh the same some from everywhere, not those that come first: by steps of the
     * golden section */
    const spread = (number: number) => (isDense ? (number * 0.618034) % 1 : 0);
    const turns = seen
        .map((mark, number) => ({ ...mark, turn: spread(number) }))
        .sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0) || a.turn - b.turn);
    for (const { at, title } of turns.slice(0, WORDS)) {
        const words = brush.measureText(title).width,
            gap = 4 * scale;
        const room = Array.from({ length: 2 * WORD_ROWS }, (_, turn) => ({
            row: turn >> 1,
            low: turn & 1 ? at - gap - words : at + gap,
            high: turn & 1 ? at - gap : at + gap + words,
        })).find(
            ({ row, low, high }) =>
                low >= left &&
                high <= left + width &&
                taken.every(
                    (each) => each.row !== row || high + gap < each.low || low > each.high + gap,
                ),
        );
        if (!room) continue;
        taken.push(room);
        if (isDense) line(Math.round(at), height);
        brush.fillText(title, room.low, top + (12 + 14 * room.row) * scale);
    }
    brush.stroke();
}

/* The range that is shown, moved by so much; it stays within what there is. */
function panned({ range, chosen, x }: PlotProps, by: number): [number, number] {
    const first = x[0] ?? 0,
        last = x[x.length - 1] ?? 1;
    const [low, high] = chosen ?? range ?? [first, last];
    const to = Math.min(Math.max(low + by, first), Math.max(first, last - (high - low)));
    return [to, to + (high - low)];
}

/* What the plot shows now, drawn once more: uPlot itself draws on canvases only. */
function plotToSvg(plot: uPlot, props: PlotProps): string {
    const brush = new SvgBrush(),
        scale = 1 / devicePixelRatio;
    const { left, top, width, height } = plot.bbox;
    const right = (left + width) * scale,
        bottom = (top + height) * scale;
    brush.font = "12px sans-serif";
    const place = (value: number, of: string) => plot.valToPos(value, of, true) * scale;
    const drawAxis = (axis: uPlot.Axis & { _splits?: number[]; _values?: string[] }) =>
        (axis._splits ?? []).forEach((split, at) => {
            const vertical = axis.side === 1 || axis.side === 3,
                text = String(axis._values?.[at] ?? "");
            const where = place(split, axis.scale ?? "x");
            brush.fillStyle = colour("line");
            if (axis.side !== 1)
                brush.fillRect(
                    vertical ? left * scale : where,
                    vertical ? where : top * scale,
                    vertical ? width * scale : 1,
                    vertical ? 1 : height * scale,
                );
            brush.fillStyle = colour("text");
            brush.textAlign = axis.side === 3 ? "right" : axis.side === 1 ? "left" : "center";
            brush.textBaseline = vertical ? "middle" : "top";
            brush.fillText(
                text,
                axis.side === 3 ? left * scale - 6 : axis.side === 1 ? right + 6 : where,
                vertical ? where : bottom + 6,
            );
        });
    plot.axes.forEach(drawAxis);
    let legend = left * scale;
    props.series.forEach((series, number) => {
        if (!plot.series[number + 1]?.show) return;
        const drawn = { ...series, values: plot.data[number + 1]! as (number | null)[] };
        drawSeries(brush, props, drawn, place, [left * scale, right, bottom]);
        brush.fillStyle = colour(series.tone);
        brush.fillRect(legend, bottom + 30, 10, 10);
        brush.fillStyle = colour("text");
        brush.textAlign = "left";
        brush.textBaseline = "middle";
        brush.fillText(series.title, legend + 15, bottom + 35);
        legend += 30 + 6.8 * series.title.length;
    });
    drawWords(brush, props, {
        left: left * scale,
        top: top * scale,
        width: width * scale,
        height: height * scale,
        scale: 1,
        place: (value) => place(value, "x"),
    });
    return brush.text(plot.width, bottom + 50, colour("ground"));
}

function drawSeries(
    brush: SvgBrush,
    props: PlotProps,
    series: PlotSeries,
    place: (value: number, scale: string) => number,
    [left, right, bottom]: readonly [number, number, number],
): void {
    const draw = () => {
        let last: [number, number] | null = null,
            start: number | null = null;
        brush.beginPath();
        for (let at = 0; at < props.x.length; at++) {
            const value = series.values[at];
            if (value === null || value === undefined || Number.isNaN(value)) continue;
            const x = place(props.x[at]!, "x"),
                y = place(value, series.scale ?? "y");
            if (x < left - 1 || x > right + 1) continue;
            if (!last) brush.moveTo(x, y);
            else {
                if (series.stepped) brush.lineTo(x, last[1]);
                brush.lineTo(x, y);
            }
            start ??= x;
            last = [x, y];
        }
        return [start, last?.[0] ?? null];
    };
    const [first, end] = draw();
    if (first === null || first === undefined) return;
    if (series.filled) {
        brush.lineTo(end!, bottom);
        brush.lineTo(first, bottom);
        brush.fillStyle = colour(series.tone);
        brush.globalAlpha = series.own ? 1 : 0.2;
        brush.fill();
        brush.globalAlpha = 1;
        draw();
    }
    brush.strokeStyle = colour(series.tone);
    brush.lineWidth = 1.5;
    brush.stroke();
}
