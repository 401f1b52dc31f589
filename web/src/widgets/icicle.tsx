/* A flame graph on a canvas: 100,000 frames, drawn only where they are at least a pixel wide. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { Flame } from "../model/flame.ts";
import { textColour } from "../model/palette.ts";
import { useCanvas, colour } from "./canvas.ts";
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
    onMenu: (at: number, x: number, y: number) => void;
    upwards: boolean; /* the root at the bottom */
    epoch: unknown; /* changes when colours do (theme) */
}

const rowHeight = 18;

const stripe = { ink: "#000000", alpha: 0.28, width: 1.5, step: 5 };

export function Icicle(props: IcicleProps): JSX.Element {
    const { flame, zoom } = props;
    const scroll = useRef<HTMLDivElement>(null);
    const [width, setWidth] = useState(800);
    const [focus, setFocus] = useState(0); /* for the keyboard */
    const [said, setSaid] = useState(-1); /* the frame that keys came to, for those who hear the page */
    const frames = flame.frames;
    const root = frames[zoom] ?? frames[0]!;
    const height = (flame.depth + 1) * rowHeight + 2;

    useEffect(() => {
        const box = scroll.current!;
        const observer = new ResizeObserver(() => box.isConnected && setWidth(box.clientWidth));
        observer.observe(box);
        setWidth(box.clientWidth);
        return () => observer.disconnect();
    }, []);
    useEffect(() => {
        setFocus(zoom);
        if (props.upwards && scroll.current) scroll.current.scrollTop = scroll.current.scrollHeight;
    }, [zoom, flame]);

    /* Frames by row, by their left edge: for finding what is under the pointer. */
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
    const rowTop = (depth: number) => (props.upwards ? height - (depth + 1) * rowHeight : depth * rowHeight);

    const canvas = useCanvas(({ context }) => {
        const ground = colour("ground"), ink = colour("text"), markColour = colour("data-6"), sunk = colour("sunk"), dim = colour("dim");
        context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
        context.textBaseline = "middle";
        context.lineWidth = 1;
        const charWidth = context.measureText("abcdefgh").width / 8;
        for (const row of rows) {
            for (const at of row ?? []) {
                const [left, right] = edges(at);
                if (right <= 0 || left >= width) continue;
                const x = Math.max(0, left), w = Math.min(width, right) - x;
                if (w < 0.6) continue;
                const y = rowTop(frames[at]!.depth);
                const faded = props.matches && !props.matches[at];
                const fill = at === 0 ? sunk : faded ? sunk : props.fill(at);
                context.fillStyle = fill;
                context.fillRect(x, y, w, rowHeight - 1);
                if (!faded && w > stripe.step && props.striped?.(at)) {
                    context.fillStyle = stripe.ink;
                    context.globalAlpha = stripe.alpha;
                    for (let line = x + 1; line < x + w - 1; line += stripe.step) context.fillRect(line, y, stripe.width, rowHeight - 1);
                    context.globalAlpha = 1;
                }
                if (props.matches?.[at]) {
                    context.fillStyle = markColour;
                    context.fillRect(x, y + rowHeight - 4, w, 3);
                }
                if (w > 1.5) {
                    context.fillStyle = ground;
                    context.fillRect(x + w - 0.5, y, 0.5, rowHeight - 1);
                }
                if (at === focus && document.activeElement === scroll.current) {
                    context.strokeStyle = ink;
                    context.strokeRect(x + 0.5, y + 0.5, w - 1, rowHeight - 2);
                }
                if (w > 28) {
                    const room = Math.floor((w - 8) / charWidth);
                    const name = props.name(at);
                    context.fillStyle = at === 0 ? ink : faded ? dim : textColour(fill);
                    context.fillText(name.length <= room ? name : name.slice(0, Math.max(1, room - 1)) + "…", x + 4, y + rowHeight / 2);
                }
            }
        }
    }, [flame, zoom, width, height, props.matches, props.fill, focus, props.epoch, props.upwards]);

    const find = (event: MouseEvent): number => {
        const box = canvas.current!.getBoundingClientRect();
        const x = event.clientX - box.left, y = event.clientY - box.top;
        const depth = Math.floor(props.upwards ? (height - y) / rowHeight : y / rowHeight);
        for (const at of rows[depth] ?? []) {
            const [left, right] = edges(at);
            if (x >= left && x < right) return at;
        }
        return -1;
    };
    const firstChild = (at: number) => (rows[frames[at]!.depth + 1] ?? []).find((child) => frames[child]!.parent === at) ?? -1;
    const under = (at: number): [number, number] => { /* the corner of a frame, on the screen */
        const box = canvas.current!.getBoundingClientRect();
        return [box.left + Math.max(0, edges(at)[0]), box.top + rowTop(frames[at]!.depth) + rowHeight];
    };
    const reveal = (at: number) => {
        const box = scroll.current!, y = rowTop(frames[at]!.depth);
        if (y < box.scrollTop) box.scrollTop = y;
        else if (y + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y + rowHeight - box.clientHeight;
    };
    const openMenu = () => focus > 0 && props.onMenu(focus, ...under(focus));
    const onKeyDown = (event: KeyboardEvent) => {
        const row = rows[frames[focus]?.depth ?? 0] ?? [];
        const outwards = props.upwards ? "ArrowDown" : "ArrowUp", inwards = props.upwards ? "ArrowUp" : "ArrowDown";
        let next = -1;
        if (event.key === outwards) next = frames[focus]!.parent;
        else if (event.key === inwards) next = firstChild(focus);
        else if (event.key === "ArrowRight") next = row[row.indexOf(focus) + 1] ?? -1;
        else if (event.key === "ArrowLeft") next = row[row.indexOf(focus) - 1] ?? -1;
        else if (event.key === "Enter") props.onZoom(focus);
        else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) openMenu();
        else if (event.key === "Escape") props.onZoom(0);
        else return;
        event.preventDefault();
        if (next < 0) return;
        setFocus(next);
        reveal(next);
        setSaid(next);
        showTip(...under(next), props.tip(next));
    };
    return (
        <>
        <div class="visually-hidden" aria-live="polite">{said >= 0 && said === focus && said < frames.length && props.tip(said)}</div>
        <div class="chart icicle" ref={scroll} tabIndex={0} role="img" aria-label={props.label}
            style={{ overflow: "auto", flex: 1, minHeight: 0 }} onKeyDown={onKeyDown} onBlur={hideTip}>
            <div style={{ height: `${height}px`, position: "relative" }}>
                <canvas ref={canvas}
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
                    }} />
            </div>
        </div>
        </>
    );
}

