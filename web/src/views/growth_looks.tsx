/* Growth between two looks at the process: who has the resident memory; what is mapped and resident, by
 * kind and file; what is resident of blocks, and what is lost, by function; live blocks by type. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { indices, numbers, Strings, whole } from "../data/columns.ts";
import type { Sample } from "../data/types.ts";
import type { HeldLooks } from "../model/held.ts";
import {
    changeOf,
    foundInMappings,
    lookRows,
    others,
    sumOfFound,
    type Found,
    type Knows,
    type LookRow,
    type Subject,
} from "../model/looks.ts";
import { baseName } from "../model/profile.ts";
import type { Mapping } from "../model/space.ts";
import { searcher } from "../model/search.ts";
import { bytes, exact, signed } from "../model/units.ts";
import { go, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { LookOptions } from "../widgets/look_options.tsx";
import { NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { toneOf } from "./compare_figures.tsx";
import { HeldGrowth } from "./growth_held.tsx";
import type { ViewProps } from "./registry.ts";

/* Who holds what is a tree; all else is rows of looks. */
type Shown = Subject | "held";

const subjects: readonly { id: Shown; title: string; resource: string }[] = [
    { id: "owners", title: "resident, by owner", resource: "look_owners" },
    { id: "resident", title: "resident, by file", resource: "mappings" },
    { id: "mapped", title: "mapped, by file", resource: "mappings" },
    { id: "blocks", title: "resident of blocks, by function", resource: "residency" },
    { id: "types", title: "live blocks, by type", resource: "look_types" },
    { id: "lost", title: "lost blocks, by function", resource: "islands" },
    { id: "held", title: "who holds live blocks", resource: "held_looks" },
];

/* Owners unless another is chosen, or no look has found owners. */
const subjectOf = (profile: ViewProps["profile"]) =>
    subjects.find((each) => each.id === getOption(state.value, "subject")) ??
    subjects[profile.has("look_owners") ? 0 : 1]!;

/* Of call paths: the bytes of a column of theirs, under the function that asked. */
async function foundByPath(
    profile: ViewProps["profile"],
    resource: string,
    column: string,
    hide: boolean,
): Promise<Found[]> {
    const [of, document] = await Promise.all([profile.callTree(), profile.columns(resource)]);
    const siteOf = of.passes.siteOfNode(),
        lines = of.passes.exclusiveLines(hide);
    const sample = whole(document, "sample"),
        node = whole(document, "node"),
        values = numbers(document, column);
    return Array.from(node, (each, at) => {
        const site = siteOf[each] ?? -1;
        const line = site < 0 ? of.tree.codeFirstLine[of.tree.code[each]!]! : lines[site]!;
        return {
            sample: sample[at]!,
            name: of.names.ofLine(line),
            detail: of.names.place(line).replace(/:\d+$/, ""),
            bytes: values[at]!,
        };
    });
}

/* Of a function the name alone, of a call path that another look had under "other call paths" too. */
async function foundOwners(profile: ViewProps["profile"], hide: boolean): Promise<Found[]> {
    const [of, document] = await Promise.all([profile.callTree(), profile.columns("look_owners")]);
    const siteOf = of.passes.siteOfNode(),
        lines = of.passes.exclusiveLines(hide),
        strings = new Strings(document);
    const [sample, node] = [whole(document, "sample"), whole(document, "node")],
        [bytes, thread] = [numbers(document, "resident_bytes"), numbers(document, "thread")],
        [kinds, names, modules] = ["kind", "name", "module"].map((name) => indices(document, name));
    return Array.from(sample, (look, at) => {
        const kind = strings.get(kinds![at]!) ?? "other",
            own = strings.get(names![at]!),
            module = strings.get(modules![at]!),
            found = { sample: look, bytes: bytes[at]!, kind };
        if (!node[at]) {
            const tid = Number.isNaN(thread[at]!) ? "" : ` ${thread[at]}`;
            const detail = module ? `${kind} of ${baseName(module)}` : kind;
            return { ...found, name: `${own ?? "without a name"}${tid}`, detail };
        }
        const site = siteOf[node[at]!] ?? -1;
        const line = site < 0 ? of.tree.codeFirstLine[of.tree.code[node[at]!]!]! : lines[site]!;
        const file = of.names.place(line).replace(/:\d+$/, "");
        return {
            ...found,
            name: own ? `${of.names.ofLine(line)}, ${own}` : of.names.ofLine(line),
            detail: file ? `${kind}, ${file}` : kind,
        };
    });
}

/* Of a peak the largest call paths have rows: what these lack of all live blocks is a row. */
function withRest(found: Found[], samples: readonly Sample[]): Found[] {
    const rows = new Map<number, number>();
    for (const { sample, bytes } of found) rows.set(sample, (rows.get(sample) ?? 0) + (bytes ?? 0));
    const rest = [...rows].flatMap(([sample, bytes]): Found[] => {
        const look = samples.find((each) => each.sample === sample),
            more = (look?.ledger?.["live_touched_bytes"] ?? bytes) - bytes;
        return more > 0 ? [{ sample, name: others, detail: "", bytes: more }] : [];
    });
    return [...found, ...rest];
}

