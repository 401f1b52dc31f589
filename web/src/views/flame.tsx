/* The flame graph: call paths from main() down, or from the allocating function outwards.
 * buildFlame() (model/flame.ts) merges the call paths, and Icicle draws them. Colours show the
 * module or the mean lifetime of the blocks. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { sureTo, varianceOf } from "../model/estimate.ts";
import { flameOf, frameAddress, frameOfAddress, nameMark, type Flame } from "../model/flame.ts";
import { isStriped, moduleColour } from "../model/palette.ts";
import { differenceColour } from "../model/compare.ts";
import { GROWTH, type CallTree, type Names, type Profile, fileName } from "../model/profile.ts";
import { conditionsOf, searcher, termText, withTerm } from "../model/search.ts";
import { breathe, inSlices } from "../model/slices.ts";
import { duration, exact, format, share, signed } from "../model/units.ts";
import {
    focusKey,
    knowsBlocks,
    profileNames,
    rangeOf,
    rangeShown,
    shownColumn,
    shownMetric,
    wantedSites,
} from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions, type ViewState } from "../state/url.ts";
import { flameToSvg, Icicle } from "../widgets/icicle.tsx";
import { saveCanvas, saveText } from "../widgets/save.ts";
import { csvCell } from "../widgets/save_chart.tsx";
import { Ready, useLoaded } from "../widgets/states.tsx";
import { showMenu } from "../widgets/tooltip.tsx";
import { choiceMark, keyOfChoice, placeOfKey } from "../model/focus.ts";
import { functionMenu } from "./functions.tsx";
import { unknownIn, unknownSaid } from "../model/sandwich.ts";
import { idleOf, type PageUse } from "./heat.tsx";
import { Sandwich, useSandwichSoon } from "./sandwich.tsx";
import type { Thread } from "./threads.tsx";
import type { ViewProps } from "./registry.ts";

const lifeColumns = ["lifetime_sum_ns", "free_count", "alloc_count", "realloc_count"];

/* From short-lived (light) to long-lived (dark; in the dark theme the other way): powers of ten of
 * the mean lifetime of blocks that were freed. */
const lifeSteps: readonly [number, string][] = [
    [1e3, "1 µs"],
    [1e4, "10 µs"],
    [1e5, "100 µs"],
    [1e6, "1 ms"],
    [1e7, "10 ms"],
    [1e8, "100 ms"],
    [1e9, "1 s"],
    [1e10, "10 s"],
    [Infinity, "longer"],
];
const lifeRamp = {
    light: [
        "#f1f7fb",
        "#dcebf6",
        "#c3def0",
        "#a3cbe6",
        "#7db4da",
        "#5398c9",
        "#2f7bb3",
        "#155d95",
        "#003f70",
    ],
    dark: [
        "#1d2833",
        "#223547",
        "#27435b",
        "#2c5372",
        "#33658b",
        "#3f7aa6",
        "#5492c1",
        "#75addb",
        "#9fcbf0",
    ],
};
/* Blocks of 16 B to 16 MiB, by powers of eight of their mean size: the same ramp. */
const sizeSteps: readonly [number, string][] = [
    [16, "16 B"],
    [128, "128 B"],
    [1024, "1 KiB"],
    [8192, "8 KiB"],
    [65536, "64 KiB"],
    [524288, "512 KiB"],
    [4194304, "4 MiB"],
    [33554432, "32 MiB"],
    [Infinity, "larger"],
];
const sizeColumns = ["alloc_bytes", "alloc_count"];

function sizeColour(bytes: number, count: number, dark: boolean): string {
    return lifeRamp[dark ? "dark" : "light"][
        sizeSteps.findIndex(([limit]) => (count ? bytes / count : 0) < limit)
    ]!;
}

/* Of all bytes and their time, what lay before the first write and after the last one. */
const idleSteps: readonly [number, string][] = [
    [0.01, "1 %"],
    [0.05, "5 %"],
    [0.1, "10 %"],
    [0.2, "20 %"],
    [0.4, "40 %"],
    [0.6, "60 %"],
    [0.8, "80 %"],
    [0.95, "95 %"],
    [Infinity, "more"],
];

/* What the colours show; "": the module. */
const hues = ["", "fn", "life", "size", "growth", "idle"] as const;
type Hue = (typeof hues)[number];

