/* The row below the head that says what is focused on: function, thread, range, region. The
 * focus holds for every view, so it is always in sight and can be taken off. It also says what a
 * view makes of a range that it cannot show. */
import type { JSX } from "preact";
import { shortName } from "../model/names.ts";
import { GROWTH, levels, type Profile } from "../model/profile.ts";
import { withoutTerms, type SizeRange } from "../model/search.ts";
import { bytes, duration } from "../model/units.ts";
import {
    conditions,
    profileNames,
    profileOfRank,
    rangeOf,
    rangeShown,
    singleBlocks,
} from "../state/profiles.ts";
import type { View } from "../views/registry.ts";
import type { Thread } from "../views/threads.tsx";
import { notes } from "../state/notes.ts";
import { go, link, state } from "../state/state.ts";
import { useLoaded } from "./states.tsx";

/* What a view makes of a range of time, or of a thread: most numbers are kept for the whole run, of
 * all threads. */
function RangeNote({ of, view }: { of: Profile; view: View }): JSX.Element | null {
    if (of.window)
        return (
            <>
                {view.range === "curves" && !of.region && !of.level && (
                    <LevelOrGrowth level="what happened" />
                )}
                <span class="dim">
                    Exact, from the trace: what happened in this range. Blocks from before it are
                    alive in it; times in this view count from its beginning.
                </span>
            </>
        );
    return <LevelsNote of={of} view={view} />;
}

/* What of a range views of call paths show. */
function LevelOrGrowth({ level }: { level: string }): JSX.Element {
    const isGrowth = state.value.metric === GROWTH;
    return (
        <>
            <button aria-pressed={!isGrowth} onClick={() => go({ metric: "", sort: "" })}>
                {level}
            </button>
            <button aria-pressed={isGrowth} onClick={() => go({ metric: GROWTH, sort: "" })}>
                growth
            </button>
        </>
    );
}

function LevelsNote({ of, view }: { of: Profile; view: View }): JSX.Element | null {
    const { from, to } = state.value;
    const shown = view.range === "curves" && rangeShown(of);
    const levels = useLoaded(
        async () => (shown ? rangeOf(of, await of.callTree()) : null),
        [of, shown, from, to],
    );
    if (view.range === "shown") return null;
    if (of.region)
        return (
            <span class="dim">
                What was asked for in the region in all of the run: by region and time only a trace
                tells (record --trace).
            </span>
        );
    if (!shown)
        return (
            <span class="dim">
                {view.range === "curves" && state.value.metric && state.value.metric !== GROWTH
                    ? `“${of.titleOf(state.value.metric)}” is of the whole run: metrics are not kept over time.`
                    : "This view shows the whole run: what it shows is not kept over time."}
            </span>
        );
    const value = levels.state === "there" ? levels.value : null;
    const growth = state.value.metric === GROWTH;
    const isExact = of.has("at") && growth;
    return (
        <>
            <LevelOrGrowth level={of.has("at") ? "what happened" : "level"} />
            <span class="dim" data-range>
                {growth
                    ? `Bytes at the end of this range less those at its beginning${
                          value ? `: ${bytes(value.grown)} more, ${bytes(value.gone)} less` : ""
                      }`
                    : `Bytes at the highest moment of this range${
                          value
                              ? `, ${duration(value.at)}: ${bytes(value.known)}${value.whole ? ` of ${bytes(value.whole)}` : ""}`
                              : ""
                      }`}
                {isExact
                    ? "; exact, from the trace."
                    : "; paths that never held much have no curve, and no figure between start, peak and end."}
            </span>
        </>
    );
}

/* Of whom the figures are, where a region is chosen. */
function RegionNote({ of, view }: { of: Profile; view: View }): JSX.Element | null {
    const { metric } = state.value,
        whole = of.part?.of;
    if (view.range === "shown") return <span class="dim">{view.notByRegion}</span>;
    if (view.job) return <span class="dim">This view shows whole programs.</span>;
    if (!of.region) return null;
    return (
        <span class="dim">
            What was asked for in this region, whoever freed it.
            {metric && !of.metric(metric)?.recorded && whole?.metric(metric)?.recorded
                ? ` “${whole.titleOf(metric)}” is not known by region: the view shows its own choice.`
                : ""}
        </span>
    );
}

/* "blocks of 64.0 KiB at least" */
function sizeWords({ least, most }: SizeRange): string {
    if (most < least) return "blocks of no size";
    const parts = [
        ...(least > 0 ? [`${bytes(least)} at least`] : []),
        ...(Number.isFinite(most) ? [`${bytes(most)} at most`] : []),
    ];
    return `blocks of ${parts.join(", ") || "any size"}`;
}

function ageWords({ least, most }: SizeRange): string {
    if (most < least) return "blocks of no age";
    const parts = [
        ...(least > 0 ? [`${duration(least)} old at least`] : []),
        ...(Number.isFinite(most) ? [`${duration(most)} old at most`] : []),
    ];
    return `blocks ${parts.join(", ") || "of any age"}`;
}

