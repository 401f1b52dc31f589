/* The first view, the answer first: whose the resident memory is, who has most, what is lost, and the
 * insights, each of which leads to its place. Then the curve, the peaks, figures, the functions with most,
 * the ledger, and last what ran. Where the profile is of a region, it shows the region's figures. */
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Insight, Peak, Region, Top, TopFunction, Summary } from "../data/types.ts";
import { highest, holders, noHolders, notable } from "../model/peaks.ts";
import { sureHint } from "../model/estimate.ts";
import {
    focusOn,
    kindsOfLedger,
    kindToSee,
    ownersOfProgram,
    toolOf,
    whenOfOwners,
    type Owners,
} from "../model/owners.ts";
import { verdictOf } from "../model/verdict.ts";
import { shortName } from "../model/names.ts";
import { baseName, type Profile, fileName, filePlace, titleOf } from "../model/profile.ts";
import { duration, exact, format, isKnown, share, times, type Unit } from "../model/units.ts";
import { go, link } from "../state/state.ts";
import type { ViewState } from "../state/url.ts";
import { theme } from "../state/theme.ts";
import { colour, useCanvas } from "../widgets/canvas.ts";
import { csvCell, SaveChart } from "../widgets/save_chart.tsx";
import { Card, Ready, useLoaded } from "../widgets/states.tsx";
import { hideTip, showTip } from "../widgets/tooltip.tsx";
import { HolderBars, holdersOf, partsOf, PartsBar, type BarPart } from "./owners.tsx";
import type { ViewProps } from "./registry.ts";

/* In the words of the text report. */
const ledgerParts: readonly [string, string, string][] = [
    ["live_touched_bytes", "live blocks", "data-1"],
    ["slack_bytes", "allocator, free", "data-2"],
    ["mmap_bytes", "mapped directly", "data-3"],
    ["file_bytes", "files and code", "data-5"],
    ["stack_bytes", "stacks", "data-6"],
    ["globals_bytes", "globals", "data-4"],
    ["shared_bytes", "shared memory", "data-7"],
    ["other_bytes", "other", "data-8"],
    ["tool_bytes", "Tidemark itself", "line-strong"],
    ["unexplained_bytes", "gone meanwhile", "bad"],
];

/* How far apart samples are. Where that changed while it was recorded, from when on. */
function intervalsOf({ changes, pages, interval_bytes }: NonNullable<Summary["sampled"]>): string {
    const each = (value: number) => format(value, "bytes");
    if (!changes?.length)
        return pages
            ? `blocks from 64 KiB on, and one smaller block for each ${each(interval_bytes)} or more`
            : `each ${each(interval_bytes)}`;
    const later = changes.map((change, at) =>
        at === 0
            ? each(change.interval_bytes)
            : `from ${format(change.from_ns, "ns")} on ${each(change.interval_bytes)}`,
    );
    return `exact until ${format(changes[0]!.from_ns, "ns")}, then each ${later.join(", ")}`;
}

export function SummaryView({ profile }: ViewProps): JSX.Element {
    const { summary } = profile;
    const isWhole = !profile.part;
    return (
        <>
            {summary.losses.map((sentence) => (
                <div class="notice bad" role="alert" key={sentence}>
                    {sentence}
                </div>
            ))}
            {profile.importedFrom ? (
                <div class="notice">
                    Imported from {profile.importedFrom}: what that did not record is not known
                    here.
                </div>
            ) : (
                !summary.ended_well &&
                summary.state !== "recording" && (
                    <div class="notice bad">The program’s end: {summary.end}.</div>
                )
            )}
            {summary.warnings
                .filter((sentence) => !summary.losses.includes(sentence))
                .map((sentence) => (
                    <div class="notice" key={sentence}>
                        {sentence}
                    </div>
                ))}
            {isWhole && <Headline profile={profile} />}
            {isWhole && (
                <div class="whole-row">
                    <Insights profile={profile} />
                </div>
            )}
            <div class="pages">
                {profile.region && <InRegion profile={profile} />}
                {summary.spark && (
                    <Card
                        title="Memory over time"
                        tools={<a href={link({ view: "timeline" })}>timeline</a>}>
                        <Spark profile={profile} />
                    </Card>
                )}
                <Peaks profile={profile} />
                <Card title="How much">
                    {summary.program ? (
                        <Figures profile={profile} />
                    ) : (
                        <p class="dim">Nothing was saved yet.</p>
                    )}
                    {profile.region && (
                        <p class="dim">
                            Resident memory and threads are known of the whole program only.
                        </p>
                    )}
                </Card>
                {!isWhole && <Insights profile={profile} />}
                <TopFunctions profile={profile} />
                <Ledger of={profile} />
                <WhatRan profile={profile} />
            </div>
        </>
    );
}

