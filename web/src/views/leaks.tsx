/* What is lost: islands of blocks that no pointer led to any more, by call path, as the command `leaks` has
 * them. And all blocks that were alive at exit, by call path, and how certain it is that they are leaks, which
 * follows from how many blocks of the path were freed. A list of suppressions, kept in the browser, hides
 * known leaks. */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { placeOfKey } from "../model/focus.ts";
import { shortName } from "../model/names.ts";
import { numbers, whole } from "../data/columns.ts";
import { callersOf, wrapperOf, type CallTree, type Profile, fileName } from "../model/profile.ts";
import { sureHint, sureTo, varianceOf } from "../model/estimate.ts";
import { parseSuppressions, type Suppression } from "../model/suppressions.ts";
import { atOnce, breathe, inSlices, type Work } from "../model/slices.ts";
import type { Wanted } from "../model/tree.ts";
import { bytes, count, duration, exact, isKnown } from "../model/units.ts";
import { getOption, withOptions, type ViewState } from "../state/url.ts";
import { lineOf, rootsByLine, rootsSaid, type HolderRow } from "../model/holders.ts";
import { verdictOf } from "../model/verdict.ts";
import { focusKey, wantedSites } from "../state/profiles.ts";
import { go, link, state } from "../state/state.ts";
import { saveText } from "../widgets/save.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Through } from "../widgets/through.tsx";
import { NotRecorded, Ready, useInSlices, useLoaded } from "../widgets/states.tsx";
import { functionMenu } from "./functions.tsx";
import { showMenu } from "../widgets/tooltip.tsx";
import type { ViewProps } from "./registry.ts";

/* From what is kept of a path: how many of its blocks were freed, and how many grew to be. */
type Fate = "none freed" | "few freed" | "some freed" | "most freed";

/* There may be hundreds of thousands: names are looked up when somebody looks. */
export class Leak {
    constructor(
        readonly of: CallTree,
        readonly site: number,
        readonly line: number,
        readonly bytes: number,
        readonly count: number,
        readonly made: number /* NaN: not known */,
        readonly freed: number /* likewise */,
        readonly variance: number,
        readonly holders: string /* "": not known */,
    ) {}
    get node(): number {
        return this.of.tree.siteNode[this.site]!;
    }
    get key(): number {
        return this.of.tree.lineKey[this.line]!;
    }
    get name(): string {
        return this.of.names.ofLine(this.line);
    }
    get place(): string {
        return this.of.names.place(this.line);
    }
    get callers(): string {
        return callersOf(this.of, this.node, this.line);
    }
}

/* What is known of how a path's blocks were freed. */
const knowsFrees = (profile: Profile) =>
    ["alloc_count", "free_count"].every((name) => profile.metric(name)?.recorded);

/* Whether a block is lost only pointers say: these are facts of the path's other blocks. */
export function fateOf({ made, freed }: { made: number; freed: number }): Fate {
    if (!freed) return "none freed";
    if (freed < made / 100) return "few freed";
    return freed >= made / 2 ? "most freed" : "some freed";
}
const rank: Record<Fate, number> = {
    "none freed": 3,
    "few freed": 2,
    "some freed": 1,
    "most freed": 0,
};

async function leaksOf(
    profile: ViewProps["profile"],
    now: ViewState,
): Promise<{ of: CallTree; leaks: Leak[] }> {
    const of = await profile.callTree();
    const column = (name: string) =>
        profile.metric(name)?.recorded ? profile.column(name) : undefined;
    const [liveBytes, live, allocs, reallocs, freed] = await Promise.all([
        profile.column("live_bytes"),
        profile.column("live_count"),
        column("alloc_count"),
        column("realloc_count"),
        column("free_count"),
    ]);
    const error = varianceOf(profile, "live_bytes"),
        variance = error ? await profile.column(error) : null;
    const wanted = wantedSites(of, now);
    await breathe();
    const lines = await inSlices(of.passes.exclusiveLinesInSlices(now.hide));
    const roots = profile.has("held")
        ? rootsByLine((await profile.json<{ holders: HolderRow[] }>("held")).holders)
        : null;
    const { names: named, tree } = of;
    const holdersOf = (line: number) =>
        rootsSaid(
            roots?.get(
                lineOf(named.ofLine(line), named.file(tree.lineFile[line]!), tree.lineNumber[line]),
            ),
        );
    const leaks: Leak[] = [];
    for (let site = 0; site < live.length; site++) {
        if ((site & 0x3fff) === 0x3fff) await breathe();
        if (!(live[site]! > 0) || (wanted && !wanted[site])) continue;
        const line = lines[site]!,
            made = allocs ? allocs[site]! + (reallocs?.[site] ?? 0) : NaN;
        leaks.push(
            new Leak(
                of,
                site,
                line,
                liveBytes[site]!,
                live[site]!,
                made,
                freed ? freed[site]! : NaN,
                variance ? variance[site]! : 0,
                roots ? holdersOf(line) : "",
            ),
        );
    }
    return { of, leaks };
}

