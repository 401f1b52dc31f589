/* The address space: everything that the process has mapped at a look, by what it is, and inside the
 * allocator's memory by address down to pages. A table below has the parts of what is zoomed. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { fillTitles, heapColour, readHeap, UNKNOWN_FILL } from "../model/heap.ts";
import { frameAddress, frameOfAddress } from "../model/flame.ts";
import { moduleColour } from "../model/palette.ts";
import { baseName, type CallTree } from "../model/profile.ts";
import {
    mappingMark,
    pictureOf,
    sizeOf,
    spaceOf,
    toneTitles,
    type Mapping,
    type Measure,
    type Part,
    type Space,
    type Tone,
} from "../model/space.ts";
import { searcher } from "../model/search.ts";
import { shortName } from "../model/names.ts";
import { bytes, count, exact, format, share } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Icicle, flameToSvg } from "../widgets/icicle.tsx";
import { saveText } from "../widgets/save.ts";
import { LookOptions } from "../widgets/look_options.tsx";
import { NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { FrameGone } from "./flame.tsx";
import type { ViewProps } from "./registry.ts";
import type { Heap } from "../model/heap.ts";

const order: readonly Tone[] = [
    "allocator",
    "program",
    "files",
    "stacks",
    "tool",
    "kernel",
    "reserved",
    "other",
];
const toneColour = (tone: Tone, dark: boolean) =>
    moduleColour([0, 1, 2, 3, 6, 8, 7, 5][order.indexOf(tone)]!, dark);

const measures: readonly [Measure, string][] = [
    ["resident", "resident"],
    ["virtual", "mapped"],
];

/* The look of the address; else the one with a map of the heap, else the last. */
function lookOf(profile: ViewProps["profile"], heap: Heap | null): number {
    const samples = profile.summary.samples ?? [];
    const wanted = Number(getOption(state.value, "sample") ?? -1);
    if (samples.some((each) => each.sample === wanted)) return wanted;
    return heap?.sample ?? samples.at(-1)?.sample ?? -1;
}

export function SpaceView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        () =>
            profile.work("space", async () => {
                const [said, document] = await Promise.all([
                    profile.has("mappings")
                        ? profile.json<{ mappings: Mapping[] | null }>("mappings")
                        : { mappings: null },
                    profile.has("heap") ? profile.columns("heap") : null,
                ]);
                const of = profile.has("sites") ? await profile.callTree() : null;
                return {
                    mappings: said.mappings ?? [],
                    heap: document ? readHeap(document) : null,
                    of,
                };
            }),
        [profile],
    );
    return (
        <Ready of={loaded}>
            {({ mappings, heap, of }) =>
                mappings.length ? (
                    <Looked profile={profile} mappings={mappings} heap={heap} of={of} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what={
                            profile.isJob
                                ? "The profile of a whole job has no looks at processes."
                                : "What the process had mapped is not in this profile."
                        }
                        how="record looks through /proc unless told --no-looks; some sandboxes refuse it."
                    />
                )
            }
        </Ready>
    );
}

interface Known {
    heap: Heap | null;
    of: CallTree | null;
}

function Looked({
    profile,
    mappings,
    heap,
    of,
}: ViewProps & Known & { mappings: readonly Mapping[] }): JSX.Element {
    const sample = lookOf(profile, heap);
    const by: Measure = getOption(state.value, "by") === "virtual" ? "virtual" : "resident";
    const space = useMemo(() => spaceOf(mappings, sample, heap), [mappings, sample, heap]);
    const choose = (choice: Record<string, string | undefined>) =>
        go({ opt: withOptions(state.value, choice) }, "replace");
    return (
        <>
            <div class="bar-row">
                <label>
                    Look{" "}
                    <select
                        class="behind-word"
                        aria-label="Look"
                        value={sample}
                        onChange={(event) =>
                            choose({ sample: event.currentTarget.value, zoom: undefined })
                        }>
                        <LookOptions samples={profile.summary.samples ?? []} />
                    </select>
                </label>
                <span class="together" role="group" aria-label="As wide as">
                    {measures.map(([measure, title]) => (
                        <button
                            key={measure}
                            aria-pressed={by === measure}
                            onClick={() => choose({ by: measure })}>
                            {title}
                        </button>
                    ))}
                </span>
                <span class="dim">
                    {space.hasPages
                        ? "By kind and file; the allocator's areas by address, down to pages."
                        : heap && heap.sample !== sample
                          ? "By kind and file. Pages are known of another look."
                          : heap
                            ? "By kind and file. In which mappings the allocator's pages lie is not known: see the page map."
                            : "By kind and file. No look knows pages."}{" "}
                    Where a file lay is not kept: a profile has mappings added up.
                </span>
            </div>
            <Picture space={space} by={by} heap={heap} of={of} />
        </>
    );
}

