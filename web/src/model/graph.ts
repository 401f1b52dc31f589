/* The call graph: who calls whom, and the metric that goes through each call. callEdges()
 * adds them up (TreePasses knows the calls). pruneGraph() keeps the part worth drawing, and toDot()
 * writes it for Graphviz. */
import { atOnce, type Work } from "./slices.ts";
import type { TreePasses, Wanted } from "./tree.ts";

export interface Edge {
    from: number;
    to: number;
    value: number;
} /* keys; inclusive value through this call, NaN: not known */

/* Every call of one function by another, hidden frames passed over. A path counts once for each
 * edge. */
export function callEdges(
    passes: TreePasses,
    column: ArrayLike<number>,
    wanted: Wanted,
    hide: boolean,
): Edge[] {
    return atOnce(edgesOf(passes, column, wanted, hide));
}

/* What grew and what went may add up to 0 in a call, and what is not known to NaN. */
export function* edgesOf(
    passes: TreePasses,
    column: ArrayLike<number>,
    wanted: Wanted,
    hide: boolean,
): Work<Edge[]> {
    const { from, to, listing } = yield* passes.callsInSlices(hide),
        sums = yield* listing.sums(yield* passes.sumsInSlices(column, wanted), from.length),
        edges: Edge[] = [];
    for (let at = 0; at < sums.length; at++)
        if (sums[at] !== 0) edges.push({ from: from[at]!, to: to[at]!, value: sums[at]! });
    return edges;
}

export interface GraphOptions {
    focus: number; /* key; -1: none, from the outermost functions down */
    least: number; /* a function's inclusive value below this is left out */
    up: number; /* calls outwards from the focus that are drawn */
    down: number;
    most: number; /* functions */
    hidden?: ReadonlySet<number>; /* keys that are left out, and all calls to and from them */
}
export interface CallGraph {
    keys: number[];
    edges: Edge[];
    left: number;
}

/* `exclusive`: of what is shown (hidden frames have none), so that functions without a call are
 * there. */
export function pruneGraph(
    edges: readonly Edge[],
    inclusive: ArrayLike<number>,
    exclusive: ArrayLike<number>,
    options: GraphOptions,
): CallGraph {
    const isHidden = (key: number) => !!options.hidden?.has(key);
    const big = edges.filter(
        (edge) =>
            !isHidden(edge.from) &&
            !isHidden(edge.to) &&
            inclusive[edge.from]! >= options.least &&
            inclusive[edge.to]! >= options.least &&
            edge.value >= options.least / 4,
    );
    let chosen = new Set<number>();
    if (options.focus >= 0) {
        chosen.add(options.focus);
        grow(chosen, options.focus, options.down, big, (edge) => [edge.from, edge.to]);
        grow(chosen, options.focus, options.up, big, (edge) => [edge.to, edge.from]);
    } else {
        for (const edge of big) chosen.add(edge.from).add(edge.to);
        for (let key = 0; key < exclusive.length; key++)
            if (!isHidden(key) && exclusive[key]! > 0 && inclusive[key]! >= options.least)
                chosen.add(key);
    }
    const sorted = [...chosen].sort((a, b) => inclusive[b]! - inclusive[a]!);
    const left = Math.max(0, sorted.length - options.most);
    const keys = sorted.slice(0, options.most);
    if (options.focus >= 0 && !keys.includes(options.focus)) keys[keys.length - 1] = options.focus;
    chosen = new Set(keys);
    return {
        keys,
        edges: big.filter((edge) => chosen.has(edge.from) && chosen.has(edge.to)),
        left,
    };
}

/* The share, in percent of `total`, below which functions are left out so that what is drawn can be
 * read. */
export const shares = [0.1, 0.3, 1, 3, 10] as const;
const READABLE = 36;

export function usualShare(
    edges: readonly Edge[],
    inclusive: ArrayLike<number>,
    exclusive: ArrayLike<number>,
    total: number,
    options: Omit<GraphOptions, "least">,
): number {
    return (
        [1, 3].find((share) => {
            const { keys, left } = pruneGraph(edges, inclusive, exclusive, {
                ...options,
                least: (total * share) / 100,
            });
            return keys.length + left <= READABLE;
        }) ?? 10
    );
}

/* Adds what can be reached from `from` in so many steps. */
function grow(
    chosen: Set<number>,
    from: number,
    steps: number,
    edges: readonly Edge[],
    ends: (edge: Edge) => [number, number],
): void {
    const next = new Map<number, number[]>();
    for (const edge of edges) {
        const [near, far] = ends(edge);
        const list = next.get(near);
        if (list) list.push(far);
        else next.set(near, [far]);
    }
    let border = [from];
    const seen = new Set(border);
    for (let step = 0; step < steps && border.length; step++) {
        const found: number[] = [];
        for (const at of border)
            for (const far of next.get(at) ?? [])
                if (!seen.has(far)) {
                    seen.add(far);
                    found.push(far);
                }
        for (const at of found) chosen.add(at);
        border = found;
    }
}

export interface DotStyle {
    name: (key: number) => string;
    full: (key: number) => string;
    value: (value: number) => string;
    total: number;
    inclusive: ArrayLike<number>;
    exclusive: ArrayLike<number>;
    focus: number;
    dark: boolean;
}

function escapeDot(text: string): string {
    return text.replace(/[\\"]/g, "\\$&").replace(/[\u0000-\u001f]/g, " ");
}

export function toDot(graph: CallGraph, style: DotStyle): string {
    const ink = style.dark ? "#e6e9ec" : "#16191d",
        line = style.dark ? "#77818d" : "#8a93a0";
    /* Graphviz knows how wide Arial's letters are; of other fonts it guesses, and names stick out
     * of boxes */
    const lines = [
        "digraph calls {",
        `  graph [bgcolor="transparent", nodesep=0.25, ranksep=0.45];`,
        `  node [shape=box, style=filled, fontname="Arial", fontsize=11, height=0.3,` +
            ` margin="0.14,0.06", fontcolor="${ink}", color="${line}"];`,
        `  edge [fontname="Arial", fontsize=9, fontcolor="${ink}", color="${line}", arrowsize=0.6];`,
    ];
    for (const key of graph.keys) {
        const weight = style.total ? style.inclusive[key]! / style.total : 0;
        const fill = style.dark
            ? `0.57 ${(0.15 + 0.5 * weight).toFixed(3)} ${(0.2 + 0.3 * weight).toFixed(3)}`
            : `0.57 ${(0.04 + 0.4 * weight).toFixed(3)} 1.0`;
        const name = style.name(key);
        const shown = name.length > 44 ? name.slice(0, 42) + "…" : name;
        const own =
            style.exclusive[key]! > 0
                ? `\\nitself ${escapeDot(style.value(style.exclusive[key]!))}`
                : "";
        lines.push(
            `  n${key} [id="n${key}",` +
                ` label="${escapeDot(shown)}\\n${escapeDot(style.value(style.inclusive[key]!))}${own}",` +
                ` tooltip="${escapeDot(style.full(key).slice(0, 2000))}",` +
                ` fillcolor="${fill}"${key === style.focus ? ", penwidth=2.5" : ""}];`,
        );
    }
    for (const edge of graph.edges) {
        const weight = style.total ? edge.value / style.total : 0;
        lines.push(
            `  n${edge.from} -> n${edge.to} [label="${escapeDot(style.value(edge.value))}",` +
                ` penwidth=${(0.5 + 5 * weight).toFixed(2)}];`,
        );
    }
    lines.push("}");
    return lines.join("\n") + "\n";
}