/* What the address asks for, if the profile has it: of a range growth, of watched pages idle time. */
const hueOf = (profile: Profile, now = state.value): Hue => {
    const chosen = hues.find((hue) => hue === getOption(now, "colour")) ?? "";
    if (chosen === "growth" && !rangeShown(profile, now)) return "";
    return chosen === "idle" && !profile.has("page_uses") ? "" : chosen;
};

/* By site, what the colours follow from: of each frame its sums. */
async function hueColumns(
    profile: Profile,
    of: CallTree,
    hue: Hue,
    now: ViewState,
): Promise<Float64Array[]> {
    if (hue === "life" || hue === "size")
        return Promise.all(
            (hue === "life" ? lifeColumns : sizeColumns).map((name) => profile.column(name)),
        );
    if (hue === "growth") {
        const { from, to, known } = (await rangeOf(profile, of, now)).growth;
        const masked = (level: Float64Array) =>
            level.map((value, site) => (known[site] ? value : 0));
        return [masked(from.level), masked(to.level), Float64Array.from(known)];
    }
    return hue === "idle" ? idleColumns(profile, of) : [];
}

async function idleColumns(profile: Profile, of: CallTree): Promise<Float64Array[]> {
    const idle = new Float64Array(of.tree.siteNode.length),
        lived = new Float64Array(of.tree.siteNode.length),
        siteOf = of.passes.siteOfNode();
    const { page_uses } = await profile.json<{ page_uses: PageUse[] | null }>("page_uses");
    for (const row of page_uses ?? []) {
        const site = siteOf[row.node ?? -1] ?? -1;
        if (site < 0) continue;
        idle[site]! += idleOf(row);
        lived[site]! += row.life_kib_ms;
    }
    return [idle, lived];
}

/* Its paths say nothing of what the colour is about. */
function isUnknownIn(hue: Hue, more: readonly number[]): boolean {
    return (hue === "growth" && !more[2]) || (hue === "idle" && !more[1]);
}

function idleColour(idle: number, lived: number, dark: boolean): string {
    return lifeRamp[dark ? "dark" : "light"][
        idleSteps.findIndex(([limit]) => idle / lived < limit)
    ]!;
}

const neverFreed = { light: "#f5c59b", dark: "#7a4520" };

/* One of the hues for all frames of a name, in every graph. */
function hueOfName(name: string): number {
    const hue = parseInt(nameMark(name), 36) % 9;
    return hue + (hue >= 7 ? 1 : 0); /* not that of what has no module */
}

function lifeColour(lifetime: number, freed: number, dark: boolean): string {
    if (!freed) return neverFreed[dark ? "dark" : "light"];
    return lifeRamp[dark ? "dark" : "light"][
        lifeSteps.findIndex(([limit]) => lifetime / freed < limit)
    ]!;
}

/* A flame graph, and what it is of: another metric or profile may be chosen while the next is on its way. */
export interface Drawn {
    profile: Profile;
    tree: CallTree;
    flame: Flame;
    metric: string;
    hue: Hue;
    unknown: number; /* call paths whose figure is not known */
    now: ViewState; /* that it was made in */
}

export function FlameView({ profile }: ViewProps): JSX.Element {
    const now = state.value,
        { collapse, hide } = now;
    const metric = shownMetric(profile, "at_peak_bytes", now);
    const inverted = getOption(now, "inverted") === "1";
    const hue = hueOf(profile, now);
    const inOrder = isInOrder(profile);
    const variance = varianceOf(profile, metric);
    const loaded = useLoaded(
        () =>
            profile.work(
                ["flame", metric, collapse, inverted, inOrder, hue, focusKey(now)].join(),
                async (): Promise<Drawn> => {
                    const tree = await profile.callTree();
                    const more = await hueColumns(profile, tree, hue, now);
                    if (variance) more.push(await profile.column(variance));
                    const column = await shownColumn(profile, tree, metric, now);
                    const wanted = wantedSites(tree, now);
                    await breathe();
                    const flame = await inSlices(
                        flameOf(tree.tree, tree.passes, column, wanted, {
                            hide,
                            collapse,
                            inverted,
                            inOrder,
                            least: 0.0001,
                            most: 100_000,
                            more,
                        }),
                    );
                    const unknown = unknownIn(column, wanted);
                    return { profile, tree, flame, metric, hue, unknown, now };
                },
            ),
        [profile, metric, collapse, inverted, inOrder, hue, focusKey(now)],
    );
    return (
        <>
            <Choices profile={profile} metric={metric} />
            <Ready of={loaded}>{(drawn) => <FlameGraph {...drawn} />}</Ready>
        </>
    );
}

