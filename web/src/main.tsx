/* The page: head, navigation, and the view that the URL names. Page() chooses what the view
 * shows: the profile, one rank of a job, or the part in a range of time or a region. start()
 * opens the data source and renders the page once; signals render it anew. */
import { addsUp } from "./data/types.ts";
import { render } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { dropped, isViewer } from "./data/dropped.ts";
import { isSingleFile, openEmbedded } from "./data/embedded.ts";
import { openHttp } from "./data/http.ts";
import {
    conditions,
    failure,
    findSizes,
    knowsBlocks,
    showsBlocks,
    focusIsFound,
    inPart,
    profile,
    profileNames,
    rangeShown,
    readingAt,
    shownIndex,
    shownMetric,
    silent,
    sizesAreFound,
    startProfiles,
    wholeJob,
    type Reading,
} from "./state/profiles.ts";
import { startNotes } from "./state/notes.ts";
import { focusGone, go, link, startState, state } from "./state/state.ts";
import { startTheme, theme, toggleTheme } from "./state/theme.ts";
import { Menu, Tooltip } from "./widgets/tooltip.tsx";
import { startPaper } from "./widgets/paper.ts";
import { Help, helpOpen } from "./widgets/help.tsx";
import { Chips } from "./widgets/chips.tsx";
import { useLoaded } from "./widgets/states.tsx";
import { metricGroups } from "./model/metric_groups.ts";
import { ReadingJob } from "./views/reading.tsx";
import { Drop, DropArea } from "./views/drop.tsx";
import { viewNamed, views, type View } from "./views/registry.ts";
import { GROWTH, levelNamed, levels, type Profile } from "./model/profile.ts";
import { whyNotSingle, withoutTerms } from "./model/search.ts";

/* Owners of resident memory have numbers of their own. */
const focusless = { fn: -1, node: -1, sort: "", metric: "" };

const keep = { view: "", sort: "", opt: "" };

function Navigation({ of }: { of: Profile | null }): JSX.Element {
    const { view: named, region, of: level } = state.value,
        here = viewNamed(named).id;
    const strip = useRef<HTMLElement>(null);
    useEffect(
        () =>
            strip.current
                ?.querySelector("[aria-current]")
                ?.scrollIntoView({ block: "nearest", inline: "nearest" }),
        [here],
    );
    const rows: JSX.Element[] = [];
    let group = "";
    for (const view of views) {
        if (view.group !== group)
            rows.push(
                <div class="group" key={"/" + view.group}>
                    {view.group}
                </div>,
            );
        group = view.group;
        const absent = of !== null && !view.has((view.job && wholeJob.value) || of),
            elsewhere = (!!region && !!view.notByRegion) || (!!level && !!view.notByLevel);
        rows.push(
            <a
                key={view.id}
                href={link({ ...keep, view: view.id })}
                class={absent || elsewhere ? "absent" : ""}
                aria-current={view.id === here ? "page" : undefined}
                title={
                    absent
                        ? "Not recorded; the view says how it can be"
                        : elsewhere
                          ? view.notByRegion
                          : undefined
                }
                onClick={(event) => {
                    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
                    event.preventDefault();
                    go({ ...keep, view: view.id });
                }}>
                {view.title}
            </a>,
        );
    }
    return (
        <nav class="nav" aria-label="Views" ref={strip}>
            {rows}
        </nav>
    );
}

/* Of a job: all of it, or one rank, in every view. */
function RankChoice(): JSX.Element | null {
    const { profile: job, rank } = state.value;
    const ranks = profileNames.value.filter((each) => each.kind === "rank" && each.job === job);
    if (!ranks.length) return null;
    return (
        <select
            aria-label="Rank"
            value={rank}
            onChange={(event) =>
                go({ rank: Number(event.currentTarget.value), fn: -1, node: -1, thread: -1 })
            }>
            <option value={-1}>all ranks</option>
            {ranks.map((each) => (
                <option key={each.rank_id} value={each.rank_id}>
                    {each.name.slice(each.name.lastIndexOf(": ") + 1)}
                </option>
            ))}
        </select>
    );
}

/* "region:NAME" of the search field chooses the region, when it is typed to its end. */
function takeRegion(): void {
    const { region } = conditions.value;
    if (region)
        go({ region, of: "", search: withoutTerms(state.value.search, "region") }, "replace");
}