function WhatRan({ profile }: ViewProps): JSX.Element {
    const { summary } = profile,
        ranFor = profile.isTimed ? profile.durationNs : null;
    return (
        <Card title="What ran">
            <dl class="facts">
                <dt>Command</dt>
                <dd class="mono">{summary.meta["command"] ?? summary.meta["program"]}</dd>
                <dt>It</dt>
                <dd class={summary.ended_well ? "" : "bad"}>{summary.end}</dd>
                <dt>{profile.window ? "This part took" : "Ran for"}</dt>
                <dd title={exact(ranFor, "ns")}>{format(ranFor, "ns")}</dd>
                {summary.meta["start_unix_ns"] && (
                    <>
                        <dt>Began</dt>
                        <dd>
                            {new Date(Number(summary.meta["start_unix_ns"]) / 1e6).toLocaleString()}
                        </dd>
                    </>
                )}
                {summary.meta["host"] && (
                    <>
                        <dt>On</dt>
                        <dd>
                            {summary.meta["host"]}, pid {summary.meta["pid"]}
                        </dd>
                    </>
                )}
                {summary.meta["rank"] && (
                    <>
                        <dt>Rank</dt>
                        <dd>
                            {summary.meta["rank"]}
                            {summary.meta["ranks"] ? ` of ${summary.meta["ranks"]}` : ""}
                        </dd>
                    </>
                )}
                {summary.sampled && (
                    <>
                        <dt>Sampled</dt>
                        <dd>
                            {intervalsOf(summary.sampled)};{" "}
                            {exact(summary.sampled.samples, "count")}{" "}
                            {summary.sampled.pages ? "blocks" : "samples"}: figures are estimates
                        </dd>
                    </>
                )}
                <dt>By</dt>
                <dd>{summary.meta["tool"] ?? summary.tool}</dd>
            </dl>
        </Card>
    );
}

/* The answer: whose the resident memory is, who has most of it, and what of the heap was lost. Each
 * part is drawn when it is there: to add up a million call paths takes longer than owners do. */
function Headline({ profile }: ViewProps): JSX.Element {
    const owned = useLoaded(
        async () => (profile.has("owners") ? profile.json<Owners>("owners") : null),
        [profile],
    );
    const loaded = useLoaded(
        async () =>
            (await profile.json<{ top: Top[] }>("top")).top.find(
                (each) => each.metric === "at_peak_bytes",
            ),
        [profile],
    );
    const owners = owned.state === "there" ? owned.value : null,
        top = loaded.state === "there" ? loaded.value : undefined;
    const isOfOwners = profile.has("owners") && owned.state !== "failed";
    const isWaiting = owned.state === "waiting" || loaded.state === "waiting";
    return (
        <div class="headline" data-headline aria-busy={isWaiting}>
            <ResidentCard profile={profile} owners={owners} />
            <HoldersCard
                owners={owners}
                top={isOfOwners ? undefined : top}
                isOfOwners={isOfOwners}
                isOfRegion={!!profile.region}
                none={
                    isOfOwners
                        ? noHolders(owned.state, owners?.resident_bytes)
                        : noHolders(loaded.state, top?.total)
                }
            />
            <HeapCard profile={profile} top={top} />
        </div>
    );
}

function ResidentCard({ profile, owners }: ViewProps & { owners: Owners | null }): JSX.Element {
    const sample = profile.summary.samples?.findLast((each) => each.ledger);
    const tool = owners ? toolOf(owners.owners) : (sample?.ledger?.["tool_bytes"] ?? 0);
    const all = owners ? owners.resident_bytes : sample?.resident_bytes;
    const whole = isKnown(all) ? all - tool : all;
    const parts = owners
        ? partsOf(ownersOfProgram(owners.owners), KINDS)
        : sample?.ledger
          ? ledgerBar(sample.ledger)
          : [];
    return (
        <Card
            title={isKnown(whole) ? `${format(whole, "bytes")} resident` : "Resident memory"}
            tools={
                parts.length > 0 && (
                    <>
                        <span class="dim">
                            {whenOfOwners(owners ? owners.time_ns : (sample?.time_ns ?? 0))}
                        </span>
                        <a href={link({ view: "resident", opt: owners ? "list:owners" : "" })}>
                            whose it is
                        </a>
                    </>
                )
            }>
            {parts.length > 0 ? (
                <>
                    <PartsBar label="Resident memory by owner" parts={parts} />
                    {tool > 0 && (
                        <p class="dim tight" data-tool>
                            without{" "}
                            <a href={link(kindToSee("tool"))} title={exact(tool, "bytes")}>
                                {format(tool, "bytes")}
                            </a>{" "}
                            of Tidemark’s own
                        </p>
                    )}
                </>
            ) : (
                <p class="dim">{noLedger(profile)}</p>
            )}
        </Card>
    );
}