/* What somebody has noted of the function in focus. */
function notesAbout(name: string | null): JSX.Element | null {
    const here = notes.value.notes.filter((note) => name !== null && note.function === name);
    if (!here.length) return null;
    const said = here.map((note) => note.text).join(" · ");
    return (
        <a href={link({ view: "notes", sort: "", opt: "" })} title={said} data-noted>
            ✎ {said.length > 80 ? `${said.slice(0, 79)}…` : said}
        </a>
    );
}

export function Chips({ of, view }: { of: Profile | null; view: View }): JSX.Element | null {
    const { fn, node, from, to, thread, rank, region } = state.value;
    const level = levels.find((each) => each.level && each.level === state.value.of);
    const { search } = state.value,
        { size, age, thread: asker } = conditions.value;
    const blocks = of && singleBlocks(of);
    const needNames = fn >= 0 || node >= 0;
    const tree = useLoaded(async () => (of && needNames ? of.callTree() : null), [of, needNames]);
    const whole = of?.part?.of ?? of,
        needThreads = thread >= 0;
    const threads = useLoaded(
        async () =>
            needThreads && whole?.has("threads")
                ? ((await whole.json<{ threads: Thread[] | null }>("threads")).threads ?? [])
                : [],
        [whole, needThreads],
    );
    const chips: [string, () => void][] = [];
    const names = tree.state === "there" ? tree.value?.names : undefined;
    if (fn >= 0)
        chips.push([
            `function ${names && fn < names.tree.keyCount ? shortName(names.ofKey(fn)) : fn}`,
            () => go({ fn: -1 }),
        ]);
    if (node >= 0) {
        const line =
            names && node < names.tree.nodeCount
                ? names.tree.codeFirstLine[names.tree.code[node]!]
                : undefined;
        chips.push([
            `call path to ${line !== undefined ? shortName(names!.ofLine(line)) : node}`,
            () => go({ node: -1 }),
        ]);
    }
    if (from >= 0 || to >= 0)
        chips.push([
            `time ${duration(Math.max(0, from))} to ${to < 0 ? "the end" : duration(to)}`,
            () =>
                go({ from: -1, to: -1, ...(state.value.metric === GROWTH ? { metric: "" } : {}) }),
        ]);
    if (thread >= 0)
        chips.push([
            `thread ${threads.state === "there" ? (threads.value[thread]?.tid ?? "that is not here") : "…"}`,
            () => go({ thread: -1 }),
        ]);
    if (rank >= 0) {
        const own = profileOfRank(state.value.profile, rank);
        chips.push([
            own >= 0 ? profileNames.value[own]!.name : `rank ${rank}, whose profile is not here`,
            () => go({ rank: -1, fn: -1, node: -1, thread: -1 }),
        ]);
    }
    if (size)
        chips.push([
            sizeWords(size),
            () => go({ search: withoutTerms(search, "size") }, "replace"),
        ]);
    if (age && blocks)
        chips.push([ageWords(age), () => go({ search: withoutTerms(search, "age") }, "replace")]);
    if (asker && blocks)
        chips.push([
            `${asker.not ? "not of" : "of"} thread ${asker.tid}`,
            () => go({ search: withoutTerms(search, "thread") }, "replace"),
        ]);
    if (region) chips.push([`region ${region}`, () => go({ region: "" })]);
    if (level) chips.push([`of ${level.title}`, () => go({ of: "", fn: -1, node: -1 })]);
    if (!chips.length) return null;
    return (
        <div class="chips" aria-label="Focus">
            {chips.map(([text, off]) => (
                <span class="chip nowrap" key={text} title={text}>
                    {text}{" "}
                    <button class="plain" aria-label={`Take off: ${text}`} onClick={off}>
                        ✕
                    </button>
                </span>
            ))}
            {of && region && <RegionNote of={of} view={view} />}
            {level && of?.level === level.level && <span class="dim">{level.says}</span>}
            {of && (from >= 0 || to >= 0) && <RangeNote of={of} view={view} />}
            {rank >= 0 && view.job && <span class="dim">This view shows all of the job.</span>}
            {view.id !== "notes" &&
                notesAbout(names && fn >= 0 && fn < names.tree.keyCount ? names.ofKey(fn) : null)}
            {blocks && (
                <span class="dim" data-blocks>
                    Bytes of the blocks that are so, of those alive{" "}
                    {blocks.when === "peak" ? "at the peak" : `after ${duration(blocks.when)}`}.
                </span>
            )}
            {size && !blocks && (
                <span class="dim">
                    {view.sizes
                        ? "Call paths on which a block of such a size was asked for, with all that they have."
                        : "This view shows blocks of all sizes."}
                </span>
            )}
            {of && thread >= 0 && !view.threads && (
                <span class="dim">
                    This view shows all threads: what it shows is not kept by thread.
                </span>
            )}
        </div>
    );
}
