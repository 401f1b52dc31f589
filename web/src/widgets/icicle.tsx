/* Draws a flame graph of up to 100,000 frames on a canvas. Frames that are less than a pixel
 * wide are passed over. Mouse and keys choose and zoom frames; a hidden live region says the
 * chosen frame to screen readers. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX, RefObject } from "preact";
import type { Flame } from "../model/flame.ts";
import { textColour } from "../model/palette.ts";
import { useCanvas, colour } from "./canvas.ts";
import type { Brush } from "./svg.ts";
import { Minimap } from "./minimap.tsx";
import { hideTip, showTip } from "./tooltip.tsx";

export interface IcicleProps {
    flame: Flame;
    label: string; /* for screen readers */
    name: (at: number) => string;
    fill: (at: number) => string; /* CSS colour */
    striped?: (at: number) => boolean;
    tip: (at: number) => ComponentChildren;
    matches: Uint8Array | null; /* by frame: found by the search; null: nothing is searched */
    zoom: number; /* the frame that fills the width */
    onZoom: (at: number) => void;
    onNext?: ((by: 1 | -1) => void) | undefined; /* to the next frame that is found */
    onMenu: (at: number, x: number, y: number) => void;
    upwards: boolean; /* the root at the bottom */
    epoch: unknown; /* changes when colours do (theme) */
}

const rowHeight = 18;

const stripe = { ink: "#000000", alpha: 0.28, width: 1.5, step: 5 };

/* Where the frames stand: the zoomed frame and those above it fill the width. */
interface Shape {
    width: number;
    height: number;
    rows: readonly number[][]; /* frames by depth, by their left edge */
    edges: (at: number) => [left: number, right: number];
    top: (depth: number) => number;
}

function useShape(
    { flame, zoom, upwards }: IcicleProps,
    scroll: RefObject<HTMLDivElement | null>,
): Shape {
    const [width, setWidth] = useState(800);
    const { frames } = flame;
    const root = frames[zoom] ?? frames[0]!;
    const height = (flame.depth + 1) * rowHeight + 2;
    useEffect(() => {
        const box = scroll.current!;
        const observer = new ResizeObserver(() => box.isConnected && setWidth(box.clientWidth));
        observer.observe(box);
        setWidth(box.clientWidth);
        return () => observer.disconnect();
    }, []);
    const rows = useMemo(() => {
        const list: number[][] = [];
        frames.forEach((frame, at) => (list[frame.depth] ??= []).push(at));
        for (const row of list) row.sort((a, b) => frames[a]!.start - frames[b]!.start);
        return list;
    }, [flame]);

    const isAbove = useMemo(() => {
        const above = new Set<number>();
        for (let at = zoom; at >= 0; at = frames[at]!.parent) above.add(at);
        return above;
    }, [flame, zoom]);

    const edges = (at: number): [number, number] => {
        if (isAbove.has(at)) return [0, width];
        const frame = frames[at]!;
        const scale = root.value ? width / root.value : 0;
        const left = (frame.start - root.start) * scale;
        return [left, left + frame.value * scale];
    };
    const top = (depth: number) => (upwards ? height - (depth + 1) * rowHeight : depth * rowHeight);
    return { width, height, rows, edges, top };
}

/* The frame at a point of the canvas; -1: none. */
function frameAt({ rows, edges, top }: Shape, x: number, y: number): number {
    const row = rows.find((_, depth) => y >= top(depth) && y < top(depth) + rowHeight);
    for (const at of row ?? []) {
        const [left, right] = edges(at);
        if (x >= left && x < right) return at;
    }
    return -1;
}

/* The frame to which an arrow key leads; -1: there is none; null: the key is no arrow. */
function neighbour(
    { flame: { frames }, upwards }: IcicleProps,
    rows: readonly number[][],
    focus: number,
    key: string,
): number | null {
    const depth = frames[focus]?.depth ?? 0,
        row = rows[depth] ?? [];
    const [outwards, inwards] = upwards ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    if (key === outwards) return frames[focus]!.parent;
    if (key === inwards)
        return (rows[depth + 1] ?? []).find((child) => frames[child]!.parent === focus) ?? -1;
    if (key === "ArrowRight") return row[row.indexOf(focus) + 1] ?? -1;
    if (key === "ArrowLeft") return row[row.indexOf(focus) - 1] ?? -1;
    return null;
}