const KINDS = 5; /* that the headline tells apart */

const ledgerBar = (ledger: Record<string, number>): BarPart[] =>
    ledgerParts.flatMap(([name, title, tone]) =>
        name !== "tool_bytes" && (ledger[name] ?? 0) > 0
            ? [{ title, tone, bytes: ledger[name]!, href: link({ view: "resident", opt: "" }) }]
            : [],
    );

const HOLDERS = 3;

/* Of what is resident, or where nobody knows it of what was alive at the peak. */
function HoldersCard({
    owners,
    top,
    isOfOwners,
    isOfRegion,
    none,
}: {
    owners: Owners | null;
    top: Top | undefined;
    isOfOwners: boolean;
    isOfRegion: boolean;
    none: string;
}): JSX.Element {
    /* 0: not known */
    const of = Math.max(
        0,
        owners ? (owners.resident_bytes ?? 0) - toolOf(owners.owners) : (top?.total ?? 0),
    );
    const holders = owners
        ? holdersOf(owners.owners, HOLDERS)
        : (top?.functions ?? []).slice(0, HOLDERS).map((row) => ({
              name: titleOfRow(row),
              short: titleOf(titleOfRow(row), row.file),
              says: row.file ? fileName(row.file) : row.module ? baseName(row.module) : "",
              bytes: row.exclusive,
              tone: "data-1",
              href: link({ view: "flame", metric: "at_peak_bytes", fn: row.key }),
          }));
    return (
        <Card
            title={
                isOfOwners
                    ? "Largest holders"
                    : isOfRegion
                      ? "Largest at the program's peak"
                      : "Largest at the peak"
            }
            tools={
                <a
                    href={link(
                        isOfOwners
                            ? { view: "resident", opt: "list:owners" }
                            : { view: "functions", metric: "at_peak_bytes" },
                    )}>
                    all
                </a>
            }>
            {holders.length > 0 ? (
                <HolderBars label="Largest holders" holders={holders} whole={of} />
            ) : (
                <p class="dim">{none}</p>
            )}
        </Card>
    );
}

const titleOfRow = (row: TopFunction) => row.function ?? `[${baseName(row.module ?? "?")}]`;

/* A job's is the sum of its ranks' peaks. */
function whenOfPeak({ isJob, summary }: Profile): string {
    const ns = summary.program?.["peak_ns"];
    if (isJob) return " each rank at its own moment";
    return isKnown(ns) ? ` after ${duration(ns)}` : "";
}

/* More may be alive at the peak than allocations alone asked for. */
function withReallocs({ program, sampled }: Summary): string {
    const more = program?.["realloc_bytes"],
        bytes = program?.["alloc_bytes"];
    if (sampled || !isKnown(more) || !isKnown(bytes) || !more) return "";
    return `, ${format(bytes + more, "bytes")} with reallocs`;
}

/* The peak of the heap and who held most of it, and what is lost. */
function HeapCard({ profile, top }: ViewProps & { top: Top | undefined }): JSX.Element {
    const program = profile.summary.program,
        verdict = verdictOf(profile.summary.samples ?? []),
        first = top?.functions[0];
    /* a block that is lost once is no alarm */
    const isMuch = !!verdict && verdict.bytes >= 0.01 * (program?.["peak_bytes"] ?? Infinity);
    return (
        <Card title="Heap and leaks" tools={<a href={link({ view: "leaks" })}>leaks</a>}>
            <p class="tight">
                <b title={exact(program?.["peak_bytes"] ?? null, "bytes")}>
                    {format(program?.["peak_bytes"] ?? null, "bytes")}
                </b>{" "}
                <a href={link({ view: "timeline" })}>at the peak</a>
                <span class="dim">{whenOfPeak(profile)}</span>
            </p>
            {first && !!top.total && (
                <p class="tight nowrap" title={titleOfRow(first)}>
                    <span class="dim">
                        {share(first.exclusive / top.total)}{" "}
                        {/* a region has a peak of its own, of which nobody knows who held it */}
                        {profile.region ? "of it at the program's peak held by" : "of it held by"}
                    </span>{" "}
                    <a href={link({ view: "flame", metric: "at_peak_bytes", fn: first.key })}>
                        {titleOf(titleOfRow(first), first.file)}
                    </a>
                </p>
            )}
            {isKnown(program?.["alloc_bytes"]) && (
                <p class="tight">
                    <b title={exact(program["alloc_bytes"], "bytes")}>
                        {format(program["alloc_bytes"], "bytes")}
                    </b>{" "}
                    <a href={link({ view: "functions", metric: "alloc_bytes" })}>asked for</a>
                    <span class="dim">
                        {" "}
                        in {format(program["alloc_count"] ?? null, "count")} allocations
                        {withReallocs(profile.summary)}
                    </span>
                </p>
            )}
            <p class="tight verdict" data-leak-verdict>
                {verdict ? (
                    <>
                        <b class={isMuch ? "bad" : verdict.count ? "" : "good"}>
                            <a href={link({ view: "leaks", opt: "", sort: "" })}>
                                {verdict.sentence}
                            </a>
                        </b>
                        <span class="dim"> {verdict.rest.join(" · ")}</span>
                    </>
                ) : (
                    <>
                        <b title={exact(program?.["live_bytes"] ?? null, "bytes")}>
                            {format(program?.["live_bytes"] ?? null, "bytes")}
                        </b>{" "}
                        <a href={link({ view: "leaks", opt: "", sort: "" })}>never freed</a>
                        <span class="dim">; what of it is lost is not known</span>
                    </>
                )}
            </p>
        </Card>
    );
}

