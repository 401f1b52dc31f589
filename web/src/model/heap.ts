/* The map of the heap (doc/API.md, "heap"): cells by address, and how full each is. layOut()
 * gives each cell a place in a picture of a given width. Each contiguous area of addresses is a
 * block of its own. */
import { numbers, whole, type ColumnsDocument } from "../data/columns.ts";

/* How full a cell is: what live blocks take of its resident bytes. */
export const ABSENT = 0,
    EMPTY = 1,
    FULL = 6,
    UNKNOWN_FILL = 7;
export const fillTitles = [
    "not resident",
    "no live block",
    "under 25 %",
    "under 50 %",
    "under 75 %",
    "under 100 %",
    "full",
    "not known",
];

export interface Area {
    first: number;
    end: number;
} /* cells */
export interface Heap {
    sample: number;
    address: Float64Array;
    bytes: Float64Array;
    resident: Float64Array;
    live: Float64Array;
    count: Float64Array;
    pinned: Float64Array;
    node: Uint32Array; /* whose blocks pin most of it; 0 where nothing is pinned */
    fill: Uint8Array;
    areas: Area[];
    cellBytes: number; /* of the largest */
}

export function fillOf(resident: number, live: number, count: number): number {
    if (resident === 0) return ABSENT;
    if (Number.isNaN(resident) || Number.isNaN(count)) return UNKNOWN_FILL;
    if (count === 0) return EMPTY;
    if (Number.isNaN(live)) return UNKNOWN_FILL;
    if (live >= resident) return FULL;
    return 2 + Math.floor((4 * live) / resident);
}

export function areasOf(address: ArrayLike<number>, bytes: ArrayLike<number>): Area[] {
    const areas: Area[] = [];
    for (let at = 0; at < address.length; at++) {
        const last = areas[areas.length - 1];
        if (last && address[at] === address[at - 1]! + bytes[at - 1]!) last.end = at + 1;
        else areas.push({ first: at, end: at + 1 });
    }
    return areas;
}

export function readHeap(document: ColumnsDocument): Heap {
    const [address, bytes, resident, live, count, pinned] = [
        "address",
        "bytes",
        "resident_bytes",
        "live_bytes",
        "live_count",
        "pinned_bytes",
    ].map((name) => numbers(document, name)) as [
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
    ];
    return {
        sample: Number(document.header["sample"]),
        address,
        bytes,
        resident,
        live,
        count,
        pinned,
        node: whole(document, "node"),
        fill: Uint8Array.from(address, (_, at) => fillOf(resident[at]!, live[at]!, count[at]!)),
        areas: areasOf(address, bytes),
        cellBytes: bytes.reduce((a, b) => Math.max(a, b), 0),
    };
}

/* ---- Where cells stand ---- */

export const HEADING = 16,
    LEAST_WIDTH = 196; /* of an area: its address and size stand above it */
const GAP = 10,
    LARGEST = 14,
    SMALLEST = 3,
    WANTED = 420,
    MOST = 12000; /* canvases have their limits */

export interface Place extends Area {
    x: number;
    y: number;
    columns: number;
}
export interface Layout {
    size: number;
    height: number;
    places: Place[];
} /* `places` may lack the last areas */

function flow(areas: readonly Area[], width: number, size: number): Layout {
    const most = Math.max(1, Math.floor(width / size));
    const places: Place[] = [];
    let x = 0,
        y = 0,
        tall = 0;
    for (const { first, end } of areas) {
        const columns = Math.min(most, Math.max(1, end - first));
        const wide = Math.max(columns * size, LEAST_WIDTH),
            high = HEADING + Math.ceil((end - first) / columns) * size + GAP;
        if (x > 0 && x + wide > width) {
            x = 0;
            y += tall;
            tall = 0;
        }
        if (y + high > MOST) break;
        places.push({ first, end, x, y, columns });
        x += wide + GAP;
        tall = Math.max(tall, high);
    }
    return { size, height: y + tall, places };
}

/* Cells as large as a picture that is seen whole allows; where there are too many it grows. */
export function layOut(areas: readonly Area[], width: number): Layout {
    for (let size = LARGEST; size > SMALLEST; size--) {
        const layout = flow(areas, width, size);
        if (layout.height <= WANTED && layout.places.length === areas.length) return layout;
    }
    return flow(areas, width, SMALLEST);
}

export function boxOf({ places, size }: Layout, cell: number): { x: number; y: number } | null {
    const place = placeOf(places, cell);
    if (!place) return null;
    const at = cell - place.first;
    return {
        x: place.x + (at % place.columns) * size,
        y: place.y + HEADING + Math.floor(at / place.columns) * size,
    };
}

export function placeOf(places: readonly Place[], cell: number): Place | undefined {
    let low = 0,
        high = places.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (places[middle]!.end <= cell) low = middle + 1;
        else high = middle;
    }
    return places[low]?.first! <= cell ? places[low] : undefined;
}

/* The cell at a point; -1: none. */
export function cellAt({ places, size }: Layout, x: number, y: number): number {
    for (const place of places) {
        const column = Math.floor((x - place.x) / size),
            row = Math.floor((y - place.y - HEADING) / size);
        if (column < 0 || column >= place.columns || row < 0) continue;
        const cell = place.first + row * place.columns + column;
        if (cell < place.end) return cell;
    }
    return -1;
}

/* ---- Colours ---- */

/* One way from bright (nearly free) to deep (full): lightness alone tells the order, in either
 * theme and with any colour vision. What is not resident is the ground of charts, with nothing on
 * it; what is not known has a tone beside the way. */
const tones = {
    light: ["#eceef1", "#ffb71f", "#ee8a2e", "#d0604c", "#9c4478", "#61348c", "#23296e", "#8fa6a0"],
    dark: ["#0f1113", "#ffe88a", "#f5b545", "#dc8350", "#ad6582", "#7552a0", "#40488c", "#5d7771"],
};
export function heapColour(fill: number, dark: boolean): string {
    return tones[dark ? "dark" : "light"][fill]!;
}

/* ---- Who pins ---- */

export interface Pinner {
    node: number;
    cells: number;
    bytes: number;
}
/* By call path: the cells that it pins most of, and the free bytes of these. */
export function pinnersOf(heap: Heap): Pinner[] {
    const by = new Map<number, Pinner>();
    for (let at = 0; at < heap.node.length; at++) {
        if (!(heap.pinned[at]! > 0)) continue;
        const node = heap.node[at]!,
            known = by.get(node);
        if (known) {
            known.cells++;
            known.bytes += heap.pinned[at]!;
        } else by.set(node, { node, cells: 1, bytes: heap.pinned[at]! });
    }
    return [...by.values()].sort((a, b) => b.bytes - a.bytes || a.node - b.node);
}
