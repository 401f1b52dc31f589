/* Who calls whom, in three forms: a graph around the function in focus, a table of its callers
 * and callees, and the call tree as rows that open. Graphviz lays out the graph in a worker
 * (graph_worker.ts). */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { assetUrl } from "../data/embedded.ts";
import { childrenOf, depthFirst, downRows, type DownRow } from "../model/down.ts";
import { flameOf, type Flame } from "../model/flame.ts";
import { choiceMark, functionMark, placeOfKey } from "../model/focus.ts";
import { edgesOf, pruneGraph, shares, toDot, usualShare, type Edge } from "../model/graph.ts";
import { shortName } from "../model/names.ts";
import { searcher } from "../model/search.ts";
import { type CallTree, fileName, GROWTH, titleOf } from "../model/profile.ts";
import { drawnPart, unknownIn, unknownSaid } from "../model/sandwich.ts";
import { exact, format, isKnown, share, type Unit } from "../model/units.ts";
import {
    focusKey,
    pathKey,
    pathSites,
    shownColumn,
    shownMetric,
    wantedSites,
} from "../state/profiles.ts";
import { inSlices } from "../model/slices.ts";
import { go, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions } from "../state/url.ts";
import { savePicture, saveText } from "../widgets/save.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Ready, useLoaded } from "../widgets/states.tsx";
import { showMenu, type MenuItem } from "../widgets/tooltip.tsx";
import { Matches, nextMatch } from "./flame.tsx";
import { functionMenu } from "./functions.tsx";
import type { ViewProps } from "./registry.ts";

interface Calls extends ViewProps {
    of: CallTree;
    metric: string;
    edges: Edge[];
    inclusive: Float64Array;
    exclusive: Float64Array;
    total: number;
    unknown: number; /* call paths */
}

/* The tree table needs no calls between functions: of a large profile they take as long as the
 * table. */
export function TreeView({ profile }: ViewProps): JSX.Element {
    const as = getOption(state.value, "as") ?? "graph";
    return as === "down" ? <DownView profile={profile} /> : <CallsView profile={profile} as={as} />;
}

function CallsView({ profile, as }: ViewProps & { as: string }): JSX.Element {
    const now = state.value,
        { hide } = now;
    const metric = shownMetric(profile, "at_peak_bytes", now);
    useEffect(() => {
        if (as !== "table") engineOf().catch(() => undefined); /* layOut() says why */
    }, [as]);
    const loaded = useLoaded(
        () =>
            profile.work(["calls", metric, pathKey(now)].join(), async (): Promise<Calls> => {
                const of = await profile.callTree();
                const shown = await shownColumn(profile, of, metric, now),
                    column = metric === GROWTH ? drawnPart(shown) : shown;
                /* the focus on a function chooses what is drawn, not which paths count */
                const wanted = pathSites(of, now);
                const exclusive = await inSlices(
                    of.passes.exclusiveByKeyInSlices(column, wanted, hide),
                );
                return {
                    profile,
                    of,
                    metric,
                    edges: await inSlices(edgesOf(of.passes, column, wanted, hide)),
                    inclusive: await inSlices(
                        of.passes.inclusiveByKeyInSlices(column, wanted, hide),
                    ),
                    exclusive,
                    total: exclusive.reduce((a, b) => a + (b || 0), 0),
                    unknown: unknownIn(column, wanted),
                };
            }),
        [profile, metric, pathKey(now)],
    );
    return (
        <Ready of={loaded}>
            {(calls) =>
                !calls.total && (as !== "table" || !calls.unknown) ? (
                    <Nothing {...calls} />
                ) : as === "table" ? (
                    <>
                        <Bar {...calls} />
                        <Butterfly
                            calls={calls}
                            unit={calls.profile.unitOf(calls.metric)}
                            search={state.value.search}
                        />
                    </>
                ) : (
                    <Graph calls={calls} />
                )
            }
        </Ready>
    );
}

function Nothing({
    profile,
    metric,
    unknown,
}: ViewProps & { metric: string; unknown: number }): JSX.Element {
    return (
        <div class="empty">
            No call path {unknown > 0 && "of which it is known "}has any “{profile.titleOf(metric)}”
            {unknown > 0 && `; ${unknownSaid(unknown)}`}.
        </div>
    );
}

