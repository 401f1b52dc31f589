/* Call trees of functions, merged: frames of one function below one caller are one. Built by levels
 * and only as far as it can be seen: what is narrower than `least` of the whole has no children. */
import type { Tree, TreePasses, Wanted } from "./tree.ts";

export interface FlameFrame {
    key: number; /* function key; of the root -1 */
    line: number; /* the first one seen: where it is */
    parent: number; /* index, smaller than its own; of the root -1 */
    depth: number;
    start: number; /* where it begins, in units of the metric from the root's left edge */
    value: number; /* inclusive */
    self: number; /* exclusive */
    more: readonly number[]; /* inclusive, of FlameOptions.more */
}

export interface Flame {
    frames: FlameFrame[]; /* [0] is the root */
    depth: number;
    cut: number; /* frames that were too narrow to be opened */
}

export interface FlameOptions {
    hide: boolean;
    collapse: boolean; /* direct recursion as one frame */
    least: number; /* share of the whole */
    most: number; /* frames */
    inverted: boolean; /* from where memory is asked for to main() */
    more?: readonly ArrayLike<number>[]; /* columns by site that are added up for each frame too */
}

/* Frames of each site's path from the root inwards (or, inverted, outwards), without what is hidden.
 * Sites are kept as a list sorted by path so that each level groups neighbours. */
class Paths {
    readonly offset: Uint32Array; /* by site */
    readonly lines: Uint32Array;

    constructor(tree: Tree, passes: TreePasses, sites: Uint32Array, options: FlameOptions) {
        const { siteNode, parent, code, codeFirstLine, codeLineCount, lineKey, lineLibrary } = tree;
        this.offset = new Uint32Array(siteNode.length + 1);
        const exclusive = passes.exclusiveLines(options.hide);
        let room = 1 << 16;
        let lines = new Uint32Array(room);
        let used = 0;
        const buffer: number[] = [];
        for (const site of sites) {
            buffer.length = 0;
            for (let node = siteNode[site]!; node; node = parent[node]!) {
                const first = codeFirstLine[code[node]!]!;
                const end = first + codeLineCount[code[node]!]!;
                for (let line = first; line < end; line++) {
                    if (options.hide && lineLibrary[line] === 1) continue;
                    if (options.collapse && buffer.length &&
                        lineKey[buffer[buffer.length - 1]!] === lineKey[line])
                        buffer[buffer.length - 1] = line;
                    else buffer.push(line);
                }
            }
            if (!buffer.length) buffer.push(exclusive[site]!);
            if (!options.inverted) buffer.reverse();
            if (used + buffer.length > room) {
                room = Math.max(2 * room, used + buffer.length);
                const grown = new Uint32Array(room);
                grown.set(lines);
                lines = grown;
            }
            this.offset[site] = used;
            for (const line of buffer) lines[used++] = line;
            /* an end mark, so that a path's length need not be kept */
            if (used === room) {
                const grown = new Uint32Array(2 * room);
                grown.set(lines);
                lines = grown;
                room *= 2;
            }
            lines[used++] = 0xffffffff;
        }
        this.lines = lines;
    }
}

export function buildFlame(tree: Tree, passes: TreePasses, column: ArrayLike<number>, wanted: Wanted,
                           options: FlameOptions): Flame {
    const count = tree.siteNode.length;
    const chosen = new Uint32Array(count);
    let sites = 0;
    let total = 0;
    for (let site = 0; site < count; site++)
        if ((!wanted || wanted[site]) && column[site]! > 0) {
            chosen[sites++] = site;
            total += column[site]!;
        }
    const order = chosen.subarray(0, sites);
    const paths = new Paths(tree, passes, order, options);
    const root: FlameFrame = { key: -1, line: -1, parent: -1, depth: 0, start: 0, value: total, self: 0, more: [] };
    const flame: Flame = { frames: [root], depth: 0, cut: 0 };
    const ranges: [number, number][] = [[0, sites]]; /* by frame: its sites in `order` */
    const least = total * options.least;
    for (let at = 0; at < flame.frames.length; at++) {
        const frame = flame.frames[at]!;
        const [begin, end] = ranges[at]!;
        ranges[at] = [0, 0];
        if (frame.value < least || flame.frames.length >= options.most) {
            if (begin !== end) flame.cut++;
            continue;
        }
        openFrame(tree, paths, column, options.more ?? [], flame, ranges, order, at, begin, end);
    }
    for (const frame of flame.frames) flame.depth = Math.max(flame.depth, frame.depth);
    return flame;
}

/* Gives a frame its children: groups its sites by their next line's function. */
function openFrame(tree: Tree, paths: Paths, column: ArrayLike<number>, more: readonly ArrayLike<number>[], flame: Flame,
                   ranges: [number, number][], order: Uint32Array, at: number, begin: number,
                   end: number): void {
    const frame = flame.frames[at]!;
    const groups = new Map<number, { line: number; value: number; sites: number[] }>();
    let self = 0;
    for (let i = begin; i < end; i++) {
        const site = order[i]!;
        const line = paths.lines[paths.offset[site]! + frame.depth]!;
        const value = column[site]!;
        if (line === 0xffffffff) {
            self += value;
            continue;
        }
        const key = tree.lineKey[line]!;
        let group = groups.get(key);
        if (!group) groups.set(key, (group = { line, value: 0, sites: [] }));
        group.value += value;
        group.sites.push(site);
    }
    frame.self = self;
    const sorted = [...groups].sort((a, b) => b[1].value - a[1].value || a[0] - b[0]);
    let start = frame.start;
    let place = begin;
    for (const [key, group] of sorted) {
        const from = place;
        for (const site of group.sites) order[place++] = site;
        flame.frames.push({ key, line: group.line, parent: at, depth: frame.depth + 1, start,
                            value: group.value, self: 0, more: more.map((each) => group.sites.reduce((sum, site) => sum + (each[site]! || 0), 0)) });
        ranges.push([from, place]);
        start += group.value;
    }
}