/* Frames of less than a pixel are passed over. `chosen`: the frame with the keyboard's focus. */
function drawFrames(context: Brush, props: IcicleProps, shape: Shape, chosen: number): void {
    const ink = inkOf(context);
    for (const row of shape.rows)
        for (const at of row ?? []) {
            const [left, right] = shape.edges(at);
            if (right <= 0 || left >= shape.width) continue;
            const x = Math.max(0, left),
                width = Math.min(shape.width, right) - x;
            if (width < 0.6) continue;
            const y = shape.top(props.flame.frames[at]!.depth);
            drawFrame(context, props, ink, { at, x, y, width });
            if (at !== chosen) continue;
            context.strokeStyle = ink.text;
            context.strokeRect(x + 0.5, y + 0.5, width - 1, rowHeight - 2);
        }
}

interface Ink {
    ground: string;
    text: string;
    mark: string;
    sunk: string;
    dim: string;
    letter: number; /* px: the mean width of a letter */
}

function inkOf(context: Brush): Ink {
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    context.lineWidth = 1;
    return {
        ground: colour("ground"),
        text: colour("text"),
        mark: colour("data-6"),
        sunk: colour("sunk"),
        dim: colour("dim"),
        letter: context.measureText("abcdefgh").width / 8,
    };
}

interface Spot {
    at: number;
    x: number;
    y: number;
    width: number;
}

function drawFrame(context: Brush, props: IcicleProps, ink: Ink, { at, x, y, width }: Spot): void {
    const faded = props.matches && !props.matches[at];
    const fill = at === 0 || faded ? ink.sunk : props.fill(at);
    context.fillStyle = fill;
    context.fillRect(x, y, width, rowHeight - 1);
    if (!faded && width > stripe.step && props.striped?.(at)) {
        context.fillStyle = stripe.ink;
        context.globalAlpha = stripe.alpha;
        for (let line = x + 1; line < x + width - 1; line += stripe.step)
            context.fillRect(line, y, stripe.width, rowHeight - 1);
        context.globalAlpha = 1;
    }
    if (props.matches?.[at]) {
        context.fillStyle = ink.mark;
        context.fillRect(x, y + rowHeight - 4, width, 3);
    }
    if (width > 1.5) {
        context.fillStyle = ink.ground;
        context.fillRect(x + width - 0.5, y, 0.5, rowHeight - 1);
    }
    if (width <= 28) return;
    const room = Math.floor((width - 8) / ink.letter);
    const name = props.name(at);
    context.fillStyle = at === 0 ? ink.text : faded ? ink.dim : textColour(fill);
    context.fillText(
        name.length <= room ? name : name.slice(0, Math.max(1, room - 1)) + "…",
        x + 4,
        y + rowHeight / 2,
    );
}

