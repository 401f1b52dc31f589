/* All of a flame graph, a few pixels high, while a frame of it fills the width: where that is, and a
 * click to somewhere else. Keys do the same in the graph itself. */
import type { JSX } from "preact";
import type { Flame } from "../model/flame.ts";
import { colour, useCanvas } from "./canvas.ts";

export interface MinimapProps {
    flame: Flame;
    fill: (at: number) => string;
    zoom: number;
    onZoom: (at: number) => void;
    upwards: boolean;
    epoch: unknown;
}

const HEIGHT = 48;

/* The frame at a depth over a place from 0 to 1 of the whole width, or the innermost above it. */
export function frameOver(flame: Flame, depth: number, place: number): number {
    const { frames } = flame,
        x = place * frames[0]!.value;
    let best = 0;
    frames.forEach((frame, at) => {
        if (frame.depth > depth || frame.depth < frames[best]!.depth) return;
        if (x >= frame.start && x < frame.start + frame.value) best = at;
    });
    return best;
}

export function Minimap(props: MinimapProps): JSX.Element {
    const { flame, zoom, upwards } = props;
    const rowHeight = HEIGHT / (flame.depth + 1);
    const top = (depth: number) => (upwards ? flame.depth - depth : depth) * rowHeight;
    const canvas = useCanvas(
        ({ context, width }) => {
            const scale = flame.frames[0]!.value ? width / flame.frames[0]!.value : 0;
            flame.frames.forEach((frame, at) => {
                const wide = frame.value * scale;
                if (!at || wide < 0.5) return;
                context.fillStyle = props.fill(at);
                context.fillRect(frame.start * scale, top(frame.depth), wide, rowHeight);
            });
            const shown = flame.frames[zoom]!;
            context.strokeStyle = colour("text");
            context.lineWidth = 2;
            context.strokeRect(
                shown.start * scale + 1,
                1,
                Math.max(3, shown.value * scale - 2),
                HEIGHT - 2,
            );
        },
        [flame, zoom, props.fill, props.epoch, upwards],
    );
    return (
        <div class="minimap" data-minimap>
            <canvas
                ref={canvas}
                aria-hidden="true"
                title="All of the graph: a click leads there"
                onClick={(event) => {
                    const at = canvas.current!.getBoundingClientRect();
                    const row = Math.floor((event.clientY - at.top) / rowHeight);
                    props.onZoom(
                        frameOver(
                            flame,
                            upwards ? flame.depth - row : row,
                            (event.clientX - at.left) / at.width,
                        ),
                    );
                }}
            />
        </div>
    );
}