/* What the user can choose of the whole graph. */
function Choices({ profile, metric }: ViewProps & { metric: string }): JSX.Element {
    const { collapse } = state.value;
    const inverted = getOption(state.value, "inverted") === "1";
    const up = getOption(state.value, "up") === "1";
    return (
        <div class="bar-row">
            <b>{profile.titleOf(metric)}</b>
            <button
                aria-pressed={inverted}
                title="From where memory is asked for outwards to main"
                onClick={() =>
                    go({
                        opt: withOptions(state.value, {
                            zoom: undefined,
                            inverted: inverted ? undefined : "1",
                        }),
                    })
                }>
                inverted
            </button>
            <button
                aria-pressed={collapse}
                title="A function that calls itself as one frame"
                onClick={() => go({ collapse: !collapse })}>
                collapse recursion
            </button>
            <button
                aria-pressed={up}
                title="The root at the bottom"
                onClick={() =>
                    go(
                        {
                            opt: withOptions(state.value, {
                                up: up ? undefined : "1",
                            }),
                        },
                        "replace",
                    )
                }>
                upwards
            </button>
            <OrderChoice profile={profile} />
            <ColourChoice profile={profile} />
            {knowsBlocks(profile) && <BlocksChoice profile={profile} />}
            <span class="dim">click: zoom · Esc: out · right click: more</span>
        </div>
    );
}

/* Why there is no order of time; "": there is. Call paths have numbers in the order in which they
 * were first seen, but not those that were made of several recordings or of another tool's. */
function whyNoOrder({ summary: { meta }, level }: Profile): string {
    if (meta["job_ranks"] !== undefined) return "Ranks ran side by side: there is no one order.";
    if (meta["imported_from"] !== undefined) return "The file that this was made of has no order.";
    return level === "resident" ? "Owners of resident memory have no order." : "";
}
const isInOrder = (profile: Profile) =>
    getOption(state.value, "order") === "time" && !whyNoOrder(profile);

function OrderChoice({ profile }: ViewProps): JSX.Element {
    const why = whyNoOrder(profile);
    return (
        <label title={why || "By time: as their call paths were first seen. Widths are no times."}>
            order{" "}
            <select
                class="behind-word"
                aria-label="Order"
                disabled={!!why}
                value={isInOrder(profile) ? "time" : ""}
                onChange={(event) =>
                    go(
                        {
                            opt: withOptions(state.value, {
                                order: event.currentTarget.value || undefined,
                            }),
                        },
                        "replace",
                    )
                }>
                <option value="">largest first</option>
                <option value="time">by first time</option>
            </select>
            {why && <span class="dim"> {why}</span>}
        </label>
    );
}

const ages: readonly string[] = [
    ">1ms",
    ">10ms",
    ">100ms",
    ">1s",
    ">10s",
    ">1min",
    ">10min",
    ">1h",
];

/* Of a trace: how old blocks are, and which thread asked for them. What is chosen stands in the search. */
function BlocksChoice({ profile }: ViewProps): JSX.Element {
    const { search } = state.value;
    const whole = profile.part?.of ?? profile;
    const said = useLoaded(
        async () =>
            whole.has("threads")
                ? ((await whole.json<{ threads: Thread[] | null }>("threads")).threads ?? [])
                : [],
        [whole],
    );
    const threads = said.state === "there" ? said.value : [];
    const choice = (about: "age" | "thread", options: readonly [string, string][]) => {
        const chosen = termText(search, about);
        return (
            <label>
                {about}{" "}
                <select
                    class="behind-word"
                    aria-label={about === "age" ? "Age of blocks" : "Thread that asked"}
                    value={chosen}
                    onChange={(event) =>
                        go(
                            { search: withTerm(search, about, event.currentTarget.value) },
                            "replace",
                        )
                    }>
                    <option value="">any</option>
                    {chosen && !options.some(([text]) => text === chosen) && (
                        <option value={chosen}>{chosen}</option>
                    )}
                    {options.map(([text, title]) => (
                        <option key={text} value={text}>
                            {title}
                        </option>
                    ))}
                </select>
            </label>
        );
    };
    const limit = whole.durationNs;
    return (
        <>
            {choice(
                "age",
                ages
                    .filter((each) => (conditionsOf(`age:${each}`).age?.least ?? 0) < limit)
                    .map((each) => [each, each.replace(">", "over ")]),
            )}
            {threads.length > 1 &&
                choice(
                    "thread",
                    threads.map(({ tid, name }) => [String(tid), `${tid} ${name ?? ""}`.trim()]),
                )}
        </>
    );
}