interface Listed {
    line: number;
    node: number;
}

function* found<Row extends Listed>(
    rows: readonly Row[],
    { names }: CallTree,
    search: string,
): Work<readonly Row[]> {
    if (!search) return rows;
    const has = names.finder(search),
        list: Row[] = [];
    for (let at = 0; at < rows.length; at++) {
        if ((at & 0xff) === 0xff) yield;
        if (has(rows[at]!.line)) list.push(rows[at]!);
    }
    return list;
}

/* What is shown of the blocks that are alive, and what it sums up to. */
interface Alive {
    all: readonly Leak[]; /* before the search */
    shown: readonly Leak[];
    bytes: number;
    count: number;
    variance: number;
}
function* aliveOf(left: readonly Leak[], of: CallTree, search: string): Work<Alive> {
    const shown = yield* found(left, of, search),
        alive = { all: left, shown, bytes: 0, count: 0, variance: 0 };
    for (let at = 0; at < shown.length; at++) {
        if ((at & 0x3fff) === 0x3fff) yield;
        const leak = shown[at]!;
        alive.bytes += leak.bytes;
        alive.count += leak.count;
        alive.variance += leak.variance;
    }
    return alive;
}

/* Lost blocks of one call path, and what hangs below them. */
export interface Island extends Listed {
    bytes: number;
    count: number;
    below: number;
    belowCount: number;
    oldest: number;
    newest: number;
}

/* Those of the last look that followed all pointers. */
async function islandsOf(
    profile: Profile,
    { tree, passes }: CallTree,
    wanted: Wanted,
    hide: boolean,
): Promise<Island[]> {
    if (!profile.has("islands")) return [];
    const document = await profile.columns("islands");
    const column = (name: string) => numbers(document, name);
    const last = profile.summary.samples?.findLast((each) => isKnown(each.lost_count))?.sample;
    const lines = passes.exclusiveLines(hide),
        siteOf = passes.siteOfNode();
    const [sample, node] = [whole(document, "sample"), whole(document, "node")];
    const [bytes, count, below, belowCount, oldest, newest] = [
        column("bytes"),
        column("count"),
        column("indirect_bytes"),
        column("indirect_count"),
        column("oldest_ns"),
        column("newest_ns"),
    ];
    return [...node.keys()].flatMap((at) => {
        const site = siteOf[node[at]!] ?? -1;
        if (sample[at] !== last || (wanted && !wanted[site])) return [];
        return {
            node: node[at]!,
            line: site < 0 ? tree.codeFirstLine[tree.code[node[at]!]!]! : lines[site]!,
            bytes: bytes[at]!,
            count: count[at]!,
            below: below[at]!,
            belowCount: belowCount[at]!,
            oldest: oldest[at]!,
            newest: newest[at]!,
        };
    });
}

export function LeaksView({ profile }: ViewProps): JSX.Element {
    if (!profile.has("sites")) return <NotRecorded what="Nothing was saved yet." how="" />;
    if (!profile.metric("live_bytes")?.recorded)
        return (
            <NotRecorded
                of={profile}
                what="What was never freed is not in this profile."
                how="Which blocks were alive at the end was not recorded."
            />
        );
    return <Known profile={profile} />;
}

function Known({ profile }: ViewProps): JSX.Element {
    const now = state.value;
    const loaded = useLoaded(
        () =>
            profile.work(["leaks", focusKey(now)].join(), async () => {
                const { of, leaks } = await leaksOf(profile, now);
                return {
                    of,
                    leaks,
                    islands: await islandsOf(profile, of, wantedSites(of, now), now.hide),
                };
            }),
        [profile, focusKey(now)],
    );
    return (
        <Ready of={loaded}>
            {({ of, leaks, islands }) => (
                <Leaks profile={profile} of={of} leaks={leaks} islands={islands} />
            )}
        </Ready>
    );
}