async function foundTypes(profile: ViewProps["profile"]): Promise<Found[]> {
    const document = await profile.columns("look_types"),
        strings = new Strings(document),
        names = indices(document, "name"),
        bytes = numbers(document, "bytes");
    return Array.from(whole(document, "sample"), (sample, at) => ({
        sample,
        name: strings.get(names[at]!) ?? "without a name",
        detail: "",
        bytes: bytes[at]!,
    }));
}

async function foundOf(
    profile: ViewProps["profile"],
    subject: Subject,
    hide: boolean,
): Promise<Found[]> {
    if (subject === "owners") return foundOwners(profile, hide);
    if (subject === "types") return foundTypes(profile);
    if (subject === "blocks")
        return withRest(
            await foundByPath(profile, "residency", "resident_bytes", hide),
            profile.summary.samples ?? [],
        );
    if (subject === "lost") return foundByPath(profile, "islands", "bytes", hide);
    const { mappings } = await profile.json<{ mappings: Mapping[] | null }>("mappings");
    return foundInMappings(mappings ?? [], subject);
}

const hasLookedForLost = (look: Sample | undefined) =>
    look?.lost_count !== null && look?.lost_count !== undefined;

/* Of what kinds has a look not told all one by one? */
function cutKinds(look: Sample | undefined, found: readonly Found[]): Set<string | undefined> {
    const rest = found.filter((each) => each.sample === look?.sample && each.name === others);
    return new Set(rest.map((each) => each.kind));
}

/* Did a look look for it? */
function looksOf(subject: Subject, look: Sample | undefined, found: readonly Found[]): boolean {
    if (found.some((each) => each.sample === look?.sample)) return true;
    if (subject === "blocks") return !!look?.ledger;
    if (subject === "types") return typeof look?.class_count === "number";
    return subject === "lost" && hasLookedForLost(look);
}

/* And did it tell all of it one by one? */
function knowsOf(subject: Subject, samples: readonly Sample[], found: readonly Found[]): Knows {
    const known = new Map<number, (kind?: string) => boolean>();
    return (sample, kind) => {
        let knows = known.get(sample);
        if (!knows) {
            const look = samples.find((each) => each.sample === sample);
            const looked = looksOf(subject, look, found),
                cut = cutKinds(look, found);
            known.set(sample, (knows = (of) => looked && !cut.has(of)));
        }
        return knows(kind);
    };
}

type Said = { held: HeldLooks } | { subject: Subject; found: Found[] } | null;

/* Null: no look looked for it. */
async function whatLooksSay(
    profile: ViewProps["profile"],
    subject: Shown,
    isThere: boolean,
    hide: boolean,
    looked: () => boolean,
): Promise<Said> {
    if (subject === "held")
        return isThere ? { held: await profile.json<HeldLooks>("held_looks") } : null;
    if (isThere) return { subject, found: await foundOf(profile, subject, hide) };
    return looked() ? { subject, found: [] } : null;
}

export function LooksGrowth({ profile }: ViewProps): JSX.Element {
    const samples = profile.summary.samples ?? [];
    const { hide } = state.value,
        subject = subjectOf(profile);
    /* There are no rows where nothing was lost, or had a type. */
    const looked = (look: Sample) =>
        (subject.id === "lost" && hasLookedForLost(look)) ||
        (subject.id === "types" && typeof look.class_count === "number");
    const loaded = useLoaded(
        () =>
            profile.work(["looks", subject.id, hide].join(), async () =>
                whatLooksSay(profile, subject.id, profile.has(subject.resource), hide, () =>
                    samples.some(looked),
                ),
            ),
        [profile, subject.id, hide],
    );
    const said = loaded.state === "there" ? loaded.value : null,
        held = said && "held" in said ? said.held : null;
    const foundOut = samples.filter(({ sample }) =>
        held?.looks.some((each) => each.sample === sample),
    );
    const choices = foundOut.length ? foundOut : samples; /* none: of the profile before this one */
    if (profile.isJob)
        return (
            <NotRecorded
                what="The profile of a whole job has no looks at processes."
                how="Each rank has its own: choose a rank in the view of the job."
            />
        );
    if (samples.length < 2)
        return (
            <NotRecorded
                of={profile}
                what="The process was looked at less than twice."
                how="record looks at peaks and at the end, and `tidemark snapshot PID` makes it look when it is told."
            />
        );
    const lookOf = (name: string, usual: Sample) =>
        choices.find((each) => String(each.sample) === getOption(state.value, name)) ?? usual;
    const a = lookOf("a", choices[0]!),
        b = lookOf("b", choices.at(-1)!);
    const choice = (letter: "a" | "b", look: Sample) => (
        <label>
            {letter.toUpperCase()}{" "}
            <select
                class="in-sentence"
                aria-label={`Look ${letter.toUpperCase()}`}
                value={look.sample}
                onChange={(event) =>
                    go(
                        { opt: withOptions(state.value, { [letter]: event.currentTarget.value }) },
                        "replace",
                    )
                }>
                <LookOptions samples={choices} />
            </select>
        </label>
    );
    return (
        <>
            <div class="bar-row">
                {choice("a", a)}
                {choice("b", b)}
                <label>
                    of{" "}
                    <select
                        class="in-sentence"
                        aria-label="Of what"
                        value={subject.id}
                        onChange={(event) =>
                            go(
                                {
                                    sort: "",
                                    opt: withOptions(state.value, {
                                        subject: event.currentTarget.value,
                                    }),
                                },
                                "replace",
                            )
                        }>
                        {subjects.map((each) => (
                            <option key={each.id} value={each.id}>
                                {each.title}
                            </option>
                        ))}
                    </select>
                </label>
            </div>
            <p class="dim remark">
                Exact at each look, to the page. A look at a peak tells the largest call paths one
                by one, and the others together: what then has no row of its own is not known. Who
                holds what is found out at snapshots and at the end.
            </p>
            <Ready of={loaded}>
                {(said) =>
                    !said ? (
                        <NotLookedFor subject={subject.id} />
                    ) : "held" in said ? (
                        <HeldGrowth profile={profile} looks={said.held} a={a.sample} b={b.sample} />
                    ) : (
                        <LookTable
                            found={said.found}
                            a={a}
                            b={b}
                            subject={said.subject}
                            all={samples}
                        />
                    )
                }
            </Ready>
        </>
    );
}