/* What is shown, as what, and what is left out. */
function Bar({
    profile,
    of,
    metric,
    unknown,
    children,
}: ViewProps & {
    of: CallTree;
    metric: string;
    unknown: number;
    children?: ComponentChildren;
}): JSX.Element {
    const as = getOption(state.value, "as") ?? "graph",
        hidden = hiddenKeys(of);
    const choice = (id: string, title: string) => (
        <button
            aria-pressed={as === id}
            onClick={() =>
                go(
                    {
                        sort: "",
                        opt: withOptions(state.value, { as: id === "graph" ? undefined : id }),
                    },
                    "replace",
                )
            }>
            {title}
        </button>
    );
    return (
        <div class="bar-row">
            <b>{profile.titleOf(metric)}</b>
            {choice("graph", "graph")}
            {choice("down", "tree table")}
            {choice("table", "callers and callees")}
            {hidden.size > 0 && (
                <span data-hidden title={[...hidden].map((key) => of.names.ofKey(key)).join("\n")}>
                    {hidden.size} hidden{" "}
                    <button class="plain" onClick={() => go({ opt: withHidden([]) })}>
                        show again
                    </button>
                </span>
            )}
            {children}
            {metric === GROWTH && (
                <span class="dim">what grew, path by path: what went is not in it</span>
            )}
            {unknown > 0 && (
                <span class="dim" data-unknown>
                    {unknownSaid(unknown)}
                </span>
            )}
        </div>
    );
}

let worker: Promise<Worker> | null = null;
let asked = 0;

/* It comes while calls are added up. */
const engineOf = (): Promise<Worker> =>
    (worker ??= assetUrl("graph.js").then((url) => new Worker(url)));

async function layOut(dot: string): Promise<string> {
    const engine = await engineOf();
    const id = ++asked;
    return new Promise((resolve, reject) => {
        const listen = (event: MessageEvent<{ id: number; svg?: string; error?: string }>) => {
            if (event.data.id !== id) return;
            engine.removeEventListener("message", listen);
            if (event.data.svg !== undefined) resolve(event.data.svg);
            else reject(new Error(event.data.error));
        };
        engine.addEventListener("message", listen);
        engine.addEventListener(
            "error",
            () => reject(new Error("The graph engine could not be loaded.")),
            { once: true },
        );
        engine.postMessage({ id, dot });
    });
}

/* Functions that are not drawn, by hand: the address has their names. */
const hiddenMarks = () => (getOption(state.value, "hidden") ?? "").split(".").filter(Boolean);
function hiddenKeys(of: CallTree): ReadonlySet<number> {
    const marks = new Set(hiddenMarks()),
        keys = new Set<number>();
    for (let key = 0; key < of.tree.keyCount && marks.size; key++)
        if (marks.has(markOf(of, key)) || marks.has(functionMark(of.names.ofKey(key))))
            keys.add(key);
    return keys;
}
const withHidden = (marks: readonly string[]) =>
    withOptions(state.value, { hidden: marks.join(".") || undefined });

const markOf = (of: CallTree, key: number) => choiceMark(of.names.ofKey(key), placeOfKey(of, key));

/* What one can do with a function here: as everywhere, and to have it out of the way. */
function treeMenu(of: CallTree, key: number): MenuItem[] {
    const items = functionMenu(key, of.names.ofKey(key), placeOfKey(of, key));
    items.splice(-1, 0, {
        title: "Hide it here",
        run: () => go({ opt: withHidden([...hiddenMarks(), markOf(of, key)]) }),
    });
    return items;
}

const numberOption = (name: string, usual: number) => Number(getOption(state.value, name) ?? usual);

/* A number that the URL keeps by `name`. */
function NumberChoice({
    name,
    title,
    values,
    usual,
    suffix = "",
}: {
    name: string;
    title: string;
    values: readonly number[];
    usual: number;
    suffix?: string;
}): JSX.Element {
    return (
        <label>
            {title}{" "}
            <select
                class="behind-word"
                aria-label={title}
                value={numberOption(name, usual)}
                onChange={(event) =>
                    go(
                        { opt: withOptions(state.value, { [name]: event.currentTarget.value }) },
                        "replace",
                    )
                }>
                {values.map((value) => (
                    <option key={value} value={value}>
                        {value}
                        {suffix}
                    </option>
                ))}
            </select>
        </label>
    );
}