export function Icicle(props: IcicleProps): JSX.Element {
    const { flame, zoom } = props;
    const scroll = useRef<HTMLDivElement>(null);
    const [focus, setFocus] = useState(0); /* for the keyboard */
    const [said, setSaid] =
        useState(-1); /* the frame that keys came to, for those who hear the page */
    const frames = flame.frames;
    const shape = useShape(props, scroll);
    const { height } = shape;

    /* At once: a key that comes before the next frame starts from the new focus. */
    useLayoutEffect(() => {
        setFocus(zoom);
        if (props.upwards && scroll.current) scroll.current.scrollTop = scroll.current.scrollHeight;
    }, [zoom, flame]);

    const canvas = useCanvas(
        ({ context }) => {
            const chosen = document.activeElement === scroll.current ? focus : -1;
            drawFrames(context, props, shape, chosen);
        },
        [
            flame,
            zoom,
            shape.width,
            height,
            props.matches,
            props.fill,
            focus,
            props.epoch,
            props.upwards,
        ],
    );

    const find = (event: MouseEvent): number => {
        const box = canvas.current!.getBoundingClientRect();
        return frameAt(shape, event.clientX - box.left, event.clientY - box.top);
    };
    /* The corner of a frame, on the screen. */
    const under = (at: number): [number, number] => {
        const box = canvas.current!.getBoundingClientRect();
        return [
            box.left + Math.max(0, shape.edges(at)[0]),
            box.top + shape.top(frames[at]!.depth) + rowHeight,
        ];
    };
    const reveal = (at: number) => {
        const box = scroll.current!,
            y = shape.top(frames[at]!.depth);
        if (y < box.scrollTop) box.scrollTop = y;
        else if (y + rowHeight > box.scrollTop + box.clientHeight)
            box.scrollTop = y + rowHeight - box.clientHeight;
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const next = neighbour(props, shape.rows, focus, event.key);
        if (next !== null) {
            if (next >= 0) {
                setFocus(next);
                reveal(next);
                setSaid(next);
                showTip(...under(next), props.tip(next));
            }
        } else if (props.onNext && (event.key === "n" || event.key === "N"))
            props.onNext(event.key === "n" ? 1 : -1);
        else if (event.key === "Enter") props.onZoom(focus);
        else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
            if (focus > 0) props.onMenu(focus, ...under(focus));
        } else if (event.key === "Escape") props.onZoom(0);
        else return;
        event.preventDefault();
    };
    return (
        <>
            <div class="visually-hidden" aria-live="polite">
                {said >= 0 && said === focus && said < frames.length && props.tip(said)}
            </div>
            {zoom > 0 && <Minimap {...props} />}
            <div
                class="chart icicle"
                ref={scroll}
                tabIndex={0}
                role="img"
                aria-label={props.label}
                onKeyDown={onKeyDown}
                onBlur={hideTip}>
                <div class="sized canvas-room" style={{ "--height": `${height}px` }}>
                    <canvas
                        ref={canvas}
                        onMouseMove={(event) => {
                            const at = find(event);
                            if (at < 0) hideTip();
                            else showTip(event.clientX, event.clientY, props.tip(at));
                        }}
                        onMouseLeave={hideTip}
                        onClick={(event) => {
                            const at = find(event);
                            if (at >= 0) props.onZoom(at);
                        }}
                        onContextMenu={(event) => {
                            const at = find(event);
                            if (at < 0) return;
                            event.preventDefault();
                            props.onMenu(at, event.clientX, event.clientY);
                        }}
                    />
                </div>
            </div>
        </>
    );
}

/* The picture as SVG: what is at least half a pixel wide at `width`. */
export function flameToSvg(
    flame: Flame,
    width: number,
    name: (at: number) => string,
    fill: (at: number) => string,
    striped: (at: number) => boolean = () => false,
): string {
    const escape = (text: string) =>
        text
            .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
            .replace(/[\u0000-\u0008\u000b-\u001f]/g, "\ufffd");
    const scale = flame.frames[0]!.value ? width / flame.frames[0]!.value : 0;
    const parts = [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}"` +
            ` height="${(flame.depth + 1) * rowHeight}" font-family="sans-serif" font-size="12">`,
        `<defs><pattern id="stripes" width="${stripe.step}" height="4" patternUnits="userSpaceOnUse">` +
            `<rect width="${stripe.width}" height="4" fill="${stripe.ink}"` +
            ` opacity="${stripe.alpha}"/></pattern></defs>`,
    ];
    flame.frames.forEach((frame, at) => {
        const w = frame.value * scale;
        if (w < 0.5) return;
        const x = frame.start * scale,
            y = frame.depth * rowHeight;
        const title = escape(name(at));
        const shown = Math.floor((w - 6) / 6.6);
        const area = `x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${rowHeight - 1}"`;
        parts.push(
            `<g><title>${title}</title><rect ${area} fill="${fill(at)}"/>` +
                (striped(at) ? `<rect ${area} fill="url(#stripes)"/>` : "") +
                (shown > 2
                    ? `<text x="${(x + 3).toFixed(2)}" y="${y + 13}" fill="${textColour(fill(at))}">` +
                      `${escape(name(at).slice(0, shown))}</text>`
                    : "") +
                "</g>",
        );
    });
    parts.push("</svg>");
    return parts.join("\n");
}
