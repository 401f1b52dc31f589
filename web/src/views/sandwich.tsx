/* The pane below a flame graph: the chosen function with its figures, its level over time, its callers
 * and its callees, in place. A click on one of them makes it the chosen one. */
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { readCurves } from "../model/curves.ts";
import { choiceMark, placeOfKey } from "../model/focus.ts";
import { shortName } from "../model/names.ts";
import { derive, fileName, GROWTH, RANGE, type Profile } from "../model/profile.ts";
import {
    groundOf,
    levelOver,
    neighbours,
    sumOf,
    throughFunction,
    unknownIn,
    unknownSaid,
    wentPart,
    type Ground,
    type Neighbour,
} from "../model/sandwich.ts";
import { bytes, exact, format, share } from "../model/units.ts";
import { focusKey, shownColumn, wantedSites } from "../state/profiles.ts";
import { breathe, inIdle, inSlices, type Work } from "../model/slices.ts";
import { go, link, state } from "../state/state.ts";
import { withOptions, type ViewState } from "../state/url.ts";
import { Ready, useLoaded, type Loaded } from "../widgets/states.tsx";
import { HolderBars } from "./owners.tsx";
import type { Drawn } from "./flame.tsx";

const figures = ["at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count", "temporary_count"];
const derived = ["mean_size", "mean_lifetime_ns"];
const NEIGHBOURS = 6,
    MOMENTS = 120;

const choose = (name: string, place: string) =>
    link({ opt: withOptions(state.value, { sel: choiceMark(name, place), zoom: undefined }) });

/* What the pane says of a function. */
interface Found {
    of: Of;
    callers: Neighbour[];
    callees: Neighbour[];
    sums: Map<string, { own: number; all: number }>;
    own: number;
    all: number;
    went: { own: number; all: number } | null; /* of growth, which the graph shows without it */
    unknown: number; /* of its call paths */
    whole: number;
    levels: Float64Array | null;
}
type Of = Pick<Drawn, "profile" | "tree" | "metric"> & { chosen: number };

/* The metrics of its figures. */
const neededOf = (profile: Profile): Set<string> =>
    new Set(
        [
            ...figures,
            ...derived.flatMap((name) => {
                const each = profile.derived(name);
                return each ? [...each.of, ...(each.by ?? [])] : [];
            }),
        ].filter((name) => profile.metric(name)?.recorded),
    );

const groundKey = (metric: string, now: ViewState) => ["ground", metric, focusKey(now)].join();

async function groundWork({ profile, tree, metric, now }: Drawn): Promise<Work<Ground>> {
    const shown = await shownColumn(profile, tree, metric, now);
    return groundOf(tree.passes, shown, wantedSites(tree, now), now.hide);
}

/* What every pane needs, before the first is asked for: a graph that stands is soon zoomed. */
export function useSandwichSoon(drawn: Drawn): void {
    const { profile, tree, metric, now } = drawn;
    useEffect(() => {
        if (profile.summary.state === "recording") return;
        let isLeft = false,
            work: Work<Ground> | null = null;
        const make = async () => {
            const begun = await groundWork(drawn);
            if (isLeft) return;
            work = begun;
            const ground = await inIdle(begun);
            if (!isLeft) await profile.work(groundKey(metric, now), () => Promise.resolve(ground));
        };
        void Promise.all([
            make(),
            ...[...neededOf(profile)].map((name) => profile.column(name)),
            profile.has("curves") && profile.columns("curves"),
        ]).catch(() => undefined); /* who asks for it is told why it does not come */
        return () => {
            isLeft = true;
            work?.return(undefined as never);
        };
    }, [profile, tree, metric, focusKey(now)]);
}