const key = "tidemark-suppressions";

/* The text of the suppressions, kept in the browser, and how it changes. */
function useSuppressions(): [string, (next: string) => void] {
    const [text, setText] = useState(() => {
        try {
            return localStorage.getItem(key) ?? "";
        } catch {
            return "";
        }
    });
    const save = (next: string) => {
        setText(next);
        try {
            localStorage.setItem(key, next);
        } catch {
            /* a file from disk may have no storage: it holds for this page */
        }
    };
    return [text, save];
}

/* Those whose call paths no suppression fits. */
function unsuppressed<Row extends Listed>(
    leaks: readonly Row[],
    { passes, names, tree }: CallTree,
    list: readonly Suppression[],
): readonly Row[] {
    if (!list.length) return leaks;
    const frame = (line: number) => ({
        name: names.ofLine(line),
        file: names.file(tree.lineFile[line]!) ?? "",
        module: names.module(tree.codeModule[names.codeOfLine(line)]!) ?? "",
    });
    const framesOf = (leak: Row) => passes.path(leak.node).map(frame);
    return leaks.filter((leak) => !list.some((each) => each.matches(framesOf(leak))));
}

function columnsOf(profile: Profile, of: CallTree, most: number): Column<Leak>[] {
    const [called, ...callers] = pathColumns<Leak>(
        of,
        (row) => row.name,
        (row) => row.callers,
        (row) => row.place,
    );
    return [
        {
            id: "bytes",
            title: "bytes",
            width: "110px",
            unit: "bytes",
            number: (row) => row.bytes,
            fill: (row) => row.bytes / most,
        },
        ...(varianceOf(profile, "live_bytes")
            ? [
                  {
                      id: "error",
                      title: "sure to",
                      hint: sureHint,
                      width: "92px",
                      text: (row: Leak) => sureTo(profile, "live_bytes", row.bytes, row.variance),
                  },
              ]
            : []),
        { id: "count", title: "blocks", width: "90px", number: (row) => row.count },
        ...(knowsFrees(profile)
            ? [
                  {
                      id: "fate",
                      title: "its blocks",
                      width: "96px",
                      number: (row: Leak) => rank[fateOf(row)],
                      show: fateOf,
                  },
                  { id: "made", title: "made", width: "76px", number: (row: Leak) => row.made },
                  { id: "freed", title: "freed", width: "76px", number: (row: Leak) => row.freed },
              ]
            : []),
        called,
        ...(profile.has("held")
            ? [
                  {
                      id: "holders",
                      title: "held by",
                      hint: "The roots that pointers to blocks of this line came from, whoever called it; the view “Held by” has the way",
                      width: "minmax(150px, 2fr)",
                      text: (row: Leak) => row.holders,
                      show: (row: Leak) => row.holders || <span class="dim">not known</span>,
                  },
              ]
            : []),
        ...callers,
    ];
}

/* Whose a row's blocks are. */
function pathColumns<Row extends Listed>(
    of: CallTree,
    name: (row: Row) => string,
    callers: (row: Row) => string,
    place: (row: Row) => string,
): [Column<Row>, ...Column<Row>[]] {
    return [
        {
            id: "function",
            title: "Function",
            width: "minmax(180px, 3fr)",
            text: name,
            show: (row) => (
                <>
                    <Through wrapper={wrapperOf(of, row.node, row.line)} />
                    <a href={link(pathTo(row))}>{shortName(name(row))}</a>
                </>
            ),
        },
        { id: "callers", title: "Called by", width: "minmax(180px, 3fr)", text: callers },
        {
            id: "place",
            title: "Place",
            width: "minmax(100px, 1fr)",
            text: place,
            show: (row) => fileName(place(row)),
        },
    ];
}
const pathTo = ({ node }: Listed) => ({
    view: "flame",
    node,
    metric: "live_bytes",
    opt: "",
    sort: "",
});