function Head({ of, reading }: { of: Profile | null; reading: Reading | null }): JSX.Element {
    const names = profileNames.value;
    const search = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => {
            const typing =
                event.target instanceof HTMLInputElement ||
                event.target instanceof HTMLTextAreaElement;
            if (event.key === "/" && !typing) {
                search.current?.focus();
                search.current?.select();
                event.preventDefault();
            } else if (event.key === "?" && !typing) helpOpen.value = true;
            else if (event.key === "Escape" && event.target === search.current) {
                go({ search: "" }, "replace");
                search.current?.blur();
            }
        };
        addEventListener("keydown", onKey);
        return () => removeEventListener("keydown", onKey);
    }, []);
    useEffect(() => {
        if (document.activeElement !== search.current) takeRegion();
    }, [state.value.search]);
    const metrics =
        of?.metrics.filter(
            (metric) => metric.recorded && addsUp(metric) && metric.unit !== "variance",
        ) ?? [];
    return (
        <header class="head">
            {names.length > 1 ? (
                <select
                    aria-label="Profile"
                    value={state.value.profile}
                    onChange={(event) =>
                        go({
                            profile: Number(event.currentTarget.value),
                            rank: -1,
                            fn: -1,
                            node: -1,
                            thread: -1,
                        })
                    }>
                    {names.map((each, index) => (
                        <option key={index} value={index}>
                            {each.name}
                        </option>
                    ))}
                </select>
            ) : (
                <span class="title nowrap" title={of?.summary.meta["command"]}>
                    {of?.summary.meta["program"] ??
                        reading?.meta["program"] ??
                        names[0]?.name ??
                        "Tidemark"}
                </span>
            )}
            <RankChoice />
            <LevelChoice of={of} />
            <RegionChoice of={of} />
            {reading && !reading.failure && !silent.value && (
                <span class="chip" title="The page fills in by itself">
                    {reading.listed
                        ? `${reading.listed.done} of ${reading.listed.of} entries read`
                        : `${reading.digests ? "call paths of " : ""}${reading.read} of ${reading.toRead} ranks read`}
                </span>
            )}
            {(of?.summary.state === "recording" || reading) &&
                (silent.value ? (
                    <span
                        class="chip bad"
                        role="status"
                        title="The server does not answer: what you see is of when it last did">
                        no longer followed
                    </span>
                ) : (
                    !reading && (
                        <span class="chip" title="The page follows the recording">
                            recording…
                        </span>
                    )
                ))}
            <label>
                <span class="visually-hidden">Metric</span>
                <select
                    value={state.value.metric}
                    onChange={(event) => go({ metric: event.currentTarget.value })}>
                    <option value="">metric: the view's own</option>
                    {state.value.metric === GROWTH && (
                        <option value={GROWTH}>growth in range</option>
                    )}
                    {metricGroups(metrics).map((group) => (
                        <optgroup key={group.title} label={group.title}>
                            {group.metrics.map((metric) => (
                                <option key={metric.name} value={metric.name} title={metric.help}>
                                    {metric.title}
                                </option>
                            ))}
                        </optgroup>
                    ))}
                </select>
            </label>
            {of && viewNamed(state.value.view).range === "curves" && (
                <span class="dim nowrap now" data-now>
                    now: {of.titleOf(shownMetric(of, "at_peak_bytes"))}
                </span>
            )}
            <button
                aria-pressed={state.value.inclusive}
                title="Functions with all that is asked for below them"
                onClick={() => go({ inclusive: !state.value.inclusive })}>
                inclusive
            </button>
            <button
                aria-pressed={state.value.hide}
                title="Leave out frames of the C, C++ and Rust libraries"
                onClick={() => go({ hide: !state.value.hide })}>
                hide std
            </button>
            <span class="spring" />
            <input
                type="search"
                ref={search}
                placeholder="Search  ( / )"
                aria-label="Search functions, files, modules"
                title={`A part of a name, or a regular expression. "!" in front: what does not match; "function:", "file:", "module:": where alone to look. "size:>=64K": call paths with blocks of such a size; "region:NAME": what was asked for in it.`}
                value={state.value.search}
                onInput={(event) => go({ search: event.currentTarget.value }, "replace")}
                onChange={takeRegion}
            />
            <button onClick={toggleTheme} title="Light or dark" aria-label="Light or dark">
                {theme.value === "dark" ? "☀" : "☾"}
            </button>
            <button
                onClick={() => {
                    helpOpen.value = true;
                }}
                title="Keys and words ( ? )"
                aria-label="Help">
                ?
            </button>
        </header>
    );
}