/* Of what the graph above it is of. While another function is on its way the whole pane is of the last. */
export function Sandwich({ chosen, ...drawn }: Drawn & Of): JSX.Element {
    const { profile, tree, metric, now } = drawn,
        { hide } = now;
    const loaded = useLoaded(
        () =>
            profile.work(
                ["sandwich", metric, chosen, focusKey(now)].join(),
                async (): Promise<Found> => {
                    const wanted = wantedSites(tree, now);
                    const shown = await shownColumn(profile, tree, metric, now);
                    const { column, edges, whole } = await profile.work(
                        groundKey(metric, now),
                        async () => inSlices(await groundWork(drawn)),
                    );
                    await breathe();
                    const through = await inSlices(throughFunction(tree, chosen, wanted, hide));
                    await breathe();
                    const sums = new Map<string, { own: number; all: number }>();
                    for (const name of neededOf(profile)) {
                        const each = await profile.column(name);
                        await breathe();
                        sums.set(name, {
                            own: sumOf(each, through.exclusive),
                            all: sumOf(each, through.inclusive),
                        });
                    }
                    const curves = profile.has("curves")
                        ? readCurves(await profile.columns("curves"))
                        : null;
                    return {
                        of: { profile, tree, metric, chosen },
                        ...neighbours(edges, chosen),
                        sums,
                        own: sumOf(column, through.exclusive),
                        all: sumOf(column, through.inclusive),
                        went:
                            metric === GROWTH
                                ? {
                                      own: sumOf(wentPart(shown), through.exclusive),
                                      all: sumOf(wentPart(shown), through.inclusive),
                                  }
                                : null,
                        unknown: unknownIn(shown, through.isThrough),
                        whole,
                        levels:
                            curves &&
                            (await inSlices(
                                levelOver(
                                    tree,
                                    curves,
                                    through.isThrough,
                                    profile.durationNs,
                                    MOMENTS,
                                ),
                            )),
                    };
                },
            ),
        [profile, tree, metric, chosen, focusKey(now)],
    );
    const of = loaded.state === "there" ? loaded.value.of : { profile, tree, metric, chosen };
    return <Pane of={of} loaded={loaded} />;
}