function ColourChoice({ profile }: ViewProps): JSX.Element {
    const several = profileNames.value.length > 1;
    return (
        <label>
            colour{" "}
            <select
                class="behind-word"
                aria-label="Colour"
                value={hueOf(profile)}
                onChange={(event) => {
                    const chosen = event.currentTarget.value;
                    if (chosen === "difference")
                        go({
                            view: "compare",
                            sort: "",
                            opt: "as:flame",
                            other:
                                state.value.other >= 0
                                    ? state.value.other
                                    : profileNames.value.findIndex((_, at) => at !== profile.index),
                        });
                    else
                        go(
                            {
                                opt: withOptions(state.value, {
                                    colour: chosen || undefined,
                                }),
                            },
                            "replace",
                        );
                }}>
                <option value="">by module</option>
                <option value="fn">by function</option>
                <option value="life">by lifetime</option>
                <option value="size">by size of block</option>
                <option value="growth" disabled={!rangeShown(profile)}>
                    by growth in the range
                </option>
                <option value="idle" disabled={!profile.has("page_uses")}>
                    by time without use
                </option>
                {several && <option value="difference">by difference…</option>}
            </select>
        </label>
    );
}

/* The frames that the search finds, and their sum, in which each path counts once. With "!": the
 * frames that no such frame is on the way to, and the sum of paths without any. */
function findIn(
    flame: Flame,
    names: Names,
    search: string,
): { matches: Uint8Array; value: number } | null {
    if (!searcher(search)) return null;
    const not = search.startsWith("!");
    const has = names.finder(not ? search.slice(1) : search);
    const matches = new Uint8Array(flame.frames.length);
    const inside = new Uint8Array(flame.frames.length);
    let value = 0;
    flame.frames.forEach((frame, at) => {
        if (at === 0) return;
        const is = has(frame.line);
        matches[at] = is ? 1 : 0;
        inside[at] = matches[at]! | inside[frame.parent]!;
        if (is && !inside[frame.parent]) value += frame.value; /* each path once */
    });
    if (!not) return { matches, value };
    const others = inside.map((is, at) => (at && !is ? 1 : 0));
    return { matches: others, value: flame.frames[0]!.value - value };
}

function FrameTip({
    tree: { names },
    flame,
    at,
    profile,
    metric,
    hue,
}: Drawn & { at: number }): JSX.Element {
    const unit = profile.unitOf(metric);
    const total = flame.frames[0]!.value;
    const frame = flame.frames[at]!;
    /* Of a sample, how sure the figure is: the variance is the last of a frame's further sums. */
    const error = sureTo(profile, metric, frame.value, frame.more.at(-1) ?? 0);
    const sure = error && <span data-sure>{error} </span>;
    if (at === 0)
        return (
            <>
                {sure}
                {exact(frame.value, unit)}
            </>
        );
    return (
        <>
            <b>{names.ofLine(frame.line).slice(0, 1000)}</b>
            <div class="dim">{names.place(frame.line)}</div>
            <div>
                {format(frame.value, unit)} {sure}({share(frame.value / total)}):{" "}
                {exact(frame.value, unit)}
            </div>
            {hue === "growth" && (
                <div class="dim">
                    {frame.more[2]
                        ? `its paths here: at the range's beginning ${format(frame.more[0], "bytes")}, at its end ${format(frame.more[1], "bytes")}: ${signed(frame.more[1]! - frame.more[0]!, "bytes")}`
                        : "what it grew by is not known"}
                </div>
            )}
            {hue === "idle" && (
                <div class="dim">
                    {frame.more[1]
                        ? `unused ${share(frame.more[0]! / frame.more[1])} of its bytes' time`
                        : "its pages were not watched"}
                </div>
            )}
            {hue === "size" && !!frame.more[1] && (
                <div class="dim">
                    its blocks had {format(frame.more[0]! / frame.more[1], "bytes")} on average
                </div>
            )}
            {hue === "life" && frame.more.length > 0 && (
                <div class="dim">
                    {frame.more[1] ? (
                        <>
                            its blocks lived {duration(frame.more[0]! / frame.more[1])} on average,{" "}
                            {share(frame.more[1] / (frame.more[2]! + frame.more[3]!))} were freed
                        </>
                    ) : (
                        "none of its blocks was freed"
                    )}
                </div>
            )}
            {frame.self > 0 && frame.self !== frame.value && (
                <div class="dim">of it itself {format(frame.self, unit)}</div>
            )}
        </>
    );
}