/* The region itself: what does not follow from its call paths. */
function InRegion({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () => (await profile.regions()).find((each) => each.name === profile.region),
        [profile],
    );
    const since = profile.window ? "after the beginning of the range" : "after the start";
    const rows: [string, keyof Region & string, Unit, string, string][] = [
        /* behind the figure: behind 1, behind others */
        ["Entered", "entered_count", "count", "time", "times"],
        ["In it at the end", "open_count", "count", "thread", "threads"],
        ["Without an end", "unended_count", "count", "time", "times"],
        ["Time in it", "time_ns", "ns", "", "of all threads"],
        ["First", "first_ns", "ns", since, since],
        ["Last", "last_ns", "ns", since, since],
        ["Alive when it ended", "left_bytes", "bytes", "", ""],
        ["Program's peak meanwhile", "program_peak_bytes", "bytes", "", ""],
    ];
    return (
        <Card
            title={`Region ${profile.region}`}
            tools={<a href={link({ view: "timeline" })}>timeline</a>}>
            <Ready of={loaded}>
                {(region) =>
                    region && (
                        <dl class="facts">
                            {rows
                                .filter(
                                    ([, name]) =>
                                        (region[name] as number | null) !== null &&
                                        (region[name] ||
                                            !["open_count", "unended_count"].includes(name)),
                                )
                                .map(([title, name, unit, one, many]) => (
                                    <>
                                        <dt>{title}</dt>
                                        <dd title={exact(region[name] as number | null, unit)}>
                                            {format(region[name] as number | null, unit)}{" "}
                                            <span class="dim">
                                                {region[name] === 1 ? one : many}
                                            </span>
                                        </dd>
                                    </>
                                ))}
                        </dl>
                    )
                }
            </Ready>
        </Card>
    );
}

const estimated: ReadonlySet<string> = new Set([
    "alloc_count",
    "realloc_count",
    "temporary_count",
    "free_count",
]); /* of a sample */

const mappingRows: [string, string, Unit][] = [
    ["Mapped at most", "peak_bytes", "bytes"],
    ["Never unmapped", "live_bytes", "bytes"],
    ["Mapped in all", "alloc_bytes", "bytes"],
    ["Mappings", "alloc_count", "count"],
    ["Changes of size", "realloc_count", "count"],
    ["Unmapped", "free_count", "count"],
    ["Resident at most", "resident_peak_bytes", "bytes"],
];
const residentRows: [string, string, Unit][] = [
    ["Resident, of the look shown", "peak_bytes", "bytes"],
    ["Resident at most", "resident_peak_bytes", "bytes"],
];

