/* The map of the heap: its pages by address, and how full each is. Choosing a cell shows whose
 * blocks keep its pages from going back to the system. A list ranks the call paths by the free
 * memory that their blocks keep. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, whole } from "../data/columns.ts";
import {
    ABSENT,
    boxOf,
    cellAt,
    EMPTY,
    fillTitles,
    heapColour,
    HEADING,
    layOut,
    pinnersOf,
    readHeap,
    UNKNOWN_FILL,
    type Heap,
    type Layout,
    type Place,
} from "../model/heap.ts";
import { shortName } from "../model/names.ts";
import { type CallTree, type Profile, fileName } from "../model/profile.ts";
import { bytes, count, duration, exact, share } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions } from "../state/url.ts";
import { colour, useCanvas } from "../widgets/canvas.ts";
import { csvCell, SaveChart } from "../widgets/save_chart.tsx";
import { shortList } from "../widgets/more.tsx";
import type { Brush } from "../widgets/svg.ts";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { hideTip, showTip } from "../widgets/tooltip.tsx";
import type { ViewProps } from "./registry.ts";

interface Pins {
    bytes: number;
    count: number;
}
interface Loaded {
    heap: Heap;
    of: CallTree;
    pins: Map<number, Pins>;
}

export function HeapView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        () =>
            profile.has("heap") ? profile.work("heap", () => load(profile)) : Promise.resolve(null),
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(all) =>
                all ? (
                    <HeapMap profile={profile} {...all} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="Where the pages of the heap are is not in this profile."
                        how={
                            "It is recorded with the ledger of what is resident: not of samples, by " +
                            "pages, of forked and attached processes, or with --no-looks; single " +
                            "files leave large maps out."
                        }
                    />
                )
            }
        </Ready>
    );
}

async function load(profile: Profile): Promise<Loaded> {
    const [document, of, residency] = await Promise.all([
        profile.columns("heap"),
        profile.callTree(),
        profile.has("residency") ? profile.columns("residency") : null,
    ]);
    const heap = readHeap(document),
        pins = new Map<number, Pins>();
    if (residency) {
        const sample = whole(residency, "sample"),
            node = whole(residency, "node");
        const pinned = numbers(residency, "pinned_bytes"),
            blocks = numbers(residency, "pinning_count");
        for (let row = 0; row < node.length; row++)
            if (sample[row] === heap.sample)
                pins.set(node[row]!, { bytes: pinned[row]!, count: blocks[row]! });
    }
    return { heap, of, pins };
}

const hex = (address: number) => "0x" + address.toString(16);
const fullness = (heap: Heap, cell: number) =>
    heap.fill[cell] === ABSENT
        ? "not resident"
        : heap.fill[cell] === UNKNOWN_FILL
          ? "how full it is, is not known"
          : `${share(Math.min(1, heap.live[cell]! / heap.resident[cell]!))} of ` +
            `${bytes(heap.resident[cell]!)} in use, ` +
            (heap.count[cell] === 1 ? "1 block" : `${count(heap.count[cell]!)} blocks`);
const sizeOf = (heap: Heap, place: { first: number; end: number }) =>
    heap.address[place.end - 1]! + heap.bytes[place.end - 1]! - heap.address[place.first]!;

function nameOf({ tree, passes, names }: CallTree, node: number): { name: string; place: string } {
    const site = tree.siteNode.indexOf(node);
    const line =
        site < 0
            ? tree.codeFirstLine[tree.code[node]!]!
            : passes.exclusiveLines(state.value.hide)[site]!;
    return { name: names.ofLine(line), place: names.place(line) };
}

function HeapMap({ profile, heap, of, pins }: ViewProps & Loaded): JSX.Element {
    const chosen = Number(getOption(state.value, "cell") ?? -1);
    const picked =
        Number.isInteger(chosen) && chosen >= 0 && chosen < heap.fill.length ? chosen : -1;
    const look = profile.summary.samples?.find((each) => each.sample === heap.sample);
    const pick = (cell: number) =>
        go({ opt: withOptions(state.value, { cell: String(cell) }) }, "replace");
    const by = useMemo(() => {
        const counts = new Array<number>(fillTitles.length).fill(0);
        heap.fill.forEach((fill) => counts[fill]!++);
        return counts;
    }, [heap]);
    const dark = theme.value === "dark";
    return (
        <div class="pad scrolls">
            <p class="dim close">
                The allocator's areas in order of address, {bytes(heap.cellBytes)} a cell
                {look ? `, at the look “${look.why}” at ${duration(look.time_ns)}` : ""}. Click a
                cell for whose blocks keep it from going back.
            </p>
            <Picture heap={heap} of={of} picked={picked} onPick={pick} />
            <div class="legend flush-left">
                {by.map(
                    (cells, fill) =>
                        (fill !== UNKNOWN_FILL || cells > 0) && (
                            <span key={fill} title={exact(cells, "count")}>
                                <span class="swatch" style={{ "--tone": heapColour(fill, dark) }} />
                                {fillTitles[fill]}: <b>{count(cells)}</b>
                            </span>
                        ),
                )}
            </div>
            <Picked heap={heap} of={of} pins={pins} cell={picked} />
            <Pinners heap={heap} of={of} pins={pins} onPick={pick} />
        </div>
    );
}

/* ---- The picture ---- */