function SaveFlame({
    of,
    flame,
    name,
    fill,
    striped,
}: {
    of: CallTree;
    flame: Flame;
    name: (at: number) => string;
    fill: (at: number) => string;
    striped: (at: number) => boolean;
}): JSX.Element {
    const { names } = of;
    return (
        <span class="together">
            <button
                class="plain"
                onClick={() =>
                    saveText(
                        "flame.svg",
                        "image/svg+xml",
                        flameToSvg(flame, 1600, name, fill, striped),
                    )
                }>
                SVG
            </button>
            <button
                class="plain"
                onClick={() =>
                    saveCanvas(
                        "flame.png",
                        document.querySelector<HTMLCanvasElement>(".icicle canvas")!,
                    )
                }>
                PNG
            </button>
            <button
                class="plain"
                onClick={() => saveText("flame.csv", "text/csv", flameToCsv(flame, of))}>
                CSV
            </button>
            <button
                class="plain"
                onClick={() =>
                    saveText("flame.folded", "text/plain", folded(flame, names.ofKey.bind(names)))
                }>
                folded stacks
            </button>
        </span>
    );
}

function FlameGraph(drawn: Drawn): JSX.Element {
    const { tree: of, flame, metric, profile, hue, unknown } = drawn;
    const { names, tree } = of;
    const { search } = state.value;
    useSandwichSoon(drawn);
    const dark = theme.value === "dark";
    const unit = profile.unitOf(metric);
    const total = flame.frames[0]!.value;
    const address = getOption(state.value, "zoom") ?? "";
    const nameOf = (at: number) => names.ofLine(flame.frames[at]!.line);
    const { at: zoom, isWhole } = useMemo(
        () => frameOfAddress(flame, address, nameOf),
        [flame, address],
    );
    const name = (at: number) =>
        at === 0 ? `all ${format(total, unit)}` : names.shortOfLine(flame.frames[at]!.line);
    const moduleOf = (at: number) => tree.codeModule[names.codeOfLine(flame.frames[at]!.line)]!;
    const placeOf = (at: number) => (moduleOf(at) < 0 ? -1 : names.placeOfModule(moduleOf(at)));
    const fill = useMemo(
        () => (at: number) => {
            if (at === 0) return dark ? "#0f1113" : "#eceef1";
            const { more } = flame.frames[at]!;
            if (hue === "life" && more.length) return lifeColour(more[0]!, more[1]!, dark);
            if (hue === "size" && more.length) return sizeColour(more[0]!, more[1]!, dark);
            if (isUnknownIn(hue, more)) return moduleColour(-1, dark);
            if (hue === "growth") return differenceColour(more[0]!, more[1]!, dark);
            if (hue === "idle") return idleColour(more[0]!, more[1]!, dark);
            return moduleColour(hue === "fn" ? hueOfName(nameOf(at)) : placeOf(at), dark);
        },
        [flame, dark, hue],
    );
    const striped = useMemo(
        () => (at: number) =>
            at > 0 && (hue ? isUnknownIn(hue, flame.frames[at]!.more) : isStriped(placeOf(at))),
        [flame, hue],
    );
    const found = useMemo(() => findIn(flame, names, search), [flame, search]);
    const chosen = useMemo(() => chosenKey(of, flame, zoom), [of, flame, zoom, state.value.opt]);
    const zoomTo = (at: number) =>
        go({
            opt: withOptions(state.value, {
                zoom: frameAddress(flame, at, nameOf) || undefined,
                sel: undefined,
            }),
        });
    const tip = (at: number) => <FrameTip {...drawn} at={at} />;
    if (!total)
        return (
            <div class="empty">
                No call path {unknown > 0 && "of which it is known "}has any “
                {profile.titleOf(metric)}”
                {state.value.fn >= 0 || state.value.node >= 0 ? " in this focus" : ""}
                {unknown > 0 && `; ${unknownSaid(unknown)}`}.
            </div>
        );
    return (
        <>
            {!isWhole && (
                <FrameGone
                    name={zoom ? names.shortOfLine(flame.frames[zoom]!.line) : "all of it"}
                />
            )}
            <Icicle
                flame={flame}
                label={`Flame graph of ${profile.titleOf(metric)}, ${flame.frames.length} frames`}
                name={name}
                fill={fill}
                striped={striped}
                tip={tip}
                matches={found?.matches ?? null}
                zoom={zoom}
                upwards={getOption(state.value, "up") === "1"}
                epoch={theme.value}
                onZoom={zoomTo}
                onNext={found ? (by) => zoomTo(nextMatch(found.matches, zoom, by)) : undefined}
                onMenu={(at, x, y) =>
                    at > 0 &&
                    showMenu(
                        x,
                        y,
                        functionMenu(
                            flame.frames[at]!.key,
                            names.ofLine(flame.frames[at]!.line),
                            placeOfKey(of, flame.frames[at]!.key),
                        ),
                    )
                }
            />
            <div class="bar-row dim">
                {metric === GROWTH && <span>what grew, path by path: what went has no width</span>}
                <span>
                    {exact(flame.frames.length - 1, "count")} frames
                    {flame.cut
                        ? `; ${exact(flame.cut, "count")} too narrow to be opened further`
                        : ""}
                </span>
                {unknown > 0 && <span data-unknown>{unknownSaid(unknown)}: no width</span>}
                {found && (
                    <span data-found title={exact(found.value, unit)}>
                        search: <b>{format(found.value, unit)}</b> ({share(found.value / total)})
                    </span>
                )}
                {found && (
                    <Matches
                        matches={found.matches}
                        zoom={zoom}
                        onNext={(by) => zoomTo(nextMatch(found.matches, zoom, by))}
                    />
                )}
                <Legend
                    flame={flame}
                    hue={hue}
                    dark={dark}
                    module={(at) => names.module(moduleOf(at)) ?? ""}
                    fill={fill}
                    striped={striped}
                />
                <span class="spring" />
                <SaveFlame of={of} flame={flame} name={name} fill={fill} striped={striped} />
            </div>
            {chosen >= 0 && <Sandwich {...drawn} chosen={chosen} />}
        </>
    );
}