/* The picture as SVG: what is at least half a pixel wide at `width`. */
export function flameToSvg(flame: Flame, width: number, name: (at: number) => string, fill: (at: number) => string, striped: (at: number) => boolean = () => false): string {
    const escape = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b-\u001f]/g, "\ufffd");
    const scale = flame.frames[0]!.value ? width / flame.frames[0]!.value : 0;
    const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${(flame.depth + 1) * rowHeight}" font-family="sans-serif" font-size="12">`,
        `<defs><pattern id="stripes" width="${stripe.step}" height="4" patternUnits="userSpaceOnUse"><rect width="${stripe.width}" height="4" fill="${stripe.ink}" opacity="${stripe.alpha}"/></pattern></defs>`];
    flame.frames.forEach((frame, at) => {
        const w = frame.value * scale;
        if (w < 0.5) return;
        const x = frame.start * scale, y = frame.depth * rowHeight;
        const title = escape(name(at));
        const shown = Math.floor((w - 6) / 6.6);
        const area = `x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${rowHeight - 1}"`;
        parts.push(`<g><title>${title}</title><rect ${area} fill="${fill(at)}"/>` + (striped(at) ? `<rect ${area} fill="url(#stripes)"/>` : "") +
            (shown > 2 ? `<text x="${(x + 3).toFixed(2)}" y="${y + 13}" fill="${textColour(fill(at))}">${escape(name(at).slice(0, shown))}</text>` : "") + "</g>");
    });
    parts.push("</svg>");
    return parts.join("\n");
}
