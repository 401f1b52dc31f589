/* A job of several ranks. It shows ranks over time, the distribution of their high-water marks,
 * two ranks side by side, and the need of each node. With several jobs open it shows memory per
 * rank over their sizes. */
import { useEffect, useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, whole } from "../data/columns.ts";
import type { Profile } from "../model/profile.ts";
import { baseName } from "../model/profile.ts";
import { bytes, count, duration, exact, format, share } from "../model/units.ts";
import { searcher } from "../model/search.ts";
import { profileAt, profileNames, profileOfRank, wantProfile } from "../state/profiles.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Bars, HeatMap, type HeatCell } from "../widgets/bars.tsx";
import { Plot, type PlotSeries } from "../widgets/plot.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import type { ViewProps } from "./registry.ts";

type Maybe = number | null;
interface Rank {
    id: number;
    rank: number;
    beside: boolean;
    state: string;
    file: string;
    note: string | null;
    node: number;
    pid: number;
    signal: number;
    status: number;
    start_unix_ns: Maybe;
    duration_ns: Maybe;
    peak_bytes: Maybe;
    peak_ns: Maybe;
    live_bytes: Maybe;
    live_count: Maybe;
    alloc_bytes: Maybe;
    alloc_count: Maybe;
    lost_events: Maybe;
    mpi_peak_bytes: Maybe;
    resident_peak_bytes: Maybe;
}
interface Node {
    id: number;
    name: string;
    ranks: Maybe;
    beside: Maybe;
    not_read: Maybe;
    lower_bytes: Maybe;
    upper_bytes: Maybe;
    at_unix_ns: Maybe;
    step_ns: Maybe;
    peak_sum: Maybe;
    resident_bytes: Maybe;
    machine_bytes: Maybe;
    limit_bytes: Maybe;
    cgroup_peak_bytes: Maybe;
}
interface Steps {
    rank: Uint32Array;
    step: Uint32Array;
    most: Float64Array; /* live bytes, or what is resident */
}
interface Job {
    ranks: Rank[];
    nodes: Node[];
    steps: Steps;
    residentSteps: Steps;
}

/* What is shown of ranks over time. */
type Of = "heap" | "resident";
const ofNow = (): Of => (getOption(state.value, "of") === "resident" ? "resident" : "heap");
const stepsOf = (job: Job, of: Of): Steps => (of === "resident" ? job.residentSteps : job.steps);

async function loadJob(profile: Profile): Promise<Job> {
    const [said, document] = await Promise.all([
        profile.json<{ ranks: Rank[]; nodes: Node[] | null }>("ranks"),
        profile.columns("rank_timeline"),
    ]);
    const places = { rank: whole(document, "rank"), step: whole(document, "step") };
    return {
        ranks: said.ranks,
        nodes: said.nodes ?? [],
        steps: { ...places, most: numbers(document, "requested_max") },
        residentSteps: { ...places, most: numbers(document, "resident_max") },
    };
}

export function JobsView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () => (profile.has("ranks") ? loadJob(profile) : null),
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(job) =>
                job ? (
                    <JobPage profile={profile} job={job} />
                ) : (
                    <NotRecorded
                        what="This is the profile of one process."
                        how={
                            <>
                                Record a job with{" "}
                                <code>mpirun -n N tidemark record --job=DIR ./app</code>, and open
                                it with <code>tidemark serve DIR</code>, or make its profile with{" "}
                                <code>tidemark job DIR -o job.tmk</code>.
                            </>
                        }
                    />
                )
            }
        </Ready>
    );
}

