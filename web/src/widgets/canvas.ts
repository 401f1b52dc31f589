/* A canvas that is as sharp as the screen and as large as its box. useCanvas() draws again, at
 * most once a frame, when the size or the inputs change. The same drawing can be repeated as SVG
 * (svg.ts). */
import { useEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import { SvgBrush, type Brush } from "./svg.ts";

export interface Surface {
    context: Brush;
    width: number;
    height: number;
}

const asked = new Map<
    HTMLCanvasElement,
    () => void
>(); /* what is to be painted in the next frame */

/* Paints it now. */
export function paintAsked(): void {
    for (const paint of [...asked.values()]) paint();
}

const drawings = new WeakMap<HTMLCanvasElement, (surface: Surface) => void>();

/* What stands on a canvas of useCanvas, as SVG. */
export function canvasToSvg(canvas: HTMLCanvasElement): string {
    const context = new SvgBrush(),
        width = canvas.clientWidth,
        height = canvas.clientHeight;
    drawings.get(canvas)?.({ context, width, height });
    return context.text(width, height, colour("ground"));
}

/* Calls `draw` when the box's size or anything in `inputs` changes, once a frame at most. Sizes in
 * CSS pixels. */
export function useCanvas(
    draw: (surface: Surface) => void,
    inputs: readonly unknown[],
): RefObject<HTMLCanvasElement | null> {
    const ref = useRef<HTMLCanvasElement>(null);
    useEffect(() => {
        const canvas = ref.current;
        const box = canvas?.parentElement;
        if (!canvas || !box) return;
        let frame = 0;
        drawings.set(canvas, draw);
        const paint = () => {
            cancelAnimationFrame(frame);
            frame = 0;
            asked.delete(canvas);
            const scale = devicePixelRatio || 1;
            const width = box.clientWidth,
                height = box.clientHeight;
            if (
                canvas.width !== Math.round(width * scale) ||
                canvas.height !== Math.round(height * scale)
            ) {
                canvas.width = Math.round(width * scale);
                canvas.height = Math.round(height * scale);
                canvas.style.width = `${width}px`;
                canvas.style.height = `${height}px`;
            }
            const context = canvas.getContext("2d");
            if (!context) return;
            context.setTransform(scale, 0, 0, scale, 0, 0);
            context.clearRect(0, 0, width, height);
            draw({ context, width, height });
        };
        const ask = () => {
            asked.set(canvas, paint);
            frame ||= requestAnimationFrame(paint);
        };
        ask();
        const observer = new ResizeObserver(ask);
        observer.observe(box);
        return () => {
            observer.disconnect();
            cancelAnimationFrame(frame);
            asked.delete(canvas);
        };
    }, inputs as unknown[]);
    return ref;
}

/* A colour of the theme, as it is now. */
export function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