function Figures({ profile }: ViewProps): JSX.Element {
    const program = profile.summary.program!;
    const whole = ["resident_peak_bytes", "threads_peak"]; /* nobody knows them of a region */
    const rows: [string, string, Unit][] = (profile.ofMappings
        ? mappingRows
        : profile.level === "resident"
          ? residentRows
          : null) ?? [
        ["Peak of live blocks", "peak_bytes", "bytes"],
        ["Resident at most", "resident_peak_bytes", "bytes"],
        [profile.window ? "Alive at its end" : "Never freed", "live_bytes", "bytes"],
        ["Asked for in all", "alloc_bytes", "bytes"],
        ["Allocations", "alloc_count", "count"],
        ["Reallocations", "realloc_count", "count"],
        ["Temporary", "temporary_count", "count"],
        ["Frees", "free_count", "count"],
        ["Wasted by rounding up", "slack_bytes", "bytes"],
        ["Threads at once", "threads_peak", "count"],
        ["Failed", "failed_count", "count"],
    ];
    return (
        <dl class="facts">
            {rows
                .filter(([, name]) => !profile.region || !whole.includes(name))
                .map(([title, name, unit]) => {
                    const value = program[name];
                    const error =
                            program[
                                name === "peak_bytes" ? "at_peak_bytes_error" : `${name}_error`
                            ],
                        about =
                            !!profile.summary.sampled &&
                            unit === "count" &&
                            !!value &&
                            estimated.has(name);
                    return (
                        <>
                            <dt>{title}</dt>
                            <dd title={exact(value, unit)}>
                                {about ? "~" : ""}
                                {format(value, unit)}
                                {isKnown(error) && !!value && (
                                    <span class="dim" title={sureHint}>
                                        {" "}
                                        ±{format(error, "bytes")}
                                    </span>
                                )}
                                {name === "peak_bytes" && (
                                    <span class="dim">{whenOfPeak(profile)}</span>
                                )}
                                {name === "temporary_count" &&
                                    isKnown(value) &&
                                    !!program["alloc_count"] && (
                                        <span class="dim" title="Of allocations and reallocations">
                                            {" "}
                                            (
                                            {share(
                                                value /
                                                    (program["alloc_count"] +
                                                        (program["realloc_count"] ?? 0)),
                                            )}
                                            )
                                        </span>
                                    )}
                            </dd>
                        </>
                    );
                })}
        </dl>
    );
}

function Spark({ profile }: ViewProps): JSX.Element {
    const spark = profile.summary.spark!;
    const most = Math.max(
        1,
        ...spark.requested.map((value) => value ?? 0),
        ...spark.physical.map((value) => value ?? 0),
    );
    const canvas = useCanvas(
        ({ context, width, height }) => {
            const draw = (values: (number | null)[], name: string, filled: boolean) => {
                context.beginPath();
                let open = false;
                values.forEach((value, at) => {
                    if (value === null) return;
                    const x = (at / Math.max(1, values.length - 1)) * width,
                        y = height - 2 - (value / most) * (height - 6);
                    if (open) context.lineTo(x, y);
                    else context.moveTo(x, y);
                    open = true;
                });
                context.strokeStyle = colour(name);
                context.lineWidth = 1.5;
                context.stroke();
                if (!filled) return;
                context.lineTo(width, height);
                context.lineTo(0, height);
                context.globalAlpha = 0.15;
                context.fillStyle = colour(name);
                context.fill();
                context.globalAlpha = 1;
            };
            draw(spark.requested, "data-1", true);
            draw(spark.physical, "data-2", false);
        },
        [profile, theme.value],
    );
    return (
        <>
            <div class="chart low">
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label={`Memory over time, at most ${format(most, "bytes")}`}
                />
            </div>
            <SaveChart
                name="memory"
                canvas={() => canvas.current}
                csv={() =>
                    [
                        "ns,live_bytes,resident_bytes",
                        ...spark.requested.map((value, at) =>
                            [at * spark.step_ns, value ?? "", spark.physical[at] ?? ""].join(","),
                        ),
                    ].join("\n") + "\n"
                }>
                <span>
                    <span class="swatch tone-1" />
                    live blocks
                </span>
                {spark.physical.some(isKnown) && (
                    <span>
                        <span class="swatch tone-2" />
                        resident
                    </span>
                )}
                <span class="dim">
                    up to {format(most, "bytes")} in{" "}
                    {duration(spark.step_ns * spark.requested.length)}
                </span>
            </SaveChart>
        </>
    );
}

const noLedger = (of: Profile) =>
    of.isJob
        ? "Known of each rank: choose one in the view of the job."
        : of.importedFrom
          ? `Not known: it was recorded by ${of.importedFrom}.`
          : "Not recorded: /proc was not looked at (--no-looks), or it could not be.";

/* Where the owners of a part of the ledger are. */
const ledgerLink = (of: Profile, name: string) =>
    link(
        of.has("owners")
            ? kindToSee(kindsOfLedger[name] ?? "other")
            : { view: "resident", opt: "", sort: "" },
    );