function Graph({ calls }: { calls: Calls }): JSX.Element {
    const { profile, of, metric, edges, inclusive, exclusive, total, unknown } = calls;
    const { fn, search } = state.value;
    const unit = profile.unitOf(metric);
    const up = numberOption("up", 4),
        down = numberOption("down", 6);
    const hiding = getOption(state.value, "hidden") ?? "",
        hidden = useMemo(() => hiddenKeys(of), [of, hiding]);
    const usual = useMemo(
        () =>
            usualShare(edges, inclusive, exclusive, total, {
                focus: fn,
                up,
                down,
                most: 120,
                hidden,
            }),
        [edges, fn, up, down, hidden],
    );
    const least = numberOption("least", usual);
    const dark = theme.value === "dark";
    const graph = useMemo(
        () =>
            pruneGraph(edges, inclusive, exclusive, {
                focus: fn,
                least: (total * least) / 100,
                up,
                down,
                most: 120,
                hidden,
            }),
        [edges, fn, least, up, down, hidden],
    );
    const dot = useMemo(
        () =>
            toDot(graph, {
                name: (key) => titleOf(of.names.ofKey(key), of.names.file(of.names.fileOfKey(key))),
                full: (key) => of.names.ofKey(key),
                value: (value) => format(value, unit),
                total,
                inclusive,
                exclusive,
                focus: fn,
                dark,
            }),
        [graph, dark],
    );
    const svg = useLoaded(async () => ({ text: await layOut(dot), dark }), [dot]);
    const has = useMemo(() => searcher(search), [search]),
        isFound = (key: number) => !!has && has(of.names.searchedOfKey(key));
    const matches = useMemo(
        () => has && Uint8Array.from(graph.keys, (key) => (isFound(key) ? 1 : 0)),
        [graph, has],
    );
    const [comeTo, setComeTo] = useState(-1); /* a key */
    useLayoutEffect(() => setComeTo(-1), [graph, search]);
    /* from the largest on */
    const goOn = (by: 1 | -1) => {
        const at = graph.keys.indexOf(comeTo);
        setComeTo(graph.keys[nextMatch(matches!, at < 0 && by < 0 ? 0 : at, by)] ?? -1);
    };
    const reached = useMemo(
        () => [...inclusive.keys()].filter((key) => inclusive[key] !== 0),
        [inclusive],
    );
    return (
        <>
            <Bar profile={profile} of={of} metric={metric} unknown={unknown}>
                <NumberChoice
                    name="least"
                    title="at least"
                    values={shares}
                    usual={usual}
                    suffix=" %"
                />
                {fn >= 0 && (
                    <>
                        <NumberChoice
                            name="up"
                            title="callers"
                            values={[0, 1, 2, 4, 8, 30]}
                            usual={4}
                        />
                        <NumberChoice
                            name="down"
                            title="callees"
                            values={[0, 1, 2, 4, 6, 12, 30]}
                            usual={6}
                        />
                    </>
                )}
                <span class="dim">
                    double click: focus · right click: more · wheel: zoom · drag: move · 0: all of
                    it
                </span>
            </Bar>
            <Ready of={svg}>
                {({ text, dark: drawnDark }) => (
                    <Picture
                        svg={text}
                        dark={drawnDark}
                        of={of}
                        find={search}
                        middle={fn >= 0 ? fn : (graph.keys[0] ?? -1)}
                        chosen={comeTo}
                        onNext={matches ? goOn : undefined}
                    />
                )}
            </Ready>
            <div class="visually-hidden" aria-live="polite">
                {comeTo >= 0 &&
                    `${of.names.ofKey(comeTo).slice(0, 1000)}: ${exact(inclusive[comeTo], unit)}`}
            </div>
            <div class="bar-row dim">
                {has && (
                    <span data-found>
                        search: {exact(graph.keys.filter(isFound).length, "count")} of the functions
                        that are drawn, {exact(reached.filter(isFound).length, "count")} of all
                    </span>
                )}
                {matches?.includes(1) && (
                    <Matches
                        matches={matches}
                        zoom={graph.keys.indexOf(comeTo)}
                        what="function"
                        onNext={goOn}
                    />
                )}
                <span>
                    {graph.keys.length} functions, {graph.edges.length} calls
                    {graph.left ? `; ${graph.left} more are not drawn` : ""}
                </span>
                <span class="spring" />
                <button
                    class="plain"
                    onClick={() =>
                        svg.state === "there" && void savePicture("calls.png", svg.value.text)
                    }>
                    PNG
                </button>
                <button
                    class="plain"
                    onClick={() =>
                        svg.state === "there" &&
                        saveText("calls.svg", "image/svg+xml", svg.value.text)
                    }>
                    SVG
                </button>
                <button
                    class="plain"
                    onClick={() => saveText("calls.dot", "text/vnd.graphviz", dot)}>
                    DOT
                </button>
            </div>
        </>
    );
}

