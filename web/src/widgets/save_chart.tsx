/* The buttons below a chart: its picture as PNG or SVG, and its numbers as CSV. csvCell() quotes
 * a cell, and keeps spreadsheets from reading it as a formula. */
import type { ComponentChildren, JSX } from "preact";
import { canvasToSvg } from "./canvas.ts";
import { saveCanvas, saveText } from "./save.ts";

export function SaveChart({
    name,
    canvas,
    svg,
    csv,
    children,
}: {
    name: string;
    canvas: () => HTMLCanvasElement | null | undefined;
    svg?: () => string;
    csv: () => string;
    children?: ComponentChildren;
}): JSX.Element {
    const picture = () => {
        const of = canvas();
        if (of) saveText(`${name}.svg`, "image/svg+xml", svg ? svg() : canvasToSvg(of));
    };
    return (
        <div class="legend">
            {children}
            <span class="spring" />
            <span class="together">
                <button class="plain" onClick={() => saveCanvas(`${name}.png`, canvas())}>
                    PNG
                </button>
                <button class="plain" onClick={picture}>
                    SVG
                </button>
                <button class="plain" onClick={() => saveText(`${name}.csv`, "text/csv", csv())}>
                    CSV
                </button>
            </span>
        </div>
    );
}

/* A cell of CSV: quoted where it must be, and never a formula. */
export function csvCell(value: string | number): string {
    if (typeof value === "number") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? "'" + value : value;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
