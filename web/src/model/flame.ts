/* Builds flame graphs: all frames of one function below one caller become one frame. The tree is
 * built level by level from a list of call paths sorted by path. A frame that is narrower than
 * `least` of the whole gets no children, so that the work is bounded by what can be seen. */
import { atOnce, type Work } from "./slices.ts";
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
    inOrder?: boolean; /* siblings as their call paths were first seen; else largest first */
    more?: readonly ArrayLike<number>[]; /* columns by site that are added up for each frame too */
}

const OFTEN = 0xfff; /* sites between two moments at which the work can be left */

/* Frames of each site's path from the root inwards (or, inverted, outwards), without what is
 * hidden. Sites are kept as a list sorted by path so that each level groups neighbours. */
class Paths {
    readonly offset: Uint32Array; /* by site */
    readonly lines: Uint32Array;

    private constructor(offset: Uint32Array, lines: Uint32Array) {
        this.offset = offset;
        this.lines = lines;
    }

    static *of(
        tree: Tree,
        passes: TreePasses,
        sites: Uint32Array,
        options: FlameOptions,
    ): Work<Paths> {
        const { siteNode, parent, code, codeFirstLine, codeLineCount, lineKey, lineLibrary } = tree;
        const offset = new Uint32Array(siteNode.length + 1);
        const exclusive = yield* passes.exclusiveLinesInSlices(options.hide);
        let room = 1 << 16;
        let lines = new Uint32Array(room);
        let used = 0;
        for (const [at, site] of sites.entries()) {
            if ((at & OFTEN) === OFTEN) yield;
            const begin = used;
            for (let node = siteNode[site]!; node; node = parent[node]!) {
                const first = codeFirstLine[code[node]!]!,
                    count = codeLineCount[code[node]!]!;
                if (used + count + 2 > room) {
                    room = 2 * Math.max(room, used + count + 2);
                    const grown = new Uint32Array(room);
                    grown.set(lines);
                    lines = grown;
                }
                for (let line = first; line < first + count; line++) {
                    if (options.hide && lineLibrary[line] === 1) continue;
                    if (
                        options.collapse &&
                        used > begin &&
                        lineKey[lines[used - 1]!] === lineKey[line]
                    )
                        lines[used - 1] = line;
                    else lines[used++] = line;
                }
            }
            if (used + 2 > room) {
                room *= 2;
                const grown = new Uint32Array(room);
                grown.set(lines);
                lines = grown;
            }
            if (used === begin) lines[used++] = exclusive[site]!;
            if (!options.inverted) lines.subarray(begin, used).reverse();
            offset[site] = begin;
            lines[used++] = 0xffffffff; /* an end mark, so that a path's length need not be kept */
        }
        return new Paths(offset, lines);
    }
}

export function buildFlame(
    tree: Tree,
    passes: TreePasses,
    column: ArrayLike<number>,
    wanted: Wanted,
    options: FlameOptions,
): Flame {
    return atOnce(flameOf(tree, passes, column, wanted, options));
}

export function* flameOf(
    tree: Tree,
    passes: TreePasses,
    column: ArrayLike<number>,
    wanted: Wanted,
    options: FlameOptions,
): Work<Flame> {
    const count = tree.siteNode.length;
    const chosen = new Uint32Array(count);
    let sites = 0;
    let total = 0;
    for (let site = 0; site < count; site++) {
        if ((site & 0x3fff) === 0x3fff) yield;
        if ((!wanted || wanted[site]) && column[site]! > 0) {
            chosen[sites++] = site;
            total += column[site]!;
        }
    }
    const order = chosen.subarray(0, sites);
    yield;
    const paths = yield* Paths.of(tree, passes, order, options);
    const root: FlameFrame = {
        key: -1,
        line: -1,
        parent: -1,
        depth: 0,
        start: 0,
        value: total,
        self: 0,
        more: (options.more ?? []).map((each) => sumOf(each, order, 0, sites)),
    };
    const flame: Flame = { frames: [root], depth: 0, cut: 0 };
    const ranges: [number, number][] = [[0, sites]]; /* by frame: its sites in `order` */
    const least = total * options.least,
        work = new Grouping(tree.keyCount, sites);
    for (let at = 0; at < flame.frames.length; at++) {
        const frame = flame.frames[at]!;
        const [begin, end] = ranges[at]!;
        yield;
        ranges[at] = [0, 0];
        if (frame.value < least || flame.frames.length >= options.most) {
            if (begin !== end) flame.cut++;
            continue;
        }
        yield* openFrame(tree, paths, column, options, flame, ranges, order, work, at, begin, end);
    }
    for (const frame of flame.frames) flame.depth = Math.max(flame.depth, frame.depth);
    return flame;
}