function Ledger({ of }: { of: Profile }): JSX.Element | null {
    const sample = of.summary.samples?.filter((each) => each.ledger).at(-1);
    if (of.region)
        return (
            <Card title="Where resident memory is">
                <p class="dim">Known of the whole process only: take the region off.</p>
            </Card>
        );
    if (of.window)
        return (
            <Card title="Where resident memory is">
                <p class="dim">Not known of a part of the run: take the range off.</p>
            </Card>
        );
    if (!sample?.ledger)
        return (
            <Card title="Where resident memory is">
                <p class="dim">{noLedger(of)}</p>
            </Card>
        );
    const { ledger } = sample;
    const whole = sample.resident_bytes ?? 0;
    return (
        <Card
            title={`Where resident memory is (${sample.why})`}
            tools={<a href={link({ view: "resident" })}>resident</a>}>
            <LedgerBar ledger={ledger} />
            <dl class="facts spaced" data-ledger>
                {ledgerParts
                    .filter(
                        ([name]) =>
                            ledger[name] !== undefined &&
                            (ledger[name] !== 0 || name === "unexplained_bytes"),
                    )
                    .map(([name, title, tone]) => (
                        <>
                            <dt>
                                <span class="swatch" style={{ "--tone": `var(--${tone})` }} />{" "}
                                <a href={ledgerLink(of, name)}>{title}</a>
                            </dt>
                            <dd title={exact(ledger[name]!, "bytes")}>
                                {format(ledger[name]!, "bytes")}{" "}
                                <span class="dim">{whole ? share(ledger[name]! / whole) : ""}</span>
                            </dd>
                        </>
                    ))}
                <dt>
                    <b>resident</b>
                </dt>
                <dd title={exact(whole, "bytes")}>
                    <b>{format(whole, "bytes")}</b> at {duration(sample.time_ns)}
                </dd>
            </dl>
        </Card>
    );
}

function LedgerBar({ ledger }: { ledger: Record<string, number> }): JSX.Element {
    const parts = ledgerParts.flatMap(([name, title, tone]) =>
        (ledger[name] ?? 0) > 0 ? [{ title, tone, bytes: ledger[name]! }] : [],
    );
    const sum = parts.reduce((total, each) => total + each.bytes, 0);
    const canvas = useCanvas(
        ({ context, width, height }) => {
            let left = 0;
            for (const { tone, bytes } of parts) {
                const wide = Math.max(1, (bytes / sum) * width);
                context.fillStyle = colour(tone);
                context.fillRect(left, 0, wide, height);
                left += (bytes / sum) * width;
            }
        },
        [ledger, theme.value],
    );
    const at = (event: MouseEvent) => {
        const area = canvas.current!.getBoundingClientRect();
        let rest = ((event.clientX - area.left) / area.width) * sum;
        return parts.find((each) => (rest -= each.bytes) <= 0) ?? parts.at(-1);
    };
    return (
        <>
            <div class="chart strip">
                <canvas
                    ref={canvas}
                    role="img"
                    aria-label="Ledger of resident memory"
                    onMouseLeave={hideTip}
                    onMouseMove={(event) => {
                        const part = at(event);
                        if (part)
                            showTip(
                                event.clientX,
                                event.clientY,
                                `${part.title}: ${exact(part.bytes, "bytes")}`,
                            );
                    }}
                />
            </div>
            <SaveChart
                name="ledger"
                canvas={() => canvas.current}
                csv={() =>
                    [
                        "part,bytes",
                        ...ledgerParts.flatMap(([name, title]) =>
                            ledger[name] === undefined ? [] : [`${csvCell(title)},${ledger[name]}`],
                        ),
                    ].join("\n") + "\n"
                }
            />
        </>
    );
}

interface Holder {
    name: string;
    bytes: number;
    sure: boolean;
    href: string;
}

/* Who held most at a peak. At the highest that is known of all; at the others of the largest call
 * paths: their sum is the least it was. */
function holderOf(profile: Profile, peak: Peak, top: TopFunction | undefined): Holder | null {
    const name = (of: { function?: string | null; module?: string | null }) =>
        of.function ?? `[${baseName(of.module ?? "?")}]`;
    if (top && !profile.window)
        return {
            name: name(top),
            bytes: top.exclusive,
            sure: true,
            href: link({ view: "flame", metric: "at_peak_bytes", fn: top.key }),
        };
    const first = holders(peak)[0];
    return first
        ? {
              name: name(first),
              bytes: first.bytes,
              sure: !peak.rest_bytes,
              href: link({ view: "flame", node: profile.window ? -1 : (first.node ?? -1) }),
          }
        : null;
}

