/* A treemap of two levels on a canvas. squarify() lays out boxes that are as near to squares as
 * possible (Bruls, Huizing, van Wijk, "Squarified Treemaps", 2000). */
import { useMemo, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { theme } from "../state/theme.ts";
import { colour, useCanvas } from "./canvas.ts";
import { csvCell, SaveChart } from "./save_chart.tsx";
import { hideTip, showTip } from "./tooltip.tsx";

export interface TreemapGroup {
    name: string;
    value: number;
    tone?: string; /* of the theme; else groups have hues by their size */
    children: readonly { name: string; value: number }[];
}
export interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

/* Boxes of the values (largest first), as near to squares as rows of them can be, that fill
 * `box`. */
export function squarify(values: readonly number[], box: Box): Box[] {
    const total = values.reduce((sum, value) => sum + value, 0);
    const boxes: Box[] = [];
    let { x, y, width, height } = box;
    const scale = total > 0 ? (width * height) / total : 0;
    const worst = (areas: readonly number[], side: number) => {
        const sum = areas.reduce((a, b) => a + b, 0);
        return Math.max(
            (side * side * areas[0]!) / (sum * sum),
            (sum * sum) / (side * side * areas[areas.length - 1]!),
        );
    };
    let at = 0;
    while (at < values.length) {
        const side = Math.min(width, height);
        const row: number[] = [];
        while (at + row.length < values.length) {
            const next = values[at + row.length]! * scale;
            if (next <= 0 || side <= 0) break;
            if (row.length && worst([...row, next], side) > worst(row, side)) break;
            row.push(next);
        }
        if (!row.length) {
            boxes.push({ x, y, width: 0, height: 0 });
            at++;
            continue;
        }
        const thick = row.reduce((a, b) => a + b, 0) / side;
        let along = 0;
        for (const area of row) {
            const long = area / thick;
            boxes.push(
                width >= height
                    ? { x, y: y + along, width: thick, height: long }
                    : { x: x + along, y, width: long, height: thick },
            );
            along += long;
        }
        if (width >= height) {
            x += thick;
            width = Math.max(0, width - thick);
        } else {
            y += thick;
            height = Math.max(0, height - thick);
        }
        at += row.length;
    }
    return boxes;
}

export function Treemap({
    name,
    label,
    groups,
    height,
    format,
}: {
    name: string;
    label: string;
    groups: readonly TreemapGroup[];
    height: number;
    format: (value: number) => string;
}): JSX.Element {
    const sorted = useMemo(() => [...groups].sort((a, b) => b.value - a.value), [groups]);
    const placed = useRef<{ box: Box; title: string }[]>([]);
    const canvas = useCanvas(
        ({ context, width, height: tall }) => {
            const dark = theme.value === "dark";
            placed.current = [];
            const outer = squarify(
                sorted.map((group) => group.value),
                { x: 0, y: 0, width, height: tall },
            );
            context.font = "11px sans-serif";
            context.textBaseline = "top";
            sorted.forEach((group, number) => {
                const box = outer[number]!;
                if (box.width < 1 || box.height < 1) return;
                const hue = (number * 137) % 360;
                const children = [...group.children].sort((a, b) => b.value - a.value);
                const inner = squarify(
                    children.map((child) => child.value),
                    {
                        x: box.x + 1,
                        y: box.y + 1,
                        width: Math.max(0, box.width - 2),
                        height: Math.max(0, box.height - 2),
                    },
                );
                children.forEach((child, at) => {
                    const place = inner[at]!;
                    if (place.width < 1 || place.height < 1) return;
                    context.globalAlpha = group.tone ? 0.3 + (at % 3) * 0.08 : 1;
                    context.fillStyle = group.tone
                        ? colour(group.tone)
                        : `hsl(${hue} ${dark ? "30% " + (24 + (at % 3) * 4) : "45% " + (80 - (at % 3) * 4)}%)`;
                    context.fillRect(
                        place.x,
                        place.y,
                        Math.max(1, place.width - 1),
                        Math.max(1, place.height - 1),
                    );
                    context.globalAlpha = 1;
                    placed.current.push({
                        box: place,
                        title: `${child.name} · ${format(child.value)} · ${group.name}`,
                    });
                    if (place.width > 40 && place.height > 14) {
                        context.fillStyle = colour("text");
                        const room = Math.floor((place.width - 6) / 6.2);
                        context.fillText(
                            child.name.length > room
                                ? child.name.slice(0, Math.max(1, room - 1)) + "…"
                                : child.name,
                            place.x + 3,
                            place.y + 2,
                        );
                    }
                });
            });
        },
        [sorted, height, theme.value],
    );
    return (
        <>
            <div class="chart sized" style={{ "--height": `${height}px` }}>
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label={label}
                    onMouseLeave={hideTip}
                    onMouseMove={(event) => {
                        const box = canvas.current!.getBoundingClientRect();
                        const x = event.clientX - box.left,
                            y = event.clientY - box.top;
                        const hit = placed.current.find(
                            ({ box: at }) =>
                                x >= at.x &&
                                x < at.x + at.width &&
                                y >= at.y &&
                                y < at.y + at.height,
                        );
                        if (hit) showTip(event.clientX, event.clientY, hit.title);
                        else hideTip();
                    }}
                />
            </div>
            <SaveChart
                name={name}
                canvas={() => canvas.current}
                csv={() =>
                    "group,name,value\n" +
                    sorted
                        .flatMap((group) =>
                            group.children.map(
                                (child) =>
                                    `${csvCell(group.name)},${csvCell(child.name)},${child.value}\n`,
                            ),
                        )
                        .join("")
                }
            />
        </>
    );
}