function drawPlace(context: Brush, heap: Heap, place: Place, size: number, dark: boolean): void {
    context.fillStyle = colour("dim");
    context.fillText(
        `${hex(heap.address[place.first]!)} · ${bytes(sizeOf(heap, place))}`,
        place.x,
        place.y + HEADING / 2,
    );
    /* cells of one kind in a row are one stroke where there is no room for a seam */
    const seam = size > 5 ? 1 : 0,
        top = place.y + HEADING;
    for (let cell = place.first; cell < place.end;) {
        const at = cell - place.first,
            column = at % place.columns,
            left = place.columns - column;
        let run = 1;
        while (
            !seam &&
            run < left &&
            cell + run < place.end &&
            heap.fill[cell + run] === heap.fill[cell]
        )
            run++;
        context.fillStyle = heapColour(heap.fill[cell]!, dark);
        context.fillRect(
            place.x + column * size,
            top + Math.floor(at / place.columns) * size,
            run * size - seam,
            size - seam,
        );
        cell += run;
    }
}

function Picture({
    heap,
    of,
    picked,
    onPick,
}: {
    heap: Heap;
    of: CallTree;
    picked: number;
    onPick: (cell: number) => void;
}): JSX.Element {
    const [height, setHeight] = useState(200);
    const layout = useRef<Layout>({ size: 1, height: 0, places: [] });
    const canvas = useCanvas(
        ({ context, width }) => {
            const laid = (layout.current = layOut(heap.areas, width)),
                dark = theme.value === "dark";
            setHeight(Math.ceil(laid.height));
            context.font = "11px sans-serif";
            context.textBaseline = "middle";
            context.textAlign = "left";
            for (const place of laid.places) drawPlace(context, heap, place, laid.size, dark);
            const box = picked < 0 ? null : boxOf(laid, picked);
            if (!box) return;
            context.strokeStyle = colour("text");
            context.lineWidth = 2;
            context.strokeRect(box.x - 1, box.y - 1, laid.size + 1, laid.size + 1);
        },
        [heap, picked, height, theme.value],
    );
    const find = (event: MouseEvent) => {
        const box = canvas.current!.getBoundingClientRect();
        return cellAt(layout.current, event.clientX - box.left, event.clientY - box.top);
    };
    const left = heap.areas.length - (layout.current.places.length || heap.areas.length);
    const onKey = (event: KeyboardEvent) => {
        const columns = layout.current.places.find((place) => place.end > picked)?.columns ?? 1;
        const steps: Record<string, number> = {
            ArrowRight: 1,
            ArrowLeft: -1,
            ArrowDown: columns,
            ArrowUp: -columns,
            Home: -Infinity,
            End: Infinity,
        };
        const by = steps[event.key];
        if (by === undefined) return;
        event.preventDefault();
        onPick(Math.max(0, Math.min(heap.fill.length - 1, picked < 0 ? 0 : picked + by)));
    };
    return (
        <>
            <div
                class="chart sized"
                role="group"
                tabIndex={0}
                aria-label="Map of the heap: arrows go from cell to cell"
                style={{ "--height": `${height}px` }}
                onKeyDown={onKey}>
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label={`Pages of the heap by address: ${count(heap.fill.length)} cells in ${count(heap.areas.length)} areas`}
                    onMouseLeave={hideTip}
                    onMouseMove={(event) => {
                        const cell = find(event);
                        if (cell < 0) return hideTip();
                        showTip(
                            event.clientX,
                            event.clientY,
                            <>
                                {hex(heap.address[cell]!)} · {bytes(heap.bytes[cell]!)}
                                <br />
                                {fullness(heap, cell)}
                                {heap.pinned[cell]! > 0 && (
                                    <>
                                        <br />
                                        pinned by {shortName(nameOf(of, heap.node[cell]!).name)}
                                    </>
                                )}
                            </>,
                        );
                    }}
                    onClick={(event) => {
                        const cell = find(event);
                        if (cell >= 0) onPick(cell);
                    }}
                />
            </div>
            {left > 0 && (
                <p class="dim">{count(left)} more areas are not drawn: they are in the CSV.</p>
            )}
            <SaveChart name="heap" canvas={() => canvas.current} csv={() => csvOf(heap, of)} />
        </>
    );
}