function islandColumns(of: CallTree, most: number): Column<Island>[] {
    return [
        {
            id: "bytes",
            title: "lost",
            hint: "Bytes of blocks that no pointer led to",
            width: "84px",
            unit: "bytes",
            number: (row) => row.bytes,
        },
        { id: "count", title: "blocks", width: "68px", number: (row) => row.count },
        {
            id: "below",
            title: "and below",
            hint: "Bytes that only lost blocks lead to",
            width: "84px",
            unit: "bytes",
            number: (row) => row.below,
        },
        {
            id: "whole",
            title: "together",
            hint: "What is lost and what hangs below it",
            width: "96px",
            unit: "bytes",
            number: (row) => row.bytes + row.below,
            fill: (row) => (row.bytes + row.below) / most,
        },
        { id: "belowCount", title: "blocks below", width: "76px", number: (row) => row.belowCount },
        { id: "oldest", title: "from", width: "76px", unit: "ns", number: (row) => row.oldest },
        { id: "newest", title: "to", width: "76px", unit: "ns", number: (row) => row.newest },
        ...pathColumns<Island>(
            of,
            (row) => of.names.ofLine(row.line),
            (row) => callersOf(of, row.node, row.line),
            (row) => of.names.place(row.line),
        ),
    ];
}

/* The text of the suppressions, to be edited, saved and read from a file. */
function Editor({
    text,
    errors,
    save,
}: {
    text: string;
    errors: readonly string[];
    save: (next: string) => void;
}): JSX.Element {
    return (
        <div class="pad">
            <textarea
                aria-label="Suppressions"
                rows={7}
                class="list-text"
                value={text}
                spellcheck={false}
                placeholder={
                    "leak:pattern            as LeakSanitizer reads it\nor valgrind's { name Memcheck:Leak fun:… } blocks"
                }
                onInput={(event) => save(event.currentTarget.value)}
            />
            <div class="bar-row">
                <button onClick={() => saveText("tidemark.supp", "text/plain", text)}>
                    Download
                </button>
                <label>
                    <button
                        onClick={(event) =>
                            (event.currentTarget.nextElementSibling as HTMLInputElement).click()
                        }>
                        Read a file…
                    </button>
                    <input
                        type="file"
                        hidden
                        aria-label="Suppression file"
                        onChange={(event) =>
                            void event.currentTarget.files?.[0]
                                ?.text()
                                .then((read) => save(text + read))
                        }
                    />
                </label>
                {errors.map((error) => (
                    <span class="bad" key={error}>
                        {error}
                    </span>
                ))}
            </div>
        </div>
    );
}

/* What the program's pointers say; of a region or a level nobody asked them. */
function VerdictRow({ profile }: ViewProps): JSX.Element | null {
    if (state.value.region || state.value.of) return null;
    const verdict = verdictOf(profile.summary.samples ?? []);
    const unasked = profile.isJob
        ? "Of all ranks together it is not known what is lost: choose a rank in the view of the job."
        : profile.importedFrom
          ? `What is lost is not known: ${profile.importedFrom} does not tell.`
          : "What is lost is not known: no look at the live blocks followed the pointers.";
    return (
        <div class="bar-row" data-verdict>
            {verdict ? (
                <>
                    <b class={verdict.count ? "bad" : ""} title={exact(verdict.bytes, "bytes")}>
                        {verdict.sentence}
                    </b>
                    <span class="dim">{verdict.rest.join(" · ")}</span>
                </>
            ) : (
                <span class="dim">{unasked}</span>
            )}
        </div>
    );
}

/* Islands of what is lost, by call path. */
function Islands({
    of,
    islands,
    isAll,
}: {
    of: CallTree;
    islands: readonly Island[];
    isAll: boolean;
}): JSX.Element {
    const { sort } = state.value;
    const [chosen, choose] = useState<number | null>(null);
    const most = islands.reduce((best, row) => Math.max(best, row.bytes + row.below), 1);
    const columns = useMemo(() => islandColumns(of, most), [of, most]);
    return (
        <Table
            name="lost"
            label="Lost blocks by call path"
            rows={islands}
            columns={columns}
            sort={sort || "-whole"}
            onSort={(next) => go({ sort: next }, "replace")}
            rowKey={(row) => row.node}
            empty={
                isAll
                    ? "Nothing is lost here."
                    : "No call path with lost blocks is left by the search and the suppressions."
            }
            selected={chosen}
            onSelect={(row) => choose(row.node)}
            onOpen={(row) => go(pathTo(row))}
            onMenu={(row, x, y) => showMenu(x, y, menuOf(of, of.tree.lineKey[row.line]!))}
        />
    );
}

const menuOf = (of: CallTree, key: number) =>
    functionMenu(key, of.names.ofKey(key), placeOfKey(of, key));