function Pane({
    of: { profile, tree, metric, chosen },
    loaded,
}: {
    of: Of;
    loaded: Loaded<Found>;
}): JSX.Element {
    const { names } = tree,
        name = names.ofKey(chosen),
        unit = profile.unitOf(metric);
    /* what a range does not cover */
    const ofAll = metric === GROWTH || metric === RANGE ? " · whole run" : "",
        title = (each: string) => `${profile.titleOf(each)}${ofAll}`;
    const list = (title: string, list: readonly { key: number; value: number }[], all: number) => (
        <div>
            <h2 class="lesser">{title}</h2>
            {list.length ? (
                <HolderBars
                    label={title}
                    whole={all}
                    show={(value) => format(value, unit)}
                    holders={list.slice(0, NEIGHBOURS).map(({ key, value }) => ({
                        name: names.ofKey(key),
                        short: shortName(names.ofKey(key)),
                        says: fileName(placeOfKey(tree, key)),
                        bytes: value,
                        tone: "data-1",
                        href: choose(names.ofKey(key), placeOfKey(tree, key)),
                    }))}
                />
            ) : (
                <p class="dim tight">None.</p>
            )}
            {list.length > NEIGHBOURS && (
                <p class="dim tight">
                    and {list.length - NEIGHBOURS} more:{" "}
                    <a href={link({ view: "tree", fn: chosen, sort: "", opt: "as:table" })}>all</a>
                </p>
            )}
        </div>
    );
    return (
        <section class="sandwich" aria-label="The chosen function" data-sandwich>
            <div class="bar-row flush">
                <b class="nowrap" title={name}>
                    {shortName(name)}
                </b>
                <a
                    href={link({
                        view: "source",
                        opt: `fn:${choiceMark(name, placeOfKey(tree, chosen))}`,
                        file: "",
                        line: 0,
                    })}>
                    source
                </a>
                <button
                    onClick={() =>
                        go({
                            fn: chosen,
                            opt: withOptions(state.value, { sel: undefined, zoom: undefined }),
                        })
                    }>
                    only paths through it
                </button>
                <span class="spring" />
                <button
                    aria-label="Close the pane"
                    onClick={() =>
                        go({ opt: withOptions(state.value, { sel: undefined, zoom: undefined }) })
                    }>
                    ✕
                </button>
            </div>
            <Ready of={loaded}>
                {({ callers, callees, sums, own, all, went, unknown, whole, levels }) => (
                    <div class="sandwich-parts">
                        {list("Callers", callers, all)}
                        <div>
                            <h2 class="lesser">Its figures</h2>
                            <table class="figures" aria-label="Figures of the chosen function">
                                <thead>
                                    <tr>
                                        <td />
                                        <th class="number">with all below</th>
                                        <td />
                                        <th class="number">itself</th>
                                    </tr>
                                </thead>
                                <tbody>
                                    <tr>
                                        <th>{went ? "grew in range" : profile.titleOf(metric)}</th>
                                        <td class="number" title={exact(all, unit)}>
                                            <b>{format(all, unit)}</b>
                                        </td>
                                        <td class="number dim">
                                            {whole ? share(all / whole) : ""}
                                        </td>
                                        <td class="number" title={exact(own, unit)}>
                                            {format(own, unit)}
                                        </td>
                                    </tr>
                                    {went && (
                                        <tr>
                                            <th>went in range</th>
                                            <td class="number" title={exact(went.all, unit)}>
                                                {format(went.all, unit)}
                                            </td>
                                            <td />
                                            <td class="number" title={exact(went.own, unit)}>
                                                {format(went.own, unit)}
                                            </td>
                                        </tr>
                                    )}
                                    {figures
                                        .filter((each) => each !== metric && sums.has(each))
                                        .map((each) => {
                                            const { own, all } = sums.get(each)!;
                                            return (
                                                <tr key={each}>
                                                    <th>{title(each)}</th>
                                                    <td
                                                        class="number"
                                                        title={exact(all, profile.unitOf(each))}>
                                                        {format(all, profile.unitOf(each))}
                                                    </td>
                                                    <td />
                                                    <td class="number">
                                                        {format(own, profile.unitOf(each))}
                                                    </td>
                                                </tr>
                                            );
                                        })}
                                    {derived.flatMap((each) => {
                                        const row = profile.derived(each);
                                        if (!row) return [];
                                        const value = (which: "own" | "all") =>
                                            format(
                                                derive(
                                                    row,
                                                    (name) => sums.get(name)?.[which] ?? NaN,
                                                    profile.durationNs,
                                                ),
                                                profile.unitOf(each),
                                            );
                                        return [
                                            <tr key={each}>
                                                <th>{title(each)}</th>
                                                <td class="number">{value("all")}</td>
                                                <td />
                                                <td class="number">{value("own")}</td>
                                            </tr>,
                                        ];
                                    })}
                                </tbody>
                            </table>
                            {unknown > 0 && (
                                <p class="dim tight" data-unknown>
                                    {profile.titleOf(metric)}: {unknownSaid(unknown)}
                                </p>
                            )}
                            {levels && <Level levels={levels} />}
                        </div>
                        {list("Callees", callees, all)}
                    </div>
                )}
            </Ready>
        </section>
    );
}

/* Live bytes over the run. */
function Level({ levels }: { levels: Float64Array }): JSX.Element {
    const most = levels.reduce((a, b) => Math.max(a, b), 0),
        y = (value: number) => (most ? 38 - (36 * value) / most : 38);
    const points = [...levels].map((value, at) => `${at},${y(value).toFixed(1)}`).join(" ");
    return (
        <>
            <svg
                class="level"
                viewBox={`0 0 ${levels.length - 1} 40`}
                preserveAspectRatio="none"
                role="img"
                aria-label={`Live bytes over the run, as far as curves are kept: up to ${bytes(most)}`}>
                <polygon points={`0,40 ${points} ${levels.length - 1},40`} />
            </svg>
            <p class="dim tight">
                live over the run, as far as curves are kept: up to {bytes(most)}
            </p>
        </>
    );
}