/* What openFrame() works with, made once for all frames. */
class Grouping {
    readonly slot: Int32Array; /* by key: its group while a frame is opened; -1: none */
    readonly group: Uint32Array; /* by place in `order` */
    readonly sorted: Uint32Array; /* sites, to be put back into `order` */

    constructor(keyCount: number, sites: number) {
        this.slot = new Int32Array(keyCount).fill(-1);
        this.group = new Uint32Array(sites);
        this.sorted = new Uint32Array(sites);
    }
}
interface Group {
    key: number;
    line: number;
    value: number;
    count: number;
    place: number;
}
const NO_GROUP = 0xffffffff;

/* Gives a frame its children: groups its sites by their next line's function. */
function* openFrame(
    tree: Tree,
    paths: Paths,
    column: ArrayLike<number>,
    { more = [], inOrder = false }: FlameOptions,
    flame: Flame,
    ranges: [number, number][],
    order: Uint32Array,
    work: Grouping,
    at: number,
    begin: number,
    end: number,
): Work<void> {
    const frame = flame.frames[at]!,
        depth = frame.depth;
    const { lineKey } = tree,
        { lines, offset } = paths,
        { slot, group, sorted } = work;
    const groups: Group[] = [];
    let self = 0;
    for (let i = begin; i < end; i++) {
        if ((i & OFTEN) === OFTEN) yield;
        const site = order[i]!,
            line = lines[offset[site]! + depth]!,
            value = column[site]!;
        if (line === 0xffffffff) {
            self += value;
            group[i] = NO_GROUP;
            continue;
        }
        const key = lineKey[line]!;
        let number = slot[key]!;
        if (number < 0) {
            number = slot[key] = groups.length;
            groups.push({ key, line, value: 0, count: 0, place: 0 });
        }
        const found = groups[number]!;
        found.value += value;
        found.count++;
        group[i] = number;
    }
    frame.self = self;
    /* Sites rise inside a frame, and call paths have numbers in the order in which they were first
     * seen: so groups are in that order already. */
    const placed = inOrder
        ? groups
        : [...groups].sort((a, b) => b.value - a.value || a.key - b.key);
    let place = begin;
    for (const each of placed) {
        slot[each.key] = -1;
        each.place = place;
        place += each.count;
    }
    for (let i = begin; i < end; i++) {
        if ((i & OFTEN) === OFTEN) yield;
        if (group[i] !== NO_GROUP) sorted[groups[group[i]!]!.place++] = order[i]!;
    }
    order.set(sorted.subarray(begin, place), begin);
    let start = frame.start;
    for (const { key, line, value, count, place: to } of placed) {
        const from = to - count;
        flame.frames.push({
            key,
            line,
            parent: at,
            depth: depth + 1,
            start,
            value,
            self: 0,
            more: more.map((each) => sumOf(each, order, from, to)),
        });
        ranges.push([from, to]);
        start += value;
    }
}

function sumOf(column: ArrayLike<number>, order: Uint32Array, from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i++) sum += column[order[i]!]! || 0;
    return sum;
}

/* A name in an address: 24 bits of FNV-1a, so that siblings are told apart and a deep path is short. */
export function nameMark(name: string): string {
    let hash = 0x811c9dc5;
    for (let at = 0; at < name.length; at++)
        hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
    return ((hash ^ (hash >>> 24)) & 0xffffff).toString(36);
}

/* A frame as an address names it: by the names on its path from the root. Indices of frames change
 * with each metric, setting and recording; names stay. */
export function frameAddress(flame: Flame, at: number, name: (at: number) => string): string {
    const marks: string[] = [];
    for (let up = at; up > 0; up = flame.frames[up]!.parent) marks.push(nameMark(name(up)));
    return marks.reverse().join(".");
}

/* The frame of an address, or the nearest of its ancestors that there is. */
export function frameOfAddress(
    flame: Flame,
    address: string,
    name: (at: number) => string,
): { at: number; isWhole: boolean } {
    const marks = address ? address.split(".") : [];
    let at = 0,
        depth = 0;
    for (let next = 1; next < flame.frames.length && depth < marks.length; next++) {
        const frame = flame.frames[next]!;
        if (frame.parent !== at || nameMark(name(next)) !== marks[depth]) continue;
        at = next;
        depth++;
    }
    return { at, isWhole: depth === marks.length };
}