const keyOf = (target: EventTarget | null) => {
    const node = target instanceof Element ? target.closest("g.node") : null;
    return node ? Number(node.id.slice(1)) : -1;
};

const SMALLEST = 0.75; /* of letters that can be read, at first */

interface Moved {
    x: number;
    y: number;
    zoom: number;
}

/* As much as fits, but not smaller than `smallest`; what does not fit shows the node in the
 * middle. */
function fitted(
    box: HTMLElement,
    size: { width: number; height: number },
    middle: number,
    smallest: number,
): Moved {
    const { width, height } = size,
        room = box.parentElement!;
    const zoom = Math.max(
        smallest,
        Math.min(1.25, (room.clientWidth - 8) / width, (room.clientHeight - 8) / height),
    );
    const place = (length: number, whole: number, at: number) =>
        length * zoom <= whole
            ? (whole - length * zoom) / 2
            : Math.min(4, Math.max(whole - length * zoom - 4, whole / 2 - at * zoom));
    const at = placeOfNode(box, size, middle) ?? { x: 0, y: 0 };
    return {
        zoom,
        x: place(width, room.clientWidth, at.x),
        y: height * zoom <= room.clientHeight ? 4 : place(height, room.clientHeight, at.y),
    };
}

/* Graphviz measures Arial: where another font takes its place letters are wider, and a name would stick out of its
 * box. */