const MANY = 20_000; /* rows that are not searched while one waits */

function Leaks({
    profile,
    of,
    leaks,
    islands,
}: ViewProps & { of: CallTree; leaks: Leak[]; islands: Island[] }): JSX.Element {
    const hasVerdict = profile.summary.samples?.some((each) => isKnown(each.lost_count)) ?? false;
    /* an address of another profile may ask for what nobody knows here */
    const lost =
        hasVerdict &&
        (getOption(state.value, "list") ?? (islands.length ? "lost" : "alive")) === "lost";
    const { search, sort } = state.value;
    const [text, save] = useSuppressions();
    const [open, setOpen] = useState(false);
    const [chosen, choose] = useState<number | null>(null);
    const { list, errors } = useMemo(() => parseSuppressions(text), [text]);
    const left = useMemo(() => unsuppressed(leaks, of, list), [leaks, list]);
    const alive = useInSlices(() => aliveOf(left, of, search), left.length > MANY, [left, search]);
    const lostShown = useMemo(
        () => atOnce(found(unsuppressed(islands, of, list), of, search)),
        [islands, list, search],
    );
    const most = useMemo(
        () => leaks.reduce((best, leak) => Math.max(best, leak.bytes), 1),
        [leaks],
    );
    const columns = useMemo(() => columnsOf(profile, of, most), [leaks, most]);
    const only = useMemo(
        () =>
            alive.value && alive.value.shown !== alive.value.all
                ? new Set(alive.value.shown)
                : null,
        [alive.value],
    );
    const suppress = (leak: Leak) =>
        save(`${text}${text && !text.endsWith("\n") ? "\n" : ""}leak:${shortName(leak.name)}\n`);
    if (!alive.value) return <div class="empty" aria-busy="true" />;
    const { all, shown, bytes: total, count: blocks, variance } = alive.value,
        sure = sureTo(profile, "live_bytes", total, variance);
    return (
        <>
            <VerdictRow profile={profile} />
            <div class="bar-row" aria-busy={alive.waits}>
                <b title={exact(total, "bytes")}>{bytes(total)}</b>
                {sure && (
                    <span class="dim" data-sure title={sureHint}>
                        {sure}
                    </span>
                )}
                <span class="dim">
                    in {count(blocks)} blocks alive{" "}
                    {profile.summary.state === "recording" ? "now" : "at the end"}
                    {profile.isTimed && `, after ${duration(profile.durationNs)}`}
                </span>
                {list.length > 0 && (
                    <span class="dim">
                        {count(leaks.length - left.length)} call paths suppressed
                    </span>
                )}
                <button aria-pressed={open} onClick={() => setOpen(!open)}>
                    suppressions ({list.length})
                </button>
                {islands.length > 0 && (
                    <>
                        <button
                            aria-pressed={lost}
                            onClick={() =>
                                go({ sort: "", opt: withOptions(state.value, { list: "lost" }) })
                            }>
                            lost
                        </button>
                        <button
                            aria-pressed={!lost}
                            onClick={() =>
                                go({ sort: "", opt: withOptions(state.value, { list: "alive" }) })
                            }>
                            all that is alive
                        </button>
                    </>
                )}
            </div>
            {open && <Editor text={text} errors={errors} save={save} />}
            {lost ? (
                <Islands of={of} islands={lostShown} isAll={!islands.length} />
            ) : (
                <Table
                    name="leaks"
                    label="Blocks alive at the end"
                    rows={all}
                    only={only}
                    whole={shown.length}
                    columns={columns}
                    sort={sort || "-bytes"}
                    onSort={(next) => go({ sort: next }, "replace")}
                    rowKey={(row) => row.site}
                    empty={
                        leaks.length
                            ? "No call path with blocks that are alive is left by the search and the suppressions."
                            : "Everything was freed."
                    }
                    selected={chosen}
                    onSelect={(row) => choose(row.site)}
                    onOpen={(row) =>
                        go({
                            view: "flame",
                            node: row.node,
                            metric: "live_bytes",
                            opt: "",
                            sort: "",
                        })
                    }
                    onMenu={(row, x, y) =>
                        showMenu(x, y, [
                            ...menuOf(of, row.key),
                            { title: "Suppress this function", run: () => suppress(row) },
                        ])
                    }
                />
            )}
        </>
    );
}