/* The function that the pane is about: that which was chosen by name, or the zoomed frame's; -1: none. */
function chosenKey(of: CallTree, flame: Flame, zoom: number): number {
    const mark = getOption(state.value, "sel");
    if (!mark) return zoom > 0 ? flame.frames[zoom]!.key : -1;
    for (const key of new Set(flame.frames.map((frame) => frame.key)))
        if (key >= 0 && choiceMark(of.names.ofKey(key), placeOfKey(of, key)) === mark) return key;
    return keyOfChoice(of, mark);
}

/* The next frame that the search finds, from one on; around the end. */
export function nextMatch(matches: Uint8Array, from: number, by: 1 | -1): number {
    for (let step = 1; step <= matches.length; step++) {
        const at = (from + by * step + matches.length * 2) % matches.length;
        if (matches[at]) return at;
    }
    return from;
}

/* How many frames were found, which of them is chosen, and the way to the others. */
export function Matches({
    matches,
    zoom,
    what = "frame",
    onNext,
}: {
    matches: Uint8Array;
    zoom: number;
    what?: string;
    onNext: (by: 1 | -1) => void;
}): JSX.Element {
    let count = 0,
        place = 0;
    for (let at = 0; at < matches.length; at++) {
        count += matches[at]!;
        if (at === zoom && matches[at]) place = count;
    }
    return (
        <span class="together" data-matches>
            {place ? `${exact(place, "count")} of ` : ""}
            {exact(count, "count")} {count === 1 ? what : `${what}s`}{" "}
            {count > 0 && (
                <>
                    <button aria-label="Previous match" title="N" onClick={() => onNext(-1)}>
                        ‹
                    </button>{" "}
                    <button aria-label="Next match" title="n" onClick={() => onNext(1)}>
                        ›
                    </button>
                </>
            )}
        </span>
    );
}

