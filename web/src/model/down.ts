/* The call tree as rows of a table. The rows are the frames of a flame graph whose callers are
 * all open. A frame opens by hand, or by itself where it has at least half of the whole. */
import type { Flame } from "./flame.ts";

export interface DownRow {
    at: number;
    level: number;
    open: boolean | null;
}

/* Frames by their parent, largest first (they stand so in a flame graph). */
export function childrenOf(flame: Flame): number[][] {
    const children: number[][] = flame.frames.map(() => []);
    flame.frames.forEach((frame, at) => {
        if (frame.parent >= 0) children[frame.parent]!.push(at);
    });
    return children;
}

/* All frames in the order of rows that are all open. */
export function depthFirst(flame: Flame, children: readonly number[][]): number[] {
    const order: number[] = [],
        todo = flame.frames.length ? [0] : [];
    while (todo.length) {
        const at = todo.pop()!;
        order.push(at);
        for (let child = children[at]!.length - 1; child >= 0; child--)
            todo.push(children[at]![child]!);
    }
    return order;
}

/* `turned`: frames that were opened or closed by hand; others are open as far as one call is most
 * of what its caller has. */
export function downRows(
    flame: Flame,
    children: readonly number[][],
    turned: ReadonlyMap<number, boolean>,
): DownRow[] {
    const rows: DownRow[] = [];
    const total = flame.frames[0]!.value;
    const todo: number[] = [0];
    while (todo.length) {
        const at = todo.pop()!,
            frame = flame.frames[at]!,
            below = children[at]!;
        const open =
            below.length === 0
                ? null
                : (turned.get(at) ??
                  (at === 0 || (frame.depth < 24 && frame.value >= 0.5 * total)));
        rows.push({ at, level: frame.depth, open });
        if (open) for (let child = below.length - 1; child >= 0; child--) todo.push(below[child]!);
    }
    return rows;
}
