/* The call tree of a profile in typed arrays, and the passes over it that every view is made of. A
 * pass over a million nodes takes a few ten milliseconds.
 *
 * Node 0 is the root, and a parent comes before its children. A node is one return address (its
 * code), which stands for one frame or more (lines: inlined calls, innermost first). What is listed
 * as one function has a key (src/analysis/aggregate/functions.h): an index of `functions`, or a
 * number behind them. */
import { atOnce, SharedWork, type Work } from "./slices.ts";
import { Listing, strandsOf, sumsOf, type Strands } from "./strands.ts";

export interface Tree {
    nodeCount: number;
    parent: Uint32Array; /* by node */
    code: Uint32Array; /* by node */
    codeFirstLine: Uint32Array; /* by code: into the lines */
    codeLineCount: Uint32Array;
    codeModule: Int32Array; /* -1: none */
    lineKey: Uint32Array; /* by line: its function's key, right for any code that it stands in */
    lineFile: Int32Array; /* by line: index of files, -1: not known */
    lineNumber: Uint32Array; /* 0: not known */
    lineLibrary: Uint8Array; /* 1: a frame of the C, C++ or Rust library, or of a wrapper */
    lineWrapper: Uint8Array; /* 1: a frame of a function that only passes memory on */
    siteNode: Uint32Array; /* by site */
    keyCount: number;
}

/* Nodes or sites between two moments at which a pass can be left: a millisecond at most. */
const OFTEN = 0x3fff;

/* By node: its first child, and its parent's next one; 0: none. */
interface Links {
    firstChild: Uint32Array;
    next: Uint32Array;
}

/* Keys by number, and the numbers by strand. */
export interface Calls {
    from: readonly number[];
    to: readonly number[];
    listing: Listing;
}

/* Which sites count; null: all. By site. */
export type Wanted = Uint8Array | null;