/* ---- The picture ---- */

function pinnedBy(part: Part, { heap, of }: Known): JSX.Element | null {
    if (part.cell < 0 || !heap || !of || !(heap.pinned[part.cell]! > 0)) return null;
    const line = of.tree.codeFirstLine[of.tree.code[heap.node[part.cell]!]!]!;
    return (
        <>
            <br />
            pinned by {shortName(of.names.ofLine(line))}
        </>
    );
}

function Tip({ part, whole, by, ...known }: Known & { part: Part; whole: number; by: Measure }) {
    const { heap } = known;
    return (
        <>
            <b>{part.name}</b>
            <div>
                {format(sizeOf(part, by), "bytes")} ({share(sizeOf(part, by) / whole)}):{" "}
                {exact(sizeOf(part, by), "bytes")} {by === "virtual" ? "mapped" : "resident"}
            </div>
            <div class="dim">
                {by === "virtual"
                    ? `resident ${format(part.resident, "bytes")}`
                    : `mapped ${format(part.virtual, "bytes")}`}
                {part.swapped ? `, swapped ${format(part.swapped, "bytes")}` : ""}
                {part.cell >= 0 && heap
                    ? `, live blocks ${bytes(heap.live[part.cell]!)}`
                    : `, ${count(part.count)} ${part.count === 1 ? "part" : "parts"}`}
                {pinnedBy(part, known)}
            </div>
        </>
    );
}

function Picture({ space, by, heap, of }: Known & { space: Space; by: Measure }): JSX.Element {
    const { flame, parts } = useMemo(() => pictureOf(space, by), [space, by]);
    const dark = theme.value === "dark";
    const nameOf = (at: number) => parts[at]!.name;
    const address = getOption(state.value, "zoom") ?? "";
    const { at: zoom, isWhole } = useMemo(
        () => frameOfAddress(flame, address, nameOf),
        [flame, address],
    );
    const { search } = state.value;
    const matches = useMemo(() => {
        const has = searcher(search);
        return has
            ? Uint8Array.from(parts, (part, at) => +(at > 0 && has({ function: part.name })))
            : null;
    }, [parts, search]);
    const fill = useMemo(
        () => (at: number) => {
            const { cell, tone } = parts[at]!;
            return cell >= 0 && heap ? heapColour(heap.fill[cell]!, dark) : toneColour(tone, dark);
        },
        [parts, dark],
    );
    const whole = flame.frames[0]!.value;
    const name = (at: number) =>
        at === 0
            ? `${by === "virtual" ? "mapped" : "resident"}: ${bytes(whole)}`
            : parts[at]!.name.startsWith("/")
              ? baseName(parts[at]!.name)
              : parts[at]!.name;
    const zoomTo = (at: number) =>
        go({
            opt: withOptions(state.value, {
                zoom: frameAddress(flame, at, nameOf) || undefined,
                row: undefined,
            }),
        });
    return (
        <>
            {!isWhole && <FrameGone name={zoom ? parts[zoom]!.name : "all of it"} />}
            <Icicle
                flame={flame}
                label={`Map of the address space, ${by === "virtual" ? "mapped" : "resident"} bytes: ${exact(whole, "bytes")}`}
                name={name}
                fill={fill}
                tip={(at) => <Tip part={parts[at]!} whole={whole} by={by} heap={heap} of={of} />}
                matches={matches}
                zoom={zoom}
                upwards={false}
                epoch={theme.value}
                onZoom={zoomTo}
                onMenu={() => {}}
            />
            <div class="bar-row dim">
                <span class="legend flush">
                    {order
                        .filter((tone) => space.root.children.some((part) => part.tone === tone))
                        .map((tone) => (
                            <Legend key={tone} tone={tone} space={space} by={by} dark={dark} />
                        ))}
                    {space.hasPages &&
                        fillTitles.map(
                            (title, fill) =>
                                (fill !== UNKNOWN_FILL || heap?.fill.includes(fill)) && (
                                    <span key={title}>
                                        <span
                                            class="swatch"
                                            style={{ "--tone": heapColour(fill, dark) }}
                                        />
                                        {fill ? title : "page not resident"}
                                    </span>
                                ),
                        )}
                </span>
                <span class="spring" />
                <button
                    class="plain"
                    onClick={() =>
                        saveText("space.svg", "image/svg+xml", flameToSvg(flame, 1600, name, fill))
                    }>
                    SVG
                </button>
            </div>
            <Parts of={parts[zoom]!} by={by} onZoom={(part) => zoomTo(parts.indexOf(part))} />
        </>
    );
}