function csvOf(heap: Heap, of: CallTree): string {
    const names = new Map<number, string>();
    const name = (node: number) => {
        if (!names.has(node)) names.set(node, csvCell(nameOf(of, node).name));
        return names.get(node)!;
    };
    const lines = ["address,bytes,resident_bytes,live_bytes,live_count,pinned_bytes,pinned_by"];
    heap.fill.forEach((_, at) =>
        lines.push(
            [
                hex(heap.address[at]!),
                heap.bytes[at],
                heap.resident[at],
                heap.live[at],
                heap.count[at],
                heap.pinned[at],
                heap.pinned[at]! > 0 ? name(heap.node[at]!) : "",
            ].join(","),
        ),
    );
    return lines.join("\n") + "\n";
}

/* ---- Words ---- */

function PathLink({ of, node }: { of: CallTree; node: number }): JSX.Element {
    const { name, place } = nameOf(of, node);
    return (
        <>
            <a href={link({ view: "flame", node, opt: "", sort: "" })} title={name}>
                {shortName(name)}
            </a>{" "}
            <span class="dim">{fileName(place)}</span>
        </>
    );
}

function Picked({ heap, of, pins, cell }: Loaded & { cell: number }): JSX.Element {
    const node = heap.node[cell]!,
        all = cell < 0 ? undefined : pins.get(node);
    return (
        <p aria-live="polite" data-cell={cell} class="picked">
            {cell < 0 ? (
                <span class="dim">No cell is chosen.</span>
            ) : (
                <>
                    <b class="mono">{hex(heap.address[cell]!)}</b>: {fullness(heap, cell)}.{" "}
                    {heap.fill[cell] === EMPTY ? (
                        "No live block keeps it: the allocator could give it back."
                    ) : heap.pinned[cell]! > 0 ? (
                        <>
                            <b title={exact(heap.pinned[cell], "bytes")}>
                                {bytes(heap.pinned[cell]!)}
                            </b>{" "}
                            free on it cannot go back, mostly for <PathLink of={of} node={node} />
                            {all ? (
                                <>
                                    , which pins{" "}
                                    <b title={exact(all.bytes, "bytes")}>{bytes(all.bytes)}</b> with{" "}
                                    {count(all.count)} blocks in all
                                </>
                            ) : (
                                ""
                            )}
                            .
                        </>
                    ) : heap.fill[cell] === ABSENT || heap.fill[cell] === UNKNOWN_FILL ? (
                        ""
                    ) : (
                        "At least half of it is in use."
                    )}
                </>
            )}
        </p>
    );
}

const PINNERS = 12;

function Pinners({
    heap,
    of,
    pins,
    onPick,
}: Loaded & { onPick: (cell: number) => void }): JSX.Element {
    const pinners = useMemo(() => pinnersOf(heap), [heap]);
    const { shown, more } = shortList("pinners", pinners, PINNERS);
    return (
        <Card title="Who pins pages">
            {pinners.length ? (
                <table>
                    <thead>
                        <tr>
                            <th class="number">cells</th>
                            <th class="number">pins in all</th>
                            <th class="number">blocks</th>
                            <th>call path</th>
                            <th>first cell</th>
                        </tr>
                    </thead>
                    <tbody>
                        {shown.map(({ node, cells }) => {
                            const all = pins.get(node),
                                first = heap.node.findIndex(
                                    (each, at) => each === node && heap.pinned[at]! > 0,
                                );
                            return (
                                <tr key={node}>
                                    <td class="number" title={exact(cells, "count")}>
                                        {count(cells)}
                                    </td>
                                    <td class="number" title={exact(all?.bytes, "bytes")}>
                                        {all ? bytes(all.bytes) : "–"}
                                    </td>
                                    <td class="number" title={exact(all?.count, "count")}>
                                        {all ? count(all.count) : "–"}
                                    </td>
                                    <td>
                                        <PathLink of={of} node={node} />
                                    </td>
                                    <td>
                                        <button
                                            class="plain mono"
                                            aria-label={`Show ${hex(heap.address[first]!)}`}
                                            onClick={() => onPick(first)}>
                                            {hex(heap.address[first]!)}
                                        </button>
                                    </td>
                                </tr>
                            );
                        })}
                    </tbody>
                </table>
            ) : (
                <p class="dim">No page is less than half full and kept by a block.</p>
            )}
            {more}
        </Card>
    );
}