function narrowNames(box: HTMLElement): void {
    const wide: [SVGTextElement, number][] = [];
    for (const node of box.querySelectorAll("g.node")) {
        const room = node.querySelector<SVGGraphicsElement>("polygon")?.getBBox().width;
        if (room)
            for (const text of node.querySelectorAll("text"))
                if (text.getComputedTextLength() > room - 8) wide.push([text, room - 8]);
    }
    for (const [text, room] of wide) {
        text.setAttribute("textLength", String(room));
        text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
}

/* Puts the drawing into the box, without what could run or load; its size in CSS pixels. */
function show(svg: string, box: HTMLElement): { width: number; height: number } {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    parsed.querySelectorAll("script, foreignObject, image").forEach((each) => each.remove());
    parsed
        .querySelectorAll("a")
        .forEach((each) =>
            each.replaceWith(...each.childNodes),
        ); /* Graphviz hangs tooltips on links */
    const pixels = (name: string) =>
        Math.max(1, parseFloat(parsed.getAttribute(name) ?? "0") * (4 / 3));
    box.replaceChildren(document.importNode(parsed, true));
    narrowNames(box);
    return { width: pixels("width"), height: pixels("height") };
}

/* Where a function's box is in the drawing, in CSS pixels at its own size; null: it is not drawn. */
function placeOfNode(
    box: HTMLElement,
    { width }: { width: number },
    key: number,
): { x: number; y: number } | null {
    const node = box.querySelector(`#n${key}`)?.getBoundingClientRect(),
        all = box.firstElementChild?.getBoundingClientRect();
    if (!node || !all) return null;
    const scale = all.width ? width / all.width : 1;
    return {
        x: (node.left + node.width / 2 - all.left) * scale,
        y: (node.top + node.height / 2 - all.top) * scale,
    };
}

/* The point under the pointer stays where it is. */
function zoomedAt(now: Moved, x: number, y: number, factor: number): Moved {
    const zoom = Math.min(4, Math.max(0.05, now.zoom * factor));
    return { zoom, x: x - ((x - now.x) * zoom) / now.zoom, y: y - ((y - now.y) * zoom) / now.zoom };
}

/* `middle`: the function that is in sight at first, where not all are. `chosen`: the one of what is found
 * that one has come to; -1: none. */
function Picture({
    svg,
    dark,
    of,
    find,
    middle,
    chosen,
    onNext,
}: {
    svg: string;
    dark: boolean;
    of: CallTree;
    find: string;
    middle: number;
    chosen: number;
    onNext: ((by: 1 | -1) => void) | undefined;
}): JSX.Element {
    const box = useRef<HTMLDivElement>(null);
    const [moved, setMoved] = useState({ x: 0, y: 0, zoom: 1 });
    const size = useRef({ width: 1, height: 1 });
    const fit = (smallest: number) =>
        setMoved(fitted(box.current!, size.current, middle, smallest));
    useEffect(() => {
        size.current = show(svg, box.current!);
        fit(SMALLEST);
    }, [svg]);
    useEffect(() => {
        const has = searcher(find);
        box.current!.querySelectorAll<SVGGElement>("g.node").forEach((each) => {
            const key = Number(each.id.slice(1));
            each.classList.toggle("faded", !!has && !has(of.names.searchedOfKey(key)));
        });
    }, [svg, find]);
    useEffect(() => {
        box.current!.querySelectorAll<SVGGElement>("g.node").forEach((each) =>
            each.classList.toggle("come-to", each.id === `n${chosen}`),
        );
        const room = box.current!.parentElement!,
            at = placeOfNode(box.current!, size.current, chosen);
        if (at)
            setMoved(({ zoom }) => ({
                zoom,
                x: room.clientWidth / 2 - at.x * zoom,
                y: room.clientHeight / 2 - at.y * zoom,
            }));
    }, [svg, chosen]);
    const onKey = (event: KeyboardEvent) => {
        const steps: Record<string, [number, number]> = {
            ArrowLeft: [60, 0],
            ArrowRight: [-60, 0],
            ArrowUp: [0, 60],
            ArrowDown: [0, -60],
        };
        const step = steps[event.key];
        if (step) setMoved((now) => ({ ...now, x: now.x + step[0], y: now.y + step[1] }));
        else if (onNext && (event.key === "n" || event.key === "N"))
            onNext(event.key === "n" ? 1 : -1);
        else if (event.key === "0") fit(0.05);
        else if (event.key === "1") fit(1);
        else if (event.key === "+" || event.key === "-")
            setMoved((now) => ({
                ...now,
                zoom: now.zoom * (event.key === "+" ? 1.2 : 0.83),
            }));
        else return;
        event.preventDefault();
    };
    const drag = useRef<{ x: number; y: number } | null>(null);
    return (
        <div
            class="chart graph"
            tabIndex={0}
            role="group"
            aria-label="Call graph"
            onWheel={(event) => {
                event.preventDefault();
                const area = event.currentTarget.getBoundingClientRect(),
                    x = event.clientX - area.left,
                    y = event.clientY - area.top;
                setMoved((now) => zoomedAt(now, x, y, event.deltaY > 0 ? 0.88 : 1.14));
            }}
            onKeyDown={onKey}
            onPointerDown={(event) => {
                if (event.button) return;
                drag.current = { x: event.clientX - moved.x, y: event.clientY - moved.y };
            }}
            onPointerMove={(event) =>
                drag.current &&
                setMoved((now) => ({
                    ...now,
                    x: event.clientX - drag.current!.x,
                    y: event.clientY - drag.current!.y,
                }))
            }
            onPointerUp={() => {
                drag.current = null;
            }}
            onPointerLeave={() => {
                drag.current = null;
            }}
            onDblClick={(event) => {
                const key = keyOf(event.target);
                if (key >= 0) go({ fn: key });
            }}
            onContextMenu={(event) => {
                const key = keyOf(event.target);
                if (key < 0) return;
                event.preventDefault();
                showMenu(event.clientX, event.clientY, treeMenu(of, key));
            }}>
            <div
                ref={box}
                class={dark ? "drawn drawn-dark" : "drawn"}
                style={{ "--move": `translate(${moved.x}px, ${moved.y}px) scale(${moved.zoom})` }}
            />
        </div>
    );
}

/* The call tree from main() inwards, as rows that open. */
function DownView({ profile }: ViewProps): JSX.Element {
    const now = state.value,
        { hide, collapse } = now;
    const metric = shownMetric(profile, "at_peak_bytes", now);
    const loaded = useLoaded(
        () =>
            profile.work(["down", metric, collapse, focusKey(now)].join(), async () => {
                const of = await profile.callTree();
                const column = await shownColumn(profile, of, metric, now),
                    wanted = wantedSites(of, now);
                const flame = await inSlices(
                    flameOf(of.tree, of.passes, column, wanted, {
                        hide,
                        collapse,
                        inverted: false,
                        least: 0.0002,
                        most: 100_000,
                    }),
                );
                const unknown = unknownIn(column, wanted);
                return { profile, of, metric, flame, unknown, children: childrenOf(flame) };
            }),
        [profile, metric, collapse, focusKey(now)],
    );
    return (
        <Ready of={loaded}>
            {({ profile, of, metric, flame, unknown, children }) =>
                !flame.frames[0]!.value ? (
                    <Nothing profile={profile} metric={metric} unknown={unknown} />
                ) : (
                    <>
                        <Bar profile={profile} of={of} metric={metric} unknown={unknown} />
                        <DownTable
                            of={of}
                            flame={flame}
                            children_={children}
                            unit={profile.unitOf(metric)}
                            title={profile.titleOf(metric)}
                        />
                    </>
                )
            }
        </Ready>
    );
}

function DownTable({
    of,
    flame,
    children_,
    unit,
    title,
}: {
    of: CallTree;
    flame: Flame;
    children_: number[][];
    unit: Unit;
    title: string;
}): JSX.Element {
    const [turned, setTurned] = useState<ReadonlyMap<number, boolean>>(new Map());
    const [chosen, setChosen] = useState(0);
    useLayoutEffect(() => {
        setTurned(new Map());
        setChosen(0);
    }, [flame]);
    const { names } = of,
        total = flame.frames[0]!.value;
    const hiding = getOption(state.value, "hidden") ?? "";
    const rows = useMemo(
        () => withoutHidden(downRows(flame, children_, turned), flame, hiddenKeys(of)),
        [flame, turned, hiding],
    );
    const { search } = state.value;
    const wanted = useMemo(() => searcher(search) && names.finder(search), [names, search]);
    const matches = useMemo(
        () =>
            wanted &&
            Uint8Array.from(flame.frames, ({ line }, at) => (at > 0 && wanted(line) ? 1 : 0)),
        [flame, wanted],
    );
    const order = useMemo(() => depthFirst(flame, children_), [flame]);
    /* The next row that the search finds is shown, and chosen: what leads to it opens. */
    const goOn = (by: 1 | -1) => {
        const inOrder = Uint8Array.from(order, (at) => matches![at]!),
            next = order[nextMatch(inOrder, order.indexOf(chosen), by)]!;
        const open = new Map(turned);
        for (let up = flame.frames[next]!.parent; up >= 0; up = flame.frames[up]!.parent)
            open.set(up, true);
        setTurned(open);
        setChosen(next);
    };
    const turn = (row: DownRow) =>
        row.open !== null && setTurned(new Map(turned).set(row.at, !row.open));
    const name = (row: DownRow) => (row.at ? names.ofLine(flame.frames[row.at]!.line) : "all");
    const columns: Column<DownRow>[] = [
        {
            id: "inclusive",
            title,
            width: "110px",
            unit,
            number: (row) => flame.frames[row.at]!.value,
            fill: (row) => flame.frames[row.at]!.value / total,
        },
        {
            id: "share",
            title: "share",
            width: "70px",
            unit: "share",
            number: (row) => flame.frames[row.at]!.value / total,
        },
        {
            id: "self",
            title: "itself",
            width: "90px",
            unit,
            number: (row) => flame.frames[row.at]!.self,
        },
        { id: "level", title: "depth", width: "60px", number: (row) => row.level },
        {
            id: "function",
            title: "function",
            width: "minmax(260px, 3fr)",
            text: name,
            show: (row) => (
                <span
                    class="indented"
                    style={{ "--level": Math.min(row.level, 60) }}
                    onClick={() => turn(row)}>
                    <span aria-hidden="true" class="twig">
                        {row.open === null ? "" : row.open ? "▾" : "▸"}
                    </span>
                    {row.at && wanted?.(flame.frames[row.at]!.line) ? (
                        <mark>{shortName(name(row))}</mark>
                    ) : (
                        shortName(name(row))
                    )}
                </span>
            ),
        },
        {
            id: "place",
            title: "place",
            width: "minmax(120px, 1fr)",
            text: (row) => (row.at ? names.place(flame.frames[row.at]!.line) : ""),
            show: (row) => (row.at ? fileName(names.place(flame.frames[row.at]!.line)) : ""),
        },
    ];
    return (
        <Table
            name="call-tree"
            label="Call tree"
            ordered
            rows={rows}
            columns={columns}
            sort=""
            onSort={() => {}}
            rowKey={(row) => row.at}
            selected={chosen}
            follow
            onSelect={(row) => setChosen(row.at)}
            branch={(row) => row}
            onToggle={turn}
            onOpen={turn}
            onMenu={(row, x, y) =>
                row.at && showMenu(x, y, treeMenu(of, flame.frames[row.at]!.key))
            }
            foot={
                <>
                    {matches && (
                        <Matches
                            matches={Uint8Array.from(order, (at) => matches[at]!)}
                            zoom={order.indexOf(chosen)}
                            what="row"
                            onNext={goOn}
                        />
                    )}
                    <span>
                        → and ← open and close
                        {flame.cut ? `; below 0.02 % of the whole nothing is opened` : ""}
                    </span>
                </>
            }
        />
    );
}

/* Rows without those of functions that are hidden, and what is below them. */
function withoutHidden(rows: DownRow[], flame: Flame, hidden: ReadonlySet<number>): DownRow[] {
    let below = Infinity; /* the level of a hidden row whose children are passed over */
    return rows.filter((row) => {
        if (row.level > below) return false;
        const out = row.at > 0 && hidden.has(flame.frames[row.at]!.key);
        below = out ? row.level : Infinity;
        return !out;
    });
}

interface Call {
    key: number;
    name: string;
    value: number;
    inclusive: number;
    exclusive: number;
}

function Butterfly({
    calls,
    unit,
    search,
}: {
    calls: Calls;
    unit: Unit;
    search: string;
}): JSX.Element {
    const { of, edges, inclusive, exclusive, total } = calls;
    const { fn, sort } = state.value;
    const row = (key: number, value: number): Call => ({
        key,
        name: of.names.ofKey(key),
        value,
        inclusive: inclusive[key]!,
        exclusive: exclusive[key]!,
    });
    const hidden = hiddenKeys(of);
    const has = searcher(search);
    const shown = (each: Call) => !hidden.has(each.key),
        fits = (each: Call) => shown(each) && (!has || has(of.names.searchedOfKey(each.key)));
    const callers = useMemo(
        () => edges.filter((edge) => edge.to === fn).map((edge) => row(edge.from, edge.value)),
        [calls, fn],
    );
    const callees = useMemo(
        () => edges.filter((edge) => edge.from === fn).map((edge) => row(edge.to, edge.value)),
        [calls, fn],
    );
    const all = useMemo(
        () =>
            fn >= 0
                ? []
                : [...inclusive].flatMap((value, key) => (value !== 0 ? [row(key, value)] : [])),
        [calls, fn],
    );
    const columns = (title: string): Column<Call>[] => [
        {
            id: "value",
            title,
            width: "110px",
            unit,
            number: (each) => each.value,
            fill: (each) => (total ? each.value / total : 0),
        },
        ...(fn >= 0
            ? [
                  {
                      id: "inclusive",
                      title: "inclusive",
                      width: "100px",
                      unit,
                      number: (each: Call) => each.inclusive,
                  },
              ]
            : []),
        {
            id: "exclusive",
            title: "itself",
            width: "100px",
            unit,
            number: (each) => each.exclusive,
        },
        {
            id: "name",
            title: "function",
            width: "minmax(200px, 1fr)",
            text: (each) => each.name,
            show: (each) => shortName(each.name),
        },
    ];
    const table = (name: string, title: string, rows: readonly Call[]) => (
        <Table
            name={name}
            label={title}
            rows={rows.filter(fits)}
            whole={rows.filter(shown).length}
            columns={columns(title)}
            sort={sort || "-value"}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(each) => each.key}
            onOpen={(each) => go({ fn: each.key })}
            onMenu={(each, x, y) => showMenu(x, y, treeMenu(of, each.key))}
            empty="None."
            foot={<span>double click: its callers and callees</span>}
        />
    );
    if (fn < 0) return table("functions", "inclusive", all);
    return (
        <>
            {table("callers", "by callers", callers)}
            <div class="bar-row">
                <b title={of.names.ofKey(fn)}>{shortName(of.names.ofKey(fn))}</b>
                <span title={exact(inclusive[fn], unit)}>
                    {format(inclusive[fn], unit)}
                    {isKnown(inclusive[fn]) && total > 0 && ` (${share(inclusive[fn] / total)})`}
                </span>
                <span class="dim">
                    itself {format(exclusive[fn], unit)} ·{" "}
                    {fileName(of.names.file(of.names.fileOfKey(fn)) ?? "")}
                </span>
            </div>
            {table("callees", "by callees", callees)}
        </>
    );
}