function JobPage({ profile, job }: ViewProps & { job: Job }): JSX.Element {
    const ranks = job.ranks.filter((rank) => !rank.beside);
    const peaks = ranks.flatMap((rank) => (rank.peak_bytes === null ? [] : [rank.peak_bytes]));
    const known = peaks.length > 0,
        unknown = ranks.length - peaks.length;
    const mean = peaks.reduce((sum, peak) => sum + peak, 0) / Math.max(1, peaks.length);
    const most = peaks.reduce((a, b) => Math.max(a, b), 0),
        least = peaks.reduce((a, b) => Math.min(a, b), Infinity);
    const deviation = Math.sqrt(
        peaks.reduce((sum, peak) => sum + (peak - mean) ** 2, 0) / Math.max(1, peaks.length),
    );
    const missing = Number(profile.summary.meta["job_missing"] ?? 0);
    const bad = job.ranks.filter((rank) => rank.state !== "complete" || rank.note);
    return (
        <div class="scrolls">
            {(missing > 0 || bad.length > 0) && (
                <div class="notice bad" role="alert">
                    {missing > 0 && <>{missing} ranks left nothing. </>}
                    {bad.length > 0 && (
                        <>
                            {bad.length} did not end well or could not be read:{" "}
                            {bad
                                .slice(0, 5)
                                .map(
                                    (rank) =>
                                        `rank ${rank.rank} ${rank.state}${rank.note ? ` (${rank.note})` : ""}`,
                                )
                                .join("; ")}
                            {bad.length > 5 ? " …" : ""}
                        </>
                    )}
                </div>
            )}
            <div class="split">
                <Card title="High-water marks">
                    <dl class="facts">
                        <dt>ranks</dt>
                        <dd data-ranks>
                            {count(ranks.length)}
                            {unknown > 0 && `, of ${count(unknown)} nothing is known`}
                        </dd>
                        <dt>highest</dt>
                        <dd title={known ? exact(most, "bytes") : ""}>
                            {known ? `${unknown ? "≥ " : ""}${bytes(most)}` : "not known"}
                            <RanksAt ranks={ranks} peak={most} of={profile} />
                        </dd>
                        <dt>lowest</dt>
                        <dd title={known ? exact(least, "bytes") : ""}>
                            {known ? `${unknown ? "≤ " : ""}${bytes(least)}` : "not known"}
                            <RanksAt ranks={ranks} peak={least} of={profile} />
                        </dd>
                        <dt>{unknown ? "mean of those known" : "mean"}</dt>
                        <dd>{known ? bytes(mean) : "not known"}</dd>
                        <dt>
                            {unknown ? "standard deviation of those known" : "standard deviation"}
                        </dt>
                        <dd>{known ? bytes(deviation) : "not known"}</dd>
                        <dt>{unknown ? "imbalance of those known" : "imbalance"}</dt>
                        <dd title="(highest − mean) ÷ mean">
                            {mean ? share(most / mean - 1) : "–"} above the mean
                        </dd>
                    </dl>
                    <Distribution ranks={ranks} job={job} />
                </Card>
                <Nodes nodes={job.nodes} />
            </div>
            <div class="pad">
                <Card
                    title={`Ranks × time: ${ofNow() === "resident" ? "most resident" : "highest live bytes"}; click a rank to compare it with another`}
                    tools={<OfChoice />}>
                    <RanksOverTime job={job} />
                </Card>
            </div>
            <Sides profile={profile} job={job} />
            <Scaling />
            <div class="rank-table">
                <RankTable of={profile} job={job} />
            </div>
        </div>
    );
}

const NAMED = 4;

/* "rank 3", "ranks 1, 2 and 60 more". */
export function ranksSaid(ranks: readonly number[]): string {
    const named = ranks.slice(0, ranks.length === NAMED + 1 ? NAMED + 1 : NAMED),
        more = ranks.length - named.length;
    return `${ranks.length === 1 ? "rank" : "ranks"} ${named.join(", ")}${more ? ` and ${count(more)} more` : ""}`;
}

/* Who has this high-water mark; the first leads to its own figures. */
function RanksAt({
    ranks,
    peak,
    of,
}: {
    ranks: readonly Rank[];
    peak: number;
    of: Profile;
}): JSX.Element | null {
    const those = ranks.filter((rank) => rank.peak_bytes === peak),
        first = those[0];
    if (!first) return null;
    const said = ranksSaid(those.map((rank) => rank.rank));
    return (
        <>
            {" "}
            {profileOfRank(of.index, first.id) >= 0 ? (
                <a
                    data-ranks-at={peak}
                    href={link({
                        ...{ view: "summary", rank: first.id, fn: -1, node: -1, thread: -1 },
                        ...{ sort: "", opt: "" },
                    })}>
                    {said}
                </a>
            ) : (
                <span data-ranks-at={peak}>{said}</span>
            )}
        </>
    );
}