/* The highest moments between which memory went down in good part, and who held most at each. */
function Peaks({ profile }: ViewProps): JSX.Element | null {
    const loaded = useLoaded(() => profile.json<{ top: Top[] }>("top"), [profile]);
    const top =
        loaded.state === "there"
            ? loaded.value.top.find((each) => each.metric === "at_peak_bytes")
            : undefined;
    const all = notable(profile.summary.peaks ?? []),
        peaks = highest(all);
    if (!peaks.length) return null;
    const most = peaks.reduce((best, peak) => Math.max(best, peak.bytes), 1);
    return (
        <Card
            title={
                all.length === 1
                    ? "One peak"
                    : all.length === peaks.length
                      ? `${all.length} separate peaks`
                      : `The ${peaks.length} highest of ${all.length} separate peaks`
            }
            tools={<a href={link({ view: "timeline" })}>timeline</a>}>
            <table aria-label="Separate peaks" class="fixed-columns">
                <tbody>
                    {peaks.map((peak) => {
                        const holder = holderOf(
                            profile,
                            peak,
                            peak.bytes === most && top?.total === most
                                ? top.functions[0]
                                : undefined,
                        );
                        return (
                            <tr key={peak.time_ns} class={peak.bytes === most ? "strong" : ""}>
                                <td class="number figure" title={exact(peak.bytes, "bytes")}>
                                    {format(peak.bytes, "bytes")}
                                </td>
                                <td
                                    class="nowrap dim when"
                                    title={`${exact(peak.time_ns, "ns")}; then down to ${exact(peak.valley_bytes, "bytes")}`}>
                                    after {duration(peak.time_ns)}
                                </td>
                                <td class="number dim nowrap share">
                                    {holder
                                        ? `${holder.sure ? "" : "≥ "}${share(holder.bytes / peak.bytes)}`
                                        : ""}
                                </td>
                                <td
                                    class="nowrap who"
                                    title={
                                        holder
                                            ? `${holder.name} held most then: ${holder.sure ? "" : "at least "}${exact(holder.bytes, "bytes")}`
                                            : "Who held most then is not known."
                                    }>
                                    {holder ? (
                                        <a href={holder.href}>{shortName(holder.name)}</a>
                                    ) : (
                                        <span class="dim">not known who held it</span>
                                    )}
                                </td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>
        </Card>
    );
}

function Insights({ profile }: ViewProps): JSX.Element {
    if (!profile.has("insights"))
        return (
            <Card title="What to look at">
                <p class="dim">
                    The rules are about whole programs: take the{" "}
                    {profile.level ? "choice of memory" : "region"} off.
                </p>
            </Card>
        );
    return <Found profile={profile} />;
}

const INSIGHTS = 5; /* in sight at once */

/* Where an insight is to be seen: by what it is about, or its first call path's function. */
const insightViews: Record<string, Partial<ViewState>> = {
    "leak-lost": { view: "leaks", opt: "list:lost" },
    "leak-growth": { view: "leaks", opt: "list:alive" },
    "leak-possible": { view: "leaks", opt: "list:alive" },
    "secondary-peak": { view: "timeline" },
    fragmentation: { view: "resident", opt: "list:paths", sort: "-pinned_bytes" },
    "empty-pages": { view: "resident", opt: "list:paths", sort: "-pinned_bytes" },
    "untouched-memory": { view: "resident", opt: "list:paths", sort: "-untouched_bytes" },
    "memory-limit": { view: "resident" },
    "large-globals": { view: "globals" },
    "thread-local-storage": { view: "globals" },
    "cross-thread-frees": { view: "threads" },
    "deep-stack": { view: "stacks" },
};
const insightMetrics: Record<string, string> = {
    "short-lived-blocks": "temporary_count",
    "compiler-temporaries": "temporary_count",
    "small-blocks": "alloc_count",
    "size-waste": "slack_bytes",
    "peak-one-site": "at_peak_bytes",
    "grew-until-teardown": "at_peak_bytes",
};
function insightLink({ id, paths }: Insight): string | null {
    const none = { sort: "", opt: "", metric: "", search: "", fn: -1, node: -1 };
    const place = insightViews[id];
    if (place) return link({ ...none, ...place });
    const first = paths[0]?.frames[0];
    return first?.function
        ? link({
              ...none,
              view: "flame",
              metric: insightMetrics[id] ?? "",
              ...focusOn(first.function, first.file ?? first.module),
          })
        : null;
}

/* A sentence that leads to its place; what it is known from, if that is asked for. */
function InsightRow({ insight }: { insight: Insight }): JSX.Element {
    const href = insightLink(insight),
        first = insight.paths[0]?.frames[0],
        place = first?.file ? filePlace(first.file, first.line) : "";
    const [open, setOpen] = useState(insight.severity === "severe");
    return (
        <li>
            <b class={`severity ${insight.severity === "severe" ? "bad" : ""}`}>
                {insight.severity}
            </b>
            <span class="sentence">
                {href ? <a href={href}>{insight.title}</a> : insight.title}
                {insight.cost !== null && <span class="dim"> {times(insight.cost)}</span>}
                {place && <span class="dim"> · {place}</span>}
            </span>
            <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
                <summary aria-label={`Why: ${insight.title}`}>why</summary>
                {open && (
                    <>
                        <p class="tight">{insight.advice}</p>
                        <dl class="facts">
                            {insight.evidence.map((each) => (
                                <>
                                    <dt>{each.metric}</dt>
                                    <dd>
                                        {typeof each.value !== "number"
                                            ? each.value
                                            : each.unit === "share"
                                              ? times(each.value)
                                              : format(each.value, each.unit as Unit)}
                                    </dd>
                                </>
                            ))}
                        </dl>
                        {insight.paths.map((path, at) => (
                            <p class="mono" key={at}>
                                {format(path.value, path.unit as Unit)}{" "}
                                {path.frames
                                    .map((frame) => shortName(frame.function ?? "?"))
                                    .join(" ← ")}
                                {path.more ? " ← …" : ""}
                                {path.frames[0]?.file && (
                                    <>
                                        {" "}
                                        <a
                                            href={link({
                                                view: "source",
                                                file: path.frames[0].file,
                                                line: path.frames[0].line ?? 0,
                                            })}>
                                            {filePlace(path.frames[0].file, path.frames[0].line)}
                                        </a>
                                    </>
                                )}
                            </p>
                        ))}
                    </>
                )}
            </details>
        </li>
    );
}

function Found({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        () =>
            profile.json<{ insights: Insight[]; not_asked: { id: string; why: string }[] }>(
                "insights",
            ),
        [profile],
    );
    return (
        <Card title="What to look at">
            <Ready of={loaded}>
                {({ insights, not_asked }) => (
                    <>
                        {insights.length === 0 && <p class="dim">No rule found anything.</p>}
                        <ul class="insights" aria-label="Insights">
                            {insights.slice(0, INSIGHTS).map((insight) => (
                                <InsightRow key={insight.title} insight={insight} />
                            ))}
                        </ul>
                        {insights.length > INSIGHTS && (
                            <details>
                                <summary class="dim">{insights.length - INSIGHTS} more</summary>
                                <ul class="insights" aria-label="Further insights">
                                    {insights.slice(INSIGHTS).map((insight) => (
                                        <InsightRow key={insight.title} insight={insight} />
                                    ))}
                                </ul>
                            </details>
                        )}
                        {not_asked.length > 0 && (
                            <details>
                                <summary class="dim">
                                    {not_asked.length === 1
                                        ? "1 rule"
                                        : `${not_asked.length} rules`}{" "}
                                    could not be asked
                                </summary>
                                <dl class="facts">
                                    {not_asked.map((each) => (
                                        <>
                                            <dt>{each.id}</dt>
                                            <dd>{each.why}</dd>
                                        </>
                                    ))}
                                </dl>
                            </details>
                        )}
                    </>
                )}
            </Ready>
        </Card>
    );
}

function TopFunctions({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(() => profile.json<{ top: Top[] }>("top"), [profile]);
    /* keys in this resource are the window's own: nobody else knows them */
    const to = (metric: string, row: TopFunction) =>
        profile.window
            ? {
                  view: "functions",
                  metric,
                  fn: -1,
                  search: row.function ?? baseName(row.module ?? ""),
              }
            : { view: "flame", metric, fn: row.key };
    return (
        <Ready of={loaded}>
            {({ top }) => (
                <>
                    {top.map((each) => {
                        const unit = profile.unitOf(each.metric);
                        return (
                            <Card
                                key={each.metric}
                                title={profile.titleOf(each.metric)}
                                tools={
                                    <>
                                        <span class="dim" title={exact(each.total, unit)}>
                                            {format(each.total, unit)}
                                        </span>{" "}
                                        <a href={link({ view: "functions", metric: each.metric })}>
                                            all
                                        </a>
                                    </>
                                }>
                                {each.functions.length === 0 && <p class="dim">None.</p>}
                                <table class="fixed-columns">
                                    <tbody>
                                        {each.functions.map((row) => (
                                            <tr key={row.key}>
                                                <td
                                                    class="number figure"
                                                    title={exact(row.exclusive, unit)}>
                                                    {format(row.exclusive, unit)}
                                                </td>
                                                <td class="number dim nowrap share">
                                                    {each.total
                                                        ? share(row.exclusive / each.total)
                                                        : ""}
                                                </td>
                                                <td
                                                    class="nowrap who"
                                                    title={row.function ?? row.module ?? ""}>
                                                    <a
                                                        href={link(to(each.metric, row))}
                                                        onClick={(event) => {
                                                            if (event.ctrlKey || event.metaKey)
                                                                return;
                                                            event.preventDefault();
                                                            go(to(each.metric, row));
                                                        }}>
                                                        {row.function
                                                            ? titleOf(row.function, row.file)
                                                            : `[${baseName(row.module ?? "?")}]`}
                                                    </a>
                                                </td>
                                            </tr>
                                        ))}
                                    </tbody>
                                </table>
                            </Card>
                        );
                    })}
                </>
            )}
        </Ready>
    );
}