function NotLookedFor({ subject }: { subject: Shown }): JSX.Element {
    return subject === "held" ? (
        <NotRecorded
            what="Fewer than two looks of this recording found out who holds what."
            how="It is found out at snapshots (`tidemark snapshot PID`, record --snapshot-at), and at the end with record --held or where it is cheap. Two recordings can be compared by `tidemark held OLD NEW`."
        />
    ) : (
        <NotRecorded
            what="No look of this recording looked for it."
            how="They are looked for at peaks, at snapshots and at the end, unless with --no-looks or of samples."
        />
    );
}

function LookTable({
    found,
    a,
    b,
    subject,
    all,
}: {
    found: readonly Found[];
    a: Sample;
    b: Sample;
    subject: Subject;
    all: readonly Sample[];
}): JSX.Element {
    const { search } = state.value;
    const knows = useMemo(() => knowsOf(subject, all, found), [subject, all, found]);
    const rows = useMemo(
        () => lookRows(found, a.sample, b.sample, knows),
        [found, a.sample, b.sample, knows],
    );
    const has = searcher(search);
    const shown = useMemo(
        () => (has ? rows.filter((row) => has({ function: row.name, file: row.detail })) : rows),
        [rows, search],
    );
    const most = shown.reduce((best, row) => Math.max(best, Math.abs(changeOf(row) ?? 0)), 1);
    const sumOf = (look: Sample) =>
        looksOf(subject, look, found) ? sumOfFound(found, look.sample) : null;
    const sums = { before: sumOf(a), after: sumOf(b) };
    const columns: Column<LookRow>[] = [
        {
            id: "change",
            title: "change",
            width: "110px",
            number: changeOf,
            unit: "bytes",
            show: (row) => {
                const change = changeOf(row);
                return change === null ? "–" : signed(change, "bytes");
            },
            fill: (row) => Math.abs(changeOf(row) ?? 0) / most,
        },
        { id: "before", title: "at A", width: "110px", unit: "bytes", number: (row) => row.before },
        { id: "after", title: "at B", width: "110px", unit: "bytes", number: (row) => row.after },
        { id: "name", title: "What", width: "minmax(200px, 2fr)", text: (row) => row.name },
        { id: "detail", title: "Where", width: "minmax(120px, 1fr)", text: (row) => row.detail },
    ];
    const figure = (name: string, value: number | null) => (
        <b data-sum={name} title={exact(value, "bytes")}>
            {value === null ? "not known" : bytes(value)}
        </b>
    );
    const change = sums.before === null || sums.after === null ? null : sums.after - sums.before;
    return (
        <>
            <div class="bar-row">
                <span>A: {figure("before", sums.before)}</span>
                <span>B: {figure("after", sums.after)}</span>
                <b
                    data-sum="change"
                    title={exact(change, "bytes")}
                    class={change === null ? "" : toneOf(change)}>
                    {change === null ? "the change is not known" : signed(change, "bytes")}
                </b>
            </div>
            <Table
                name="growth-of-looks"
                label="Growth between two looks"
                rows={shown}
                columns={columns}
                sort={state.value.sort || "-change"}
                onSort={(next) => go({ sort: next }, "replace")}
                rowKey={(row) => `${row.detail}\n${row.name}`}
                empty={
                    looksOf(subject, a, found) || looksOf(subject, b, found)
                        ? "Nothing was found."
                        : "Neither look looked for it."
                }
            />
        </>
    );
}