function OfChoice(): JSX.Element {
    const of = ofNow();
    const choice = (which: Of, title: string) => (
        <button
            aria-pressed={of === which}
            onClick={() =>
                go(
                    {
                        opt: withOptions(state.value, {
                            of: which === "heap" ? undefined : which,
                        }),
                    },
                    "replace",
                )
            }>
            {title}
        </button>
    );
    return (
        <>
            {choice("heap", "heap")} {choice("resident", "resident")}
        </>
    );
}

/* The one that is chosen is compared with the one that was. */
function pickRank(job: Job, rank: Rank): void {
    const [first, second] = sides(job);
    go(
        {
            opt: withOptions(state.value, {
                a: String(rank.id),
                b: String(first === rank.id ? second : first),
            }),
        },
        "replace",
    );
}

/* Labels in the fewest letters that tell them apart. */
const apart = (values: readonly number[]): string[] => {
    const short = values.map(bytes);
    return new Set(short).size < short.length ? values.map((each) => exact(each, "bytes")) : short;
};

function Distribution({ ranks, job }: { ranks: readonly Rank[]; job: Job }): JSX.Element {
    const bars = useMemo(() => {
        const known = ranks.filter((rank) => rank.peak_bytes !== null),
            peaks = known.map((rank) => rank.peak_bytes!);
        const low = peaks.reduce((a, b) => Math.min(a, b), Infinity),
            high = peaks.reduce((a, b) => Math.max(a, b), 0),
            bins = Math.min(24, Math.max(1, peaks.length));
        const width = (high - low) / bins || 1;
        const members: Rank[][] = Array.from({ length: high > low ? bins : 1 }, () => []);
        for (const rank of known)
            members[
                Math.min(members.length - 1, Math.floor((rank.peak_bytes! - low) / width))
            ]!.push(rank);
        const bounds = apart(
            Array.from({ length: members.length + 1 }, (_, at) => Math.round(low + at * width)),
        );
        return members.map((those, at) => ({
            ranks: those,
            label: bounds[at]!,
            value: those.length,
            tip: (
                <>
                    {those.length ? ranksSaid(those.map((rank) => rank.rank)) : "no rank"}
                    <br />
                    from {bounds[at]} to {bounds[at + 1]}
                </>
            ),
        }));
    }, [job]);
    const known = bars.reduce((sum, bar) => sum + bar.value, 0);
    return known > 1 ? (
        <Bars
            name="high-water-marks"
            label="Ranks by high-water mark: a click compares the first of a bar with another"
            bars={bars}
            height={130}
            format={(value) => count(Math.round(value))}
            onPick={(at) => bars[at]!.ranks[0] && pickRank(job, bars[at]!.ranks[0])}
        />
    ) : (
        <></>
    );
}