export class TreePasses {
    readonly tree: Tree;
    #links: Links | null = null;
    readonly #listings = [
        new WeakMap<Uint32Array, Listing>(),
        new WeakMap<Uint32Array, Listing>(),
    ] as const; /* [hidden lines left out] */
    #strands: Strands | null = null;
    readonly #exclusive = new Map<boolean, Uint32Array>();

    constructor(tree: Tree) {
        this.tree = tree;
    }

    /* Made for who walks downwards: most views do not. */
    *#linksInSlices(): Work<Links> {
        if (this.#links) return this.#links;
        const { parent, nodeCount } = this.tree;
        const firstChild = new Uint32Array(nodeCount),
            next = new Uint32Array(nodeCount);
        for (let node = nodeCount - 1; node > 0; node--) {
            if ((node & OFTEN) === 0) yield;
            next[node] = firstChild[parent[node]!]!;
            firstChild[parent[node]!] = node;
        }
        return (this.#links = { firstChild, next });
    }

    /* By node: its site; -1: it has none. */
    #sites: Int32Array | null = null;
    siteOfNode(): Int32Array {
        return atOnce(this.siteOfNodeInSlices());
    }
    *siteOfNodeInSlices(): Work<Int32Array> {
        if (this.#sites) return this.#sites;
        const sites = new Int32Array(this.tree.nodeCount).fill(-1),
            { siteNode } = this.tree;
        for (let site = 0; site < siteNode.length; site++) {
            if ((site & OFTEN) === OFTEN) yield;
            sites[siteNode[site]!] = site;
        }
        return (this.#sites = sites);
    }
    /* Of single nodes: sites rise by node (doc/API.md), and are found without a list of all nodes. */
    #isRising: boolean | null = null;
    siteOf(node: number): number {
        const { siteNode } = this.tree;
        this.#isRising ??= siteNode.every((each, at) => at === 0 || siteNode[at - 1]! <= each);
        if (this.#sites || !this.#isRising) return this.siteOfNode()[node] ?? -1;
        let low = 0,
            high = siteNode.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (siteNode[middle]! <= node) low = middle + 1;
            else high = middle;
        }
        return low > 0 && siteNode[low - 1] === node ? low - 1 : -1;
    }

    /* Walks that several views may ask for at a time. */
    readonly #walks = new SharedWork();
    readonly #expecting = [new SharedWork(), new SharedWork()] as const; /* by grouping */
    *strandsInSlices(): Work<Strands> {
        return (this.#strands ??= yield* this.#walks.of("strands", () => strandsOf(this.tree)));
    }

    /* A column that merges by sum, by strand, with all that is below it. Not to be written to:
     * several groupings are made of one. */
    #sums: { column: ArrayLike<number>; wanted: Wanted; values: Float64Array } | null = null;
    *sumsInSlices(column: ArrayLike<number>, wanted: Wanted): Work<Float64Array> {
        if (this.#sums?.column === column && this.#sums.wanted === wanted) return this.#sums.values;
        const values = yield* sumsOf(yield* this.strandsInSlices(), column, wanted);
        this.#sums = { column, wanted, values };
        return values;
    }

    #isHidden(line: number, hide: boolean): boolean {
        return hide && this.tree.lineLibrary[line] === 1;
    }

    /* By site: the line that its path is listed under: the innermost frame that is not hidden, or
     * the innermost of all where every frame is. */
    exclusiveLines(hide: boolean): Uint32Array {
        return atOnce(this.exclusiveLinesInSlices(hide));
    }
    *exclusiveLinesInSlices(hide: boolean): Work<Uint32Array> {
        const known = this.#exclusive.get(hide);
        if (known) return known;
        const { siteNode, parent, code, codeFirstLine, codeLineCount } = this.tree;
        const lines = new Uint32Array(siteNode.length);
        for (let site = 0; site < siteNode.length; site++) {
            if ((site & OFTEN) === OFTEN) yield;
            const leaf = siteNode[site]!;
            lines[site] = codeFirstLine[code[leaf]!]!;
            search: for (let node = leaf; node; node = parent[node]!) {
                const first = codeFirstLine[code[node]!]!;
                const end = first + codeLineCount[code[node]!]!;
                for (let line = first; line < end; line++)
                    if (!this.#isHidden(line, hide)) {
                        lines[site] = line;
                        break search;
                    }
            }
        }
        this.#exclusive.set(hide, lines);
        return lines;
    }

    /* The line of the wrapper that the line of a path asked through, the nearest; -1: it asked by
     * itself. */
    wrapperLine(node: number, owner: number): number {
        const { parent, code, codeFirstLine, codeLineCount, lineWrapper } = this.tree;
        let wrapper = -1;
        for (; node; node = parent[node]!) {
            const first = codeFirstLine[code[node]!]!,
                end = first + codeLineCount[code[node]!]!;
            for (let line = first; line < end; line++) {
                if (line === owner) return wrapper;
                if (lineWrapper[line]) wrapper = line;
            }
        }
        return -1;
    }

    /* By key: the line of the wrapper that all paths listed under it asked through; -1: they have none
     * in common. */
    wrapperLines(hide: boolean): Int32Array {
        return atOnce(this.wrapperLinesInSlices(hide));
    }
    *wrapperLinesInSlices(hide: boolean): Work<Int32Array> {
        const { siteNode, keyCount, lineKey } = this.tree;
        const lines = yield* this.exclusiveLinesInSlices(hide),
            wrappers = new Int32Array(keyCount).fill(-2);
        for (let site = 0; site < siteNode.length; site++) {
            if ((site & OFTEN) === OFTEN) yield;
            const key = lineKey[lines[site]!]!,
                had = wrappers[key]!;
            if (had === -1) continue;
            const line = this.wrapperLine(siteNode[site]!, lines[site]!);
            wrappers[key] = line >= 0 && (had === -2 || lineKey[had] === lineKey[line]) ? line : -1;
        }
        return wrappers.map((line) => Math.max(-1, line));
    }

    /* By strand: the groups of its lines that are the first of their group on the way from the root. (Recursion
     * counts once: only there the inclusive value is added.) */
    *#firstOnWay(groups: Uint32Array, groupCount: number, hide: boolean): Work<Listing> {
        yield* this.expectInSlices([[groups, groupCount]], hide);
        return this.#listings[hide ? 1 : 0].get(groups)!;
    }

    /* Walks the tree once for several groupings of lines that are going to be asked for. Written
     * out, where walk() would call for each node: a million nodes in a third of the time. */
    *expectInSlices(
        groupings: readonly (readonly [groups: Uint32Array, groupCount: number])[],
        hide: boolean,
    ): Work<void> {
        const listings = this.#listings[hide ? 1 : 0],
            leftOf = () => groupings.filter(([groups]) => !listings.has(groups));
        for (let left = leftOf(); left.length; left = leftOf())
            yield* this.#expecting[hide ? 1 : 0].of(left[0]![0], () => this.#expected(left, hide));
    }

    *#expected(
        groupings: readonly (readonly [groups: Uint32Array, groupCount: number])[],
        hide: boolean,
    ): Work<void> {
        const { parent, code, codeFirstLine, codeLineCount, lineLibrary, nodeCount } = this.tree;
        const { firstChild, next } = yield* this.#linksInSlices();
        const { count: strands, ofNode } = yield* this.strandsInSlices();
        const listings = groupings.map(() => new Listing(strands, nodeCount)),
            onWay = groupings.map(([, count]) => new Uint32Array(count));
        const groups = groupings.map(([each]) => each);
        let seen = 0;
        for (let node = firstChild[0] ?? 0; node;) {
            if ((++seen & 0x1fff) === 0) yield;
            const first = codeFirstLine[code[node]!]!,
                count = codeLineCount[code[node]!]!;
            for (let g = 0; g < groups.length; g++) {
                const group = groups[g]!,
                    way = onWay[g]!;
                for (let line = first + count - 1; line >= first; line--)
                    if (!(hide && lineLibrary[line] === 1) && way[group[line]!]!++ === 0)
                        listings[g]!.add(ofNode[node]!, group[line]!);
            }
            if (firstChild[node]) {
                node = firstChild[node]!;
                continue;
            }
            for (let left = node; ; left = parent[left]!) {
                if (!left) {
                    node = 0;
                    break;
                }
                const begin = codeFirstLine[code[left]!]!,
                    end = begin + codeLineCount[code[left]!]!;
                for (let g = 0; g < groups.length; g++)
                    for (let line = begin; line < end; line++)
                        if (!(hide && lineLibrary[line] === 1)) onWay[g]![groups[g]![line]!]!--;
                if (next[left]) {
                    node = next[left]!;
                    break;
                }
            }
        }
        groups.forEach((group, g) => this.#listings[hide ? 1 : 0].set(group, listings[g]!));
    }

    /* All calls of one function by another, hidden frames passed over; and by strand those that are the first of
     * their kind on the way from the root, by number. A walk for all columns. */
    readonly #calls = new Map<boolean, Calls>();
    *callsInSlices(hide: boolean): Work<Calls> {
        const known = this.#calls.get(hide);
        if (known) return known;
        const made = yield* this.#walks.of(`calls ${hide}`, () => this.#callsOf(hide));
        this.#calls.set(hide, made);
        return made;
    }

    *#callsOf(hide: boolean): Work<Calls> {
        const { nodeCount, parent, code, codeFirstLine, codeLineCount, lineKey, keyCount } =
            this.tree;
        const { count, ofNode } = yield* this.strandsInSlices();
        const from: number[] = [],
            to: number[] = [],
            listing = new Listing(count, nodeCount);
        /* by node: key of its innermost frame that is shown */
        const shown = new Int32Array(nodeCount).fill(-1);
        const ids = new Map<number, number>(),
            onWay: number[] = [];
        /* calls of the nodes on the way, behind those of each how many they are */
        const entered: number[] = [];
        const enter = (node: number) => {
            let caller = shown[parent[node]!]!;
            const before = entered.length,
                first = codeFirstLine[code[node]!]!;
            for (let line = first + codeLineCount[code[node]!]! - 1; line >= first; line--) {
                if (this.#isHidden(line, hide)) continue;
                const key = lineKey[line]!;
                if (caller >= 0) {
                    const pair = caller * keyCount + key;
                    let id = ids.get(pair);
                    if (id === undefined) {
                        ids.set(pair, (id = from.length));
                        from.push(caller);
                        to.push(key);
                        onWay.push(0);
                    }
                    if (onWay[id]!++ === 0) listing.add(ofNode[node]!, id);
                    entered.push(id);
                }
                caller = key;
            }
            shown[node] = caller;
            entered.push(entered.length - before);
        };
        yield* this.walkInSlices(enter, () => {
            for (let left = entered.pop()!; left > 0; left--) onWay[entered.pop()!]!--;
        });
        return { from, to, listing };
    }

    /* Depth first, from the root (which is not visited). */
    walk(enter: (node: number) => void, leave: (node: number) => void): void {
        atOnce(this.walkInSlices(enter, leave));
    }

    *walkInSlices(enter: (node: number) => void, leave: (node: number) => void): Work<void> {
        const { parent } = this.tree,
            { firstChild, next } = yield* this.#linksInSlices();
        let node = firstChild[0] ?? 0,
            seen = 0;
        while (node) {
            if ((++seen & 0x1fff) === 0) yield;
            enter(node);
            const child = firstChild[node]!;
            if (child) {
                node = child;
                continue;
            }
            while (node) {
                leave(node);
                const sibling = next[node]!;
                if (sibling) {
                    node = sibling;
                    break;
                }
                node = parent[node]!;
            }
        }
    }

    /* By key: what a function asks for itself. */
    exclusiveByKey(column: ArrayLike<number>, wanted: Wanted, hide: boolean): Float64Array {
        return atOnce(this.exclusiveByKeyInSlices(column, wanted, hide));
    }
    exclusiveByKeyInSlices(
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Work<Float64Array> {
        const { lineKey, keyCount } = this.tree;
        return this.exclusiveByInSlices(lineKey, keyCount, column, wanted, hide);
    }
    /* The same by any grouping of lines. */
    *exclusiveByInSlices(
        groups: Uint32Array,
        groupCount: number,
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Work<Float64Array> {
        const sums = new Float64Array(groupCount);
        const lines = yield* this.exclusiveLinesInSlices(hide);
        for (let site = 0; site < lines.length; site++) {
            if ((site & OFTEN) === OFTEN) yield;
            if (!wanted || wanted[site]) sums[groups[lines[site]!]!]! += column[site]!;
        }
        return sums;
    }

    /* By key: with all that is asked for below it, each path once. Hidden frames have nothing, but
     * where a path has no other. */
    inclusiveByKey(column: ArrayLike<number>, wanted: Wanted, hide: boolean): Float64Array {
        return atOnce(this.inclusiveByKeyInSlices(column, wanted, hide));
    }
    inclusiveByKeyInSlices(
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Work<Float64Array> {
        const { lineKey, keyCount } = this.tree;
        return this.#inclusiveListed(lineKey, keyCount, column, wanted, hide);
    }

    /* The same of functions that are grouped otherwise. */
    inclusiveListed(
        groups: Uint32Array,
        groupCount: number,
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Float64Array {
        return atOnce(this.#inclusiveListed(groups, groupCount, column, wanted, hide));
    }
    *#inclusiveListed(
        groups: Uint32Array,
        groupCount: number,
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Work<Float64Array> {
        const { siteNode, lineLibrary } = this.tree;
        const sums = yield* this.inclusiveByInSlices(groups, groupCount, column, wanted, hide);
        if (!hide) return sums;
        const lines = yield* this.exclusiveLinesInSlices(true);
        for (let site = 0; site < siteNode.length; site++) {
            if ((site & OFTEN) === OFTEN) yield;
            if (siteNode[site] && lineLibrary[lines[site]!] && (!wanted || wanted[site]))
                sums[groups[lines[site]!]!]! += column[site]!;
        }
        return sums;
    }

    /* The same by any grouping of lines. */
    *inclusiveByInSlices(
        groups: Uint32Array,
        groupCount: number,
        column: ArrayLike<number>,
        wanted: Wanted,
        hide = false,
    ): Work<Float64Array> {
        const { code, codeFirstLine } = this.tree;
        const values = yield* this.sumsInSlices(column, wanted);
        const listing = yield* this.#firstOnWay(groups, groupCount, hide);
        const sums = yield* listing.sums(values, groupCount);
        /* what was recorded without a call path stands at the root and is listed as such */
        const root = codeFirstLine[code[0]!]!;
        yield;
        for (let site = 0; site < this.tree.siteNode.length; site++)
            if (this.tree.siteNode[site] === 0 && (!wanted || wanted[site]))
                sums[groups[root]!]! += column[site]!;
        return sums;
    }

    children(node: number): number[] {
        const list = [],
            { firstChild, next } = atOnce(this.#linksInSlices());
        for (let child = firstChild[node]!; child; child = next[child]!) list.push(child);
        return list;
    }

    /* By site: is the path `node` on its way (or itself)? */
    below(node: number): Uint8Array {
        const { nodeCount, parent, siteNode } = this.tree;
        const inside = new Uint8Array(nodeCount);
        inside[node] = 1;
        for (let at = node + 1; at < nodeCount; at++) inside[at] = inside[parent[at]!]!;
        return siteNodesOf(siteNode, inside);
    }

    /* By site: is a frame that `matches` (by key) on its path? */
    through(matches: Uint8Array): Uint8Array {
        return atOnce(this.throughInSlices(matches));
    }
    *throughInSlices(matches: Uint8Array): Work<Uint8Array> {
        const { nodeCount, parent, code, codeFirstLine, codeLineCount, lineKey, siteNode } =
            this.tree;
        const has = new Uint8Array(codeFirstLine.length); /* by code */
        for (let at = 0; at < has.length; at++)
            for (let line = codeFirstLine[at]!, left = codeLineCount[at]!; left > 0; line++, left--)
                has[at]! |= matches[lineKey[line]!]!;
        yield;
        const inside = new Uint8Array(nodeCount);
        for (let node = 1; node < nodeCount; node++) {
            if ((node & OFTEN) === 0) yield;
            inside[node] = inside[parent[node]!]! | has[code[node]!]!;
        }
        return siteNodesOf(siteNode, inside);
    }

    /* The lines of a path, innermost first. */
    path(node: number): number[] {
        const { parent, code, codeFirstLine, codeLineCount } = this.tree;
        const lines = [];
        for (; node; node = parent[node]!) {
            const first = codeFirstLine[code[node]!]!;
            for (let i = 0; i < codeLineCount[code[node]!]!; i++) lines.push(first + i);
        }
        return lines;
    }
}

function siteNodesOf(siteNode: Uint32Array, inside: Uint8Array): Uint8Array {
    const wanted = new Uint8Array(siteNode.length);
    for (let site = 0; site < siteNode.length; site++) wanted[site] = inside[siteNode[site]!]!;
    return wanted;
}

/* The sites that a mask has, rising. */
export function listed(mask: Uint8Array): Uint32Array {
    const list = new Uint32Array(mask.length);
    let count = 0;
    for (let site = 0; site < mask.length; site++) if (mask[site]) list[count++] = site;
    return list.slice(0, count);
}

export function both(a: Wanted, b: Wanted): Wanted {
    if (!a || !b) return a ?? b;
    const wanted = new Uint8Array(a.length);
    for (let site = 0; site < a.length; site++) wanted[site] = a[site]! & b[site]!;
    return wanted;
}