/* Instead of a frame that there is not any more. */
export function FrameGone({ name }: { name: string }): JSX.Element {
    return (
        <p class="notice" role="status" data-gone>
            The frame of this address is not in this graph. Shown is the nearest that leads there:{" "}
            {name}.
        </p>
    );
}

/* What the colours mean: of modules those with most. */
function Legend({
    flame,
    hue,
    dark,
    module,
    fill,
    striped,
}: {
    flame: Flame;
    hue: Hue;
    dark: boolean;
    module: (at: number) => string;
    fill: (at: number) => string;
    striped: (at: number) => boolean;
}): JSX.Element {
    const modules = useMemo(() => {
        const known = new Map<string, { tone: string; stripes: boolean; self: number }>();
        for (let at = 1; at < flame.frames.length && !hue; at++) {
            const name = module(at),
                entry = known.get(name);
            if (entry) entry.self += flame.frames[at]!.self + 1;
            else
                known.set(name, {
                    tone: fill(at),
                    stripes: striped(at),
                    self: flame.frames[at]!.self + 1,
                });
        }
        return [...known]
            .filter(([name]) => name)
            .sort((a, b) => b[1].self - a[1].self)
            .slice(0, 6)
            .map(([name, { tone, stripes }]): [string, string] => [
                fileName(name),
                stripes
                    ? `repeating-linear-gradient(90deg, #00000059 0 1.5px, ${tone} 1.5px 5px)`
                    : tone,
            ]);
    }, [flame, hue, fill]);
    const ramp = (steps: readonly [number, string][]) =>
        steps.map(([, title], at): [string, string] => [
            at < 8 ? `< ${title}` : title,
            lifeRamp[dark ? "dark" : "light"][at]!,
        ]);
    const growthEntries: [string, string][] = [
        ["more", differenceColour(0, 1, dark)],
        ["as it was", differenceColour(1, 1, dark)],
        ["less", differenceColour(1, 0, dark)],
        [
            "not known",
            `repeating-linear-gradient(90deg, #00000059 0 1.5px, ${moduleColour(-1, dark)} 1.5px 5px)`,
        ],
    ];
    const entries =
        hue === "life"
            ? [
                  ...ramp(lifeSteps),
                  ["never freed", neverFreed[dark ? "dark" : "light"]] as [string, string],
              ]
            : hue === "size"
              ? ramp(sizeSteps)
              : hue === "idle"
                ? ramp(idleSteps)
                : hue === "growth"
                  ? growthEntries
                  : modules;
    return (
        <span class="legend flush">
            {entries.map(([title, tone]) => (
                <span key={title}>
                    <span class="swatch" style={{ "--tone": tone }} />
                    {title}
                </span>
            ))}
        </span>
    );
}

/* A row for each frame: its parent's number, what it is, and its figures. */
function flameToCsv(flame: Flame, { names, tree }: CallTree): string {
    const rows = flame.frames.map((frame, at) =>
        at === 0
            ? [0, "", 0, "all", "", "", frame.value, frame.self]
            : [
                  at,
                  frame.parent,
                  frame.depth,
                  names.ofLine(frame.line),
                  names.place(frame.line),
                  names.module(tree.codeModule[names.codeOfLine(frame.line)]!) ?? "",
                  frame.value,
                  frame.self,
              ],
    );
    return (
        [
            "frame,parent,depth,function,place,module,value,self",
            ...rows.map((row) => row.map(csvCell).join(",")),
        ].join("\n") + "\n"
    );
}

/* "main;solve;push_back 1234", as flame graph tools read it: every frame with something of its own,
 * or with children that were too narrow to be opened. */
export function folded(flame: Flame, name: (key: number) => string): string {
    const below = new Float64Array(flame.frames.length);
    for (const frame of flame.frames) if (frame.parent >= 0) below[frame.parent]! += frame.value;
    const lines: string[] = [];
    flame.frames.forEach((frame, at) => {
        const own = Math.round(frame.value - below[at]!);
        if (at === 0 || own <= 0) return;
        const path: string[] = [];
        for (let up = at; up > 0; up = flame.frames[up]!.parent)
            path.push(name(flame.frames[up]!.key).replace(/[;\n]/g, ":"));
        lines.push(`${path.reverse().join(";")} ${own}`);
    });
    return lines.join("\n") + "\n";
}