function Legend({
    tone,
    space,
    by,
    dark,
}: {
    tone: Tone;
    space: Space;
    by: Measure;
    dark: boolean;
}): JSX.Element {
    const sum = space.root.children
        .filter((part) => part.tone === tone)
        .reduce((total, part) => total + sizeOf(part, by), 0);
    return (
        <span title={exact(sum, "bytes")} data-tone={tone}>
            <span class="swatch" style={{ "--tone": toneColour(tone, dark) }} />
            {toneTitles[tone]}: <b>{bytes(sum)}</b>
        </span>
    );
}

/* ---- The same in words ---- */

/* What the address has chosen is not in this look, or not in this recording. */
export function RowGone({ of }: { of: string }): JSX.Element {
    return (
        <p class="notice" role="status" data-gone>
            What this address chose is not there. Shown is all of {of}.
        </p>
    );
}

function Parts({
    of,
    by,
    onZoom,
}: {
    of: Part;
    by: Measure;
    onZoom: (part: Part) => void;
}): JSX.Element {
    const rows = of.children.length ? of.children : [of];
    const chosen = getOption(state.value, "row") ?? "",
        markOf = (row: Part) => mappingMark(of.name, row.name),
        selected = chosen ? rows.findIndex((row) => markOf(row) === chosen) : -1;
    const most = rows.reduce((best, row) => Math.max(best, sizeOf(row, by)), 1);
    const columns: Column<Part>[] = [
        {
            id: "resident_bytes",
            title: "resident",
            width: "110px",
            unit: "bytes",
            number: (row) => row.resident,
            fill: (row) => (by === "resident" ? (row.resident ?? 0) / most : 0),
        },
        {
            id: "virtual_bytes",
            title: "mapped",
            width: "110px",
            unit: "bytes",
            number: (row) => row.virtual,
            fill: (row) => (by === "virtual" ? row.virtual / most : 0),
        },
        {
            id: "swapped_bytes",
            title: "swapped",
            width: "90px",
            unit: "bytes",
            number: (row) => row.swapped,
        },
        { id: "count", title: "parts", width: "80px", number: (row) => row.count },
        {
            id: "name",
            title: "What",
            width: "minmax(200px, 1fr)",
            text: (row) => row.name,
        },
        {
            id: "tone",
            title: "Whose",
            width: "minmax(140px, 1fr)",
            text: (row) => toneTitles[row.tone],
        },
    ];
    return (
        <>
            {chosen && selected < 0 && <RowGone of={of.name} />}
            <Table
                name="space"
                label={`Parts of ${of.name}`}
                rows={rows}
                columns={columns}
                sort={state.value.sort || `-${by}_bytes`}
                onSort={(next) => go({ sort: next }, "replace")}
                rowKey={(row) => rows.indexOf(row)}
                selected={selected}
                onSelect={(row) =>
                    go({ opt: withOptions(state.value, { row: markOf(row) }) }, "replace")
                }
                onOpen={(row) => row.children.length && onZoom(row)}
                foot={
                    <span>
                        Enter or a double click goes into a part;{" "}
                        <a href={link({ view: "resident", opt: "list:mappings", sort: "" })}>
                            mappings by file
                        </a>
                        ,{" "}
                        <a href={link({ view: "resident", opt: "list:heap", sort: "" })}>
                            page map
                        </a>
                    </span>
                }
            />
        </>
    );
}
