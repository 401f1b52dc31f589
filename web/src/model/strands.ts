/* Sums over the call tree, of any column of sites, without a walk over all of its nodes.
 *
 * A *strand* is nodes one below the other with neither a fork nor a site in between: they have the same call
 * paths below them, and so the same sum of any column. Here "*" is a site, and the strands are
 * (root) (a b) (c d*) (e*):
 *
 *   root ─ a ─ b ─┬─ c ─ d*
 *                 └─ e*
 *
 * A Listing says for each strand what counts once on the way to it: functions, lines or calls. It is made by
 * one walk, and gives the sums of every column. The number of a strand is smaller than those below it. */
import type { Work } from "./slices.ts";
import type { Tree, Wanted } from "./tree.ts";

/* Nodes, strands or sites between two moments at which the work can be left. */
const OFTEN = 0x3fff;

export interface Strands {
    count: number;
    ofNode: Uint32Array;
    ofSite: Uint32Array;
    parent: Uint32Array; /* by strand */
}

const ONE = 1,
    LAST = 2; /* of its strand: it has a site, or several children */

function* lastsOf({ nodeCount, parent, siteNode }: Tree): Work<Uint8Array> {
    const kind = new Uint8Array(nodeCount);
    for (let node = 1; node < nodeCount; node++) {
        if ((node & OFTEN) === 0) yield;
        if (kind[parent[node]!]! < LAST) kind[parent[node]!]!++;
    }
    for (let site = 0; site < siteNode.length; site++) kind[siteNode[site]!] = LAST;
    kind[0] = LAST;
    return kind;
}

export function* strandsOf(tree: Tree): Work<Strands> {
    const { nodeCount, parent: above, siteNode } = tree,
        kind = yield* lastsOf(tree),
        ofNode = new Uint32Array(nodeCount);
    let count = 0;
    for (let node = 0; node < nodeCount; node++) {
        if ((node & OFTEN) === 0) yield;
        if (kind[node] !== ONE) ofNode[node] = count++;
    }
    for (let node = nodeCount - 1; node > 0; node--) {
        if ((node & OFTEN) === 0) yield;
        if (kind[above[node]!] === ONE) ofNode[above[node]!] = ofNode[node]!;
    }
    const parent = new Uint32Array(count);
    for (let node = 1; node < nodeCount; node++) {
        if ((node & OFTEN) === 0) yield;
        if (kind[above[node]!] !== ONE) parent[ofNode[node]!] = ofNode[above[node]!]!;
    }
    const ofSite = new Uint32Array(siteNode.length);
    for (let site = 0; site < ofSite.length; site++) ofSite[site] = ofNode[siteNode[site]!]!;
    return { count, ofNode, ofSite, parent };
}

/* A column by strand, with all that is below. */
export function* sumsOf(
    { count, ofSite, parent }: Strands,
    column: ArrayLike<number>,
    wanted: Wanted,
): Work<Float64Array> {
    const values = new Float64Array(count);
    for (let site = 0; site < ofSite.length; site++) {
        if ((site & OFTEN) === OFTEN) yield;
        if (!wanted || wanted[site]) values[ofSite[site]!]! += column[site]!;
    }
    for (let at = count - 1; at > 0; at--) {
        if ((at & OFTEN) === 0) yield;
        if (values[at] !== 0) values[parent[at]!]! += values[at]!;
    }
    return values;
}

/* Numbers by strand, put in depth first: those of one strand stand together. */
export class Listing {
    readonly #begin: Uint32Array;
    readonly #end: Uint32Array;
    #list: Uint32Array;
    #used = 0;

    constructor(strands: number, room: number) {
        this.#begin = new Uint32Array(strands);
        this.#end = new Uint32Array(strands);
        this.#list = new Uint32Array(Math.max(16, room));
    }
    add(strand: number, number: number): void {
        if (this.#used === this.#list.length) {
            const grown = new Uint32Array(2 * this.#used);
            grown.set(this.#list);
            this.#list = grown;
        }
        if (!this.#end[strand]) this.#begin[strand] = this.#used;
        this.#list[this.#used++] = number;
        this.#end[strand] = this.#used;
    }
    /* By number: what strands that list it have together. What is not known makes a sum unknown. */
    *sums(values: Float64Array, numbers: number): Work<Float64Array> {
        const sums = new Float64Array(numbers),
            begin = this.#begin,
            end = this.#end,
            list = this.#list;
        for (let at = 1; at < values.length; at++) {
            if ((at & OFTEN) === 0) yield;
            const value = values[at]!;
            if (value !== 0) for (let i = begin[at]!; i < end[at]!; i++) sums[list[i]!]! += value;
        }
        return sums;
    }
}