function Nodes({ nodes }: { nodes: Node[] }): JSX.Element {
    return (
        <Card title="Combined peak of each node, on one clock">
            <table class="wide">
                <thead>
                    <tr>
                        <th class="left">node</th>
                        <th class="number">ranks</th>
                        <th class="number">combined peak</th>
                        <th class="number">if all peaked at once</th>
                        <th class="number">of the limit</th>
                    </tr>
                </thead>
                <tbody>
                    {nodes.map((node) => {
                        const limit = node.limit_bytes ?? node.machine_bytes;
                        /* what ranks that could not be read had comes on top */
                        const least = (value: Maybe) =>
                            node.not_read && value !== null ? "≥ " : "";
                        return (
                            <tr key={node.id}>
                                <td class="nowrap">{node.name}</td>
                                <td class="number">
                                    {format(node.ranks, "count")}
                                    {!!node.not_read && (
                                        <span class="dim"> ({node.not_read} not read)</span>
                                    )}
                                </td>
                                <td
                                    class="number"
                                    title={`${exact(node.lower_bytes, "bytes")} to ${exact(node.upper_bytes, "bytes")}`}>
                                    {least(node.upper_bytes)}
                                    {node.lower_bytes === node.upper_bytes
                                        ? format(node.upper_bytes, "bytes")
                                        : `${format(node.lower_bytes, "bytes")} – ${format(node.upper_bytes, "bytes")}`}
                                </td>
                                <td class="number">
                                    {least(node.peak_sum)}
                                    {format(node.peak_sum, "bytes")}
                                </td>
                                <td class="number">
                                    {limit && node.upper_bytes !== null
                                        ? least(node.upper_bytes) + share(node.upper_bytes / limit)
                                        : "–"}
                                </td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>
            <p class="dim">
                Timelines keep the highest level of each interval: the truth lies between the two
                figures.
            </p>
        </Card>
    );
}

const rowsMost = 64;

function RanksOverTime({ job }: { job: Job }): JSX.Element {
    const of = ofNow(),
        steps = stepsOf(job, of);
    const map = useMemo(() => {
        const ranks = job.ranks.filter((rank) => !rank.beside).sort((a, b) => a.rank - b.rank);
        const bin = Math.ceil(ranks.length / rowsMost);
        const rowOf = new Map(ranks.map((rank, at) => [rank.id, Math.floor(at / bin)]));
        const rows = Array.from({ length: Math.ceil(ranks.length / bin) }, (_, at) =>
            bin === 1
                ? String(ranks[at]!.rank)
                : `${ranks[at * bin]!.rank}–${ranks[Math.min(ranks.length, (at + 1) * bin) - 1]!.rank}`,
        );
        const columns = 200,
            values = new Map<number, number>();
        for (let at = 0; at < steps.rank.length; at++) {
            const row = rowOf.get(steps.rank[at]!);
            if (row === undefined || Number.isNaN(steps.most[at]!)) continue;
            const cell = row * columns + steps.step[at]!;
            values.set(cell, Math.max(values.get(cell) ?? 0, steps.most[at]!));
        }
        const cells: HeatCell[] = [...values].map(([cell, value]) => ({
            x: cell % columns,
            y: Math.floor(cell / columns),
            value,
        }));
        return {
            cells,
            rows,
            columns: Array.from(
                { length: columns },
                (_, at) => `${(at / 2).toFixed(at % 2 ? 1 : 0)} %`,
            ),
            ranks,
            bin,
        };
    }, [job, of]);
    if (!map.cells.length)
        return (
            <p class="dim">
                {of === "resident"
                    ? "What was resident when is not known."
                    : "No timeline was kept."}
            </p>
        );
    return (
        <>
            <NoLevels job={job} of={of} />
            <HeatMap
                name="ranks-over-time"
                label={`${of === "resident" ? "Resident" : "Live"} bytes of ranks over their run time`}
                cells={map.cells}
                columns={map.columns}
                rows={map.rows}
                height={Math.min(
                    620,
                    40 + Math.max(8, 560 / Math.max(12, map.rows.length)) * map.rows.length,
                )}
                linear
                format={bytes}
                tip={(cell) => (
                    <>
                        rank {map.rows[cell.y]}, {map.columns[cell.x]} of its run:{" "}
                        {exact(cell.value, "bytes")}
                        {map.bin > 1 ? ` (highest of ${map.bin})` : ""}
                    </>
                )}
                onPick={(cell) => pickRank(job, map.ranks[cell.y * map.bin]!)}
            />
        </>
    );
}

/* An empty row is no 0. */
function NoLevels({ job, of }: { job: Job; of: Of }): JSX.Element | null {
    const { rank, most } = stepsOf(job, of),
        withLevels = new Set(rank.filter((_, at) => !Number.isNaN(most[at]!))),
        without = job.ranks.filter((rank) => !rank.beside && !withLevels.has(rank.id));
    if (!without.length) return null;
    const named = without.slice(0, 8).map((rank) => rank.rank);
    return (
        <p class="dim first" data-no-levels>
            Levels of {without.length === 1 ? "rank" : "ranks"} {named.join(", ")}
            {without.length > named.length ? " …" : ""} are not known:{" "}
            {without.length === 1 ? "its row is" : "their rows are"} empty.
        </p>
    );
}

/* The two that are compared: those chosen, else the ranks at both ends. */
function sides(job: Job): [number, number] {
    const known = job.ranks
        .filter((rank) => !rank.beside && rank.peak_bytes !== null)
        .sort((a, b) => b.peak_bytes! - a.peak_bytes!);
    const chosen = (name: string, usual: number) => Number(getOption(state.value, name) ?? usual);
    return [chosen("a", known[0]?.id ?? 0), chosen("b", known.at(-1)?.id ?? 0)];
}

function Functions({ profile, ranks }: ViewProps & { ranks: readonly [Rank, Rank] }): JSX.Element {
    const [a, b] = ranks.map((rank) => profileOfRank(profile.index, rank.id)) as [number, number];
    if (a < 0 || b < 0 || a === b)
        return (
            <p class="dim">
                Which functions differ: serve both ranks' profiles and open Compare:{" "}
                {ranks.map((rank) => baseName(rank.file)).join(", ")}
            </p>
        );
    return (
        <p>
            <a href={link({ view: "compare", profile: b, other: a, rank: -1, fn: -1, node: -1 })}>
                Which functions differ
            </a>
        </p>
    );
}

function Sides({ profile, job }: ViewProps & { job: Job }): JSX.Element {
    const [a, b] = sides(job),
        of = ofNow();
    const ranks = [a, b].map((id) => job.ranks.find((rank) => rank.id === id));
    const plot = useMemo(() => {
        const level = (id: number) => {
            const values: (number | null)[] = new Array<number | null>(200).fill(null);
            const { rank, step, most } = stepsOf(job, of);
            for (let at = 0; at < rank.length; at++)
                if (rank[at] === id && step[at]! < 200 && !Number.isNaN(most[at]!))
                    values[step[at]!] = most[at]!;
            return values;
        };
        const series: PlotSeries[] = [a, b].map((id, at) => ({
            title: `rank ${job.ranks.find((rank) => rank.id === id)?.rank ?? "?"}`,
            tone: at ? "data-2" : "data-1",
            values: level(id),
            format: bytes,
            binary: true,
            stepped: of === "heap",
            points: of === "resident",
            dashed: at === 1,
        }));
        return { x: Float64Array.from({ length: 200 }, (_, at) => at / 200), series };
    }, [job, a, b, of]);
    if (!ranks[0] || !ranks[1]) return <></>;
    const choose = (name: "a" | "b", value: number) => (
        <select
            aria-label={`Rank ${name}`}
            value={value}
            onChange={(event) =>
                go(
                    { opt: withOptions(state.value, { [name]: event.currentTarget.value }) },
                    "replace",
                )
            }>
            {job.ranks.map((rank) => (
                <option key={rank.id} value={rank.id}>
                    rank {rank.rank}
                    {rank.beside ? ` (${baseName(rank.file)})` : ""}
                </option>
            ))}
        </select>
    );
    const rows: [string, keyof Rank, "bytes" | "count" | "ns"][] = [
        ["high-water mark", "peak_bytes", "bytes"],
        ["reached at", "peak_ns", "ns"],
        ["of it MPI's", "mpi_peak_bytes", "bytes"],
        ["resident at most", "resident_peak_bytes", "bytes"],
        ["never freed", "live_bytes", "bytes"],
        ["asked for, reallocations too", "alloc_bytes", "bytes"],
        ["allocations and reallocations", "alloc_count", "count"],
        ["ran for", "duration_ns", "ns"],
    ];
    return (
        <div class="split">
            <Card
                title={`Two ranks over their run time${of === "resident" ? ": resident" : ""}`}
                tools={
                    <>
                        {choose("a", a)} {choose("b", b)}
                    </>
                }>
                <Plot
                    name="two-ranks"
                    label={`${of === "resident" ? "Resident" : "Live"} bytes of two ranks`}
                    x={plot.x}
                    formatX={share}
                    series={plot.series}
                    height={220}
                    range={null}
                />
            </Card>
            <Card title="Side by side">
                <table class="wide">
                    <thead>
                        <tr>
                            <td />
                            <th class="number">rank {ranks[0].rank}</th>
                            <th class="number">rank {ranks[1].rank}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {rows.map(([title, name, unit]) => (
                            <tr key={name}>
                                <td class="dim">{title}</td>
                                {ranks.map((rank, at) => (
                                    <td
                                        class="number"
                                        key={at}
                                        title={exact(rank![name] as Maybe, unit)}>
                                        {format(rank![name] as Maybe, unit)}
                                    </td>
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
                <Functions profile={profile} ranks={[ranks[0], ranks[1]]} />
            </Card>
        </div>
    );
}

/* Jobs of several sizes that are served together. */
function Scaling(): JSX.Element {
    const listed = profileNames.value.flatMap((each, at) => (each.kind === "job" ? [at] : []));
    useEffect(() => listed.forEach(wantProfile), [listed.join()]);
    const jobs = profileNames.value
        .map((_, at) => profileAt(at))
        .filter((each): each is Profile => !!each?.has("ranks"));
    const loaded = useLoaded(
        () =>
            Promise.all(
                jobs.map(async (profile) => {
                    const ranks = (await loadJob(profile)).ranks.filter((rank) => !rank.beside);
                    const peaks = ranks.flatMap(({ peak_bytes }) =>
                        peak_bytes === null ? [] : [peak_bytes],
                    );
                    const sum = peaks.reduce((a, b) => a + b, 0);
                    return {
                        unknown: ranks.length - peaks.length,
                        index: profile.index,
                        name: profileNames.value[profile.index]?.name ?? "",
                        ranks: ranks.length,
                        most: peaks.reduce((a, b) => Math.max(a, b), 0),
                        mean: peaks.length ? sum / peaks.length : 0,
                        sum,
                    };
                }),
            ),
        jobs /* each is another one when it has grown */,
    );
    if (jobs.length < 2) return <></>;
    return (
        <Ready of={loaded}>
            {(sizes) => {
                const sorted = sizes
                        .filter((each) => each.ranks > each.unknown)
                        .sort((a, b) => a.ranks - b.ranks),
                    first = sorted[0];
                if (!first) return <></>;
                const highest = sorted.reduce((best, each) => Math.max(best, each.most), 1);
                return (
                    <div class="pad">
                        <Card title="Memory of a rank over the jobs that are open">
                            <table aria-label="Scaling" class="wide">
                                <thead>
                                    <tr>
                                        <th class="left">job</th>
                                        <th class="number">ranks</th>
                                        <th class="quarter">
                                            <span class="dim">highest rank's</span>
                                        </th>
                                        <th class="number">high-water mark</th>
                                        <th class="number">mean of a rank's</th>
                                        <th
                                            class="number"
                                            title="The mean against that of the job with fewest ranks: with a problem of one size it should fall as ranks are added">
                                            mean, of the smallest job's
                                        </th>
                                        <th class="number">of all ranks together</th>
                                    </tr>
                                </thead>
                                <tbody>
                                    {sorted.map((each) => (
                                        <tr
                                            key={each.index}
                                            class={
                                                each.index === state.value.profile ? "strong" : ""
                                            }>
                                            <td class="nowrap">{each.name}</td>
                                            <td class="number">
                                                {each.ranks}
                                                {each.unknown > 0 && (
                                                    <span class="dim">
                                                        {" "}
                                                        ({each.unknown} not known)
                                                    </span>
                                                )}
                                            </td>
                                            <td class="bar-cell">
                                                <div
                                                    class="bar"
                                                    style={{
                                                        "--share": `${(100 * each.most) / highest}%`,
                                                    }}
                                                />
                                            </td>
                                            <td class="number" title={exact(each.most, "bytes")}>
                                                {bytes(each.most)}
                                            </td>
                                            <td
                                                class="number"
                                                title={exact(Math.round(each.mean), "bytes")}>
                                                {bytes(each.mean)}
                                            </td>
                                            <td class="number">
                                                {each === first || !first.mean
                                                    ? ""
                                                    : share(each.mean / first.mean)}
                                            </td>
                                            <td class="number" title={exact(each.sum, "bytes")}>
                                                {each.unknown > 0 ? "≥ " : ""}
                                                {bytes(each.sum)}
                                            </td>
                                        </tr>
                                    ))}
                                </tbody>
                            </table>
                        </Card>
                    </div>
                );
            }}
        </Ready>
    );
}

/* A sum of what is known says so where something is not. */
export function sumSaid(values: readonly Maybe[], say: (value: number) => string): string {
    const known = values.filter((value) => value !== null);
    if (!known.length) return "not known how much";
    const sum = say(known.reduce((total, value) => total + value, 0));
    return known.length < values.length ? `at least ${sum}` : sum;
}

function RankTable({ of, job }: { of: Profile; job: Job }): JSX.Element {
    const most = job.ranks.reduce((best, rank) => Math.max(best, rank.peak_bytes ?? 0), 1);
    const node = (id: number) => job.nodes.find((each) => each.id === id)?.name ?? "";
    const columns: Column<Rank>[] = [
        { id: "rank", title: "rank", width: "70px", number: (row) => row.rank },
        {
            id: "peak_bytes",
            title: "high-water mark",
            width: "130px",
            unit: "bytes",
            number: (row) => row.peak_bytes,
            fill: (row) => (row.peak_bytes ?? 0) / most,
        },
        { id: "peak_ns", title: "at", width: "90px", unit: "ns", number: (row) => row.peak_ns },
        {
            id: "mpi_peak_bytes",
            title: "of it MPI's",
            width: "110px",
            unit: "bytes",
            number: (row) => row.mpi_peak_bytes,
        },
        {
            id: "resident_peak_bytes",
            title: "resident",
            width: "100px",
            unit: "bytes",
            number: (row) => row.resident_peak_bytes,
        },
        {
            id: "live_bytes",
            title: "never freed",
            width: "100px",
            unit: "bytes",
            number: (row) => row.live_bytes,
        },
        {
            id: "alloc_count",
            title: "calls",
            hint: "Allocations and reallocations",
            width: "100px",
            number: (row) => row.alloc_count,
        },
        {
            id: "duration_ns",
            title: "ran",
            width: "90px",
            unit: "ns",
            number: (row) => row.duration_ns,
        },
        { id: "node", title: "node", width: "minmax(100px, 1fr)", text: (row) => node(row.node) },
        { id: "state", title: "state", width: "100px", text: (row) => row.state },
        {
            id: "file",
            title: "file",
            width: "minmax(120px, 1fr)",
            text: (row) => row.file,
            show: (row) => baseName(row.file),
        },
    ];
    const has = searcher(state.value.search);
    return (
        <Table
            name="ranks"
            label="Ranks"
            rows={job.ranks.filter(
                (rank) =>
                    !has ||
                    has({
                        function: `rank ${rank.rank} ${rank.state}`,
                        file: rank.file,
                        module: node(rank.node),
                    }),
            )}
            whole={job.ranks.length}
            columns={columns}
            sort={state.value.sort || "rank"}
            onSort={(sort) => go({ sort }, "replace")}
            rowKey={(row) => row.id}
            selected={state.value.rank}
            onSelect={(row) =>
                profileOfRank(of.index, row.id) >= 0 &&
                go({ rank: row.id, fn: -1, node: -1, thread: -1 }, "replace")
            }
            foot={
                <span>
                    A click chooses a rank for all views ·{" "}
                    {sumSaid(
                        job.ranks.map((rank) => rank.duration_ns),
                        duration,
                    )}{" "}
                    of run time in all
                </span>
            }
        />
    );
}