/* Which memory, in every view that can tell. */
function LevelChoice({ of }: { of: Profile | null }): JSX.Element | null {
    const level = levelNamed(state.value.of);
    const there = levels.filter((each) => !each.level || of?.hasLevel(each.level));
    if (there.length < 2 && !level) return null;
    return (
        <select
            aria-label="Memory"
            title="Which memory the figures are of"
            value={level}
            onChange={(event) => go({ of: event.currentTarget.value, region: "", ...focusless })}>
            {levels
                .filter((each) => there.includes(each) || each.level === level)
                .map((each) => (
                    <option key={each.level} value={each.level}>
                        {each.title}
                    </option>
                ))}
        </select>
    );
}

/* A region of the program, in every view that can tell. */
function RegionChoice({ of }: { of: Profile | null }): JSX.Element | null {
    const { region } = state.value;
    const loaded = useLoaded(
        async () => (of?.has("region") ? (await of.regions()).map((each) => each.name) : []),
        [of],
    );
    const names = loaded.state === "there" ? loaded.value : [];
    if (!names.length) return null;
    return (
        <select
            aria-label="Region"
            title="Only what was asked for in a region that the program named"
            value={region}
            onChange={(event) => go({ region: event.currentTarget.value, of: "" })}>
            <option value="">all regions</option>
            {names.map((each) => (
                <option key={each} value={each}>
                    {each}
                </option>
            ))}
            {region && !names.includes(region) && <option value={region}>{region}</option>}
        </select>
    );
}

/* What a view shows of a profile: of a trace with a range chosen what happened in the range, where
 * that can be told; of a region what was asked for in it. Or why there is nothing to see. */
type Shown = { profile: Profile } | { waits: string } | { says: string; alarming: boolean };

function shownIn(view: View, of: Profile): Shown {
    const part = inPart.value;
    if (!part || view.range === "whole") return { profile: of };
    if (view.range === "shown" && !(part.level && part.range === null)) return { profile: of };
    if (view.range === "curves" && !part.region && !part.level && rangeShown(of))
        return { profile: of }; /* growth, which a trace says of its moments */
    if (part.region && view.notByRegion) return { says: view.notByRegion, alarming: false };
    if (part.level && view.notByLevel) return { says: view.notByLevel, alarming: false };
    if (part.failure)
        return part.region || part.level ? { says: part.failure, alarming: true } : { profile: of };
    if (!part.profile)
        return {
            waits: part.level
                ? "Taking out this level of memory…"
                : part.range === null
                  ? "Cutting out what was asked for in this region…"
                  : "Replaying what happened in this range…",
        };
    if (part.level && !view.has(part.profile))
        return { says: "What this view shows is not known of this memory.", alarming: false };
    return { profile: !part.region && !view.has(part.profile) && view.has(of) ? of : part.profile };
}

/* A view, when the sizes of blocks that are searched for are found in its profile. */
function Sized({
    of,
    view,
    children,
}: {
    of: Profile;
    view: View;
    children: ComponentChildren;
}): JSX.Element {
    const { size } = conditions.value;
    const finding = useLoaded(
        async () => view.sizes && (await findSizes(of)),
        [of, view, size?.least, size?.most],
    );
    if (finding.state === "failed")
        return (
            <div class="view">
                <div class="empty">
                    <p role="alert" class="bad">
                        <b>{finding.why}</b>
                    </p>
                </div>
            </div>
        );
    return (
        <div class="view">
            {!view.sizes || sizesAreFound(of) ? children : <div class="empty" aria-busy="true" />}
        </div>
    );
}

/* One view that fails, of a damaged profile say, is not all of the page: the others stay, and this one is
 * tried again where something else is chosen. */
function Guarded({
    title,
    children,
}: {
    title: string;
    children: ComponentChildren;
}): ComponentChildren {
    const [error, again] = useErrorBoundary((error: unknown) => console.error(error));
    const chosen = state.value;
    useEffect(() => again(), [chosen]);
    if (!error) return children;
    return (
        <div class="empty">
            <p role="alert" class="bad">
                <b>{title} cannot be shown of this profile.</b>
            </p>
            <p>
                It may be damaged: tidemark report FILE says what of it can be read. Other views may
                do. ({error instanceof Error ? error.message : String(error)})
            </p>
        </div>
    );
}

function Page(): JSX.Element {
    const view = viewNamed(state.value.view);
    const of = view.job ? wholeJob.value : profile.value;
    const reading = of ? null : readingAt(view.job ? state.value.profile : shownIndex.value);
    const Show = view.show;
    const shown = of && shownIn(view, of);
    const part = inPart.value;
    const searchWrong =
        conditions.value.wrong ||
        (of &&
            whyNotSingle(
                conditions.value,
                showsBlocks(view.id),
                knowsBlocks(shown && "profile" in shown ? shown.profile : of),
            ));
    useEffect(() => {
        const meta = of?.summary.meta ?? reading?.meta;
        document.title = `${meta?.["program"] ?? "Tidemark"} · ${view.title}`;
    }, [of, reading?.meta, view]);
    return (
        <>
            <Head of={of} reading={reading} />
            <Navigation of={of} />
            <main class="main" aria-label={view.title}>
                <h1 class="visually-hidden">
                    {of?.summary.meta["program"] ?? "Tidemark"}: {view.title}
                </h1>
                <Chips of={shown && "profile" in shown ? shown.profile : of} view={view} />
                {failure.value && (
                    <div class="notice bad" role="alert">
                        {failure.value}
                    </div>
                )}
                {searchWrong && (
                    <p class="notice" role="status" data-search-wrong>
                        The search leaves a term out: {searchWrong}
                    </p>
                )}
                {part?.failure && !part.region && !part.level && (
                    <div class="notice bad" role="alert">
                        The range could not be replayed: {part.failure}
                    </div>
                )}
                {focusGone.value && (
                    <p class="notice" role="status" data-focus-gone>
                        What this address is focused on is not in this profile. Shown is{" "}
                        {state.value.fn < 0 && state.value.node < 0
                            ? "all of it"
                            : "the nearest that leads there"}
                        .
                    </p>
                )}
                {reading && <ReadingJob of={reading} view={view.id} />}
                {shown && !focusIsFound.value && <div class="empty" aria-busy="true" />}
                {shown &&
                    focusIsFound.value &&
                    ("profile" in shown ? (
                        <Sized of={shown.profile} view={view} key={view.id}>
                            <Guarded title={view.title}>
                                <Show profile={shown.profile} />
                            </Guarded>
                        </Sized>
                    ) : "waits" in shown ? (
                        <div class="view" key="waits">
                            <div class="empty" aria-busy="true">
                                {shown.waits}
                            </div>
                        </div>
                    ) : (
                        <div class="view" key="says">
                            <div class="empty">
                                <p {...(shown.alarming ? { role: "alert", class: "bad" } : {})}>
                                    <b>{shown.says}</b>
                                </p>
                                <p>
                                    <button onClick={() => go({ region: "", of: "" })}>
                                        show the whole program
                                    </button>
                                </p>
                            </div>
                        </div>
                    ))}
            </main>
            <Tooltip />
            <Menu />
            <Help />
            {isViewer() && <DropArea added={showAdded} />}
        </>
    );
}

/* Of files that are dropped on a page that shows some already, the first comes up. */
function showAdded(first: number): void {
    profileNames.value = [...dropped.profiles];
    go({ profile: first, rank: -1, fn: -1, node: -1, thread: -1 });
}

/* The page of `tidemark viewer`: nothing is to be seen before a file is there. */
function startViewer(root: HTMLElement): void {
    const begin = () => {
        startProfiles(dropped);
        startNotes(dropped);
        render(<Page />, root);
    };
    root.textContent = "";
    render(<Drop begin={begin} />, root);
}

async function start(): Promise<void> {
    const root = document.getElementById("app")!;
    startTheme();
    startPaper();
    startState();
    if (isViewer()) return startViewer(root);
    try {
        const from = await (isSingleFile() ? openEmbedded() : openHttp());
        startProfiles(from);
        startNotes(from);
    } catch (error) {
        root.textContent = error instanceof Error ? error.message : String(error);
        return;
    }
    root.textContent = "";
    render(<Page />, root);
}

void start();
