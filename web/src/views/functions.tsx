/* The list of functions, with metrics of each function alone or of all that it calls.
 * functionMenu() is what the user can do with a function; other views use it too. */
import { addsUp } from "../data/types.ts";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { functionRows, type FunctionRow } from "../model/functions.ts";
import { sureHint, sureTo, varianceOf } from "../model/estimate.ts";
import { choiceMark } from "../model/focus.ts";
import { shortName } from "../model/names.ts";
import {
    GROWTH,
    RANGE,
    type CallTree,
    type Profile,
    type Wanted,
    fileName,
} from "../model/profile.ts";
import { searcher } from "../model/search.ts";
import { sumOf } from "../model/sandwich.ts";
import { inIdle } from "../model/slices.ts";
import { both, listed } from "../model/tree.ts";
import { exact, format, share } from "../model/units.ts";
import { getOption, withOptions, type ViewState } from "../state/url.ts";
import { focusKey, rangeOf, rangeShown, shownMetric, wantedSites } from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Through } from "../widgets/through.tsx";
import { Ready, useLoaded } from "../widgets/states.tsx";
import { showMenu } from "../widgets/tooltip.tsx";
import type { ViewProps } from "./registry.ts";

const usual = [
    "at_peak_bytes",
    "live_bytes",
    "alloc_bytes",
    "alloc_count",
    "temporary_count",
    "mean_size",
    "mean_lifetime_ns",
];

export function FunctionsView({ profile }: ViewProps): JSX.Element {
    const now = state.value,
        { inclusive, hide, search, sort } = now;
    const metric = shownMetric(profile, "at_peak_bytes", now);
    const inRange = rangeShown(profile, now);
    const chosen =
        getOption(state.value, "columns")?.split(".") ?? (inRange ? [RANGE, GROWTH] : usual);
    const columns = [...new Set([metric, ...(inRange ? [RANGE, GROWTH] : []), ...chosen])].filter(
        (name) =>
            name === RANGE || name === GROWTH
                ? inRange
                : profile.metric(name)?.recorded || profile.derived(name),
    );
    const asked = { columns, metric, inRange, now };
    const loaded = useLoaded(
        () => listOf(profile, asked, inclusive),
        [profile, columns.join(), inclusive, focusKey(now)],
    );
    const isThere = loaded.state === "there";
    useEffect(() => {
        if (isThere && profile.summary.state !== "recording")
            return soon(profile, hide, () => listOf(profile, asked, !inclusive));
    }, [isThere, profile, columns.join(), inclusive, focusKey(now)]);
    return (
        <Ready of={loaded}>
            {(of) => <FunctionsTable {...of} search={search} sort={sort || "-" + of.metric} />}
        </Ready>
    );
}

/* The other list is a click away: it is made while the page has nothing to do. */
function soon(profile: Profile, hide: boolean, make: () => Promise<unknown>): () => void {
    let isWanted = true;
    void profile
        .callTree()
        .then(({ tree, passes }) =>
            inIdle(passes.expectInSlices([[tree.lineKey, tree.keyCount]], hide)),
        )
        .then(() => isWanted && make())
        .catch(() => undefined); /* who asks for it is told why it does not come */
    return () => {
        isWanted = false;
    };
}

interface Asked {
    columns: string[];
    metric: string;
    inRange: boolean;
    now: ViewState;
}
interface List extends ViewProps {
    rows: FunctionRow[];
    whole: number;
    tree: CallTree;
    column: Float64Array; /* of the metric, by site */
    wanted: Wanted;
    columns: string[];
    metric: string;
    inclusive: boolean;
}

function listOf(profile: Profile, asked: Asked, inclusive: boolean): Promise<List> {
    const { columns, metric, now } = asked;
    const variance = varianceOf(profile, metric),
        needed = variance ? [...columns, variance] : columns;
    return profile.work(["functions", needed, inclusive, focusKey(now)].join(), () =>
        makeList(profile, asked, needed, inclusive),
    );
}

/* Rows of the same columns, in whatever order these stand: the metric that is shown is the first. */
export const keptRows = (
    profile: Pick<Profile, "work">,
    needed: readonly string[],
    inclusive: boolean,
    now: ViewState,
    make: () => Promise<FunctionRow[]>,
): Promise<FunctionRow[]> =>
    profile.work(["rows", [...needed].sort(), inclusive, focusKey(now)].join(), make);

async function makeList(
    profile: Profile,
    { columns, metric, inRange, now }: Asked,
    needed: readonly string[],
    inclusive: boolean,
): Promise<List> {
    const tree = await profile.callTree();
    const range = inRange ? await rangeOf(profile, tree, now) : null;
    const more = new Map(
        range
            ? [
                  [RANGE, range.column],
                  [GROWTH, range.growth.change],
              ]
            : [],
    );
    const wanted = wantedSites(tree, now);
    const rows = await keptRows(profile, needed, inclusive, now, async () => {
        const rows = await functionRows(profile, tree, needed, wanted, inclusive, now.hide, more);
        const known = (column: ArrayLike<number>) =>
            knownByKey(tree, column, wanted, inclusive, now.hide);
        if (range) {
            forgetUnknown(rows, RANGE, known(range.isKnown));
            forgetUnknown(rows, GROWTH, known(range.growth.known));
        }
        for (const name of needed) {
            const column = await profile.knownColumn(name);
            if (column) forgetUnknown(rows, name, known(column));
        }
        return rows;
    });
    const whole = await wholeOf(profile, metric, wanted);
    const column = more.get(metric) ?? (await profile.column(metric));
    return { profile, rows, whole, columns, metric, inclusive, tree, column, wanted };
}

/* What all call paths that are shown have together; 0: it does not add up, or is not kept by path. */
async function wholeOf(profile: Profile, metric: string, wanted: Wanted): Promise<number> {
    const known = profile.metric(metric);
    if (!known?.recorded || !addsUp(known)) return 0;
    const values = await profile.column(metric);
    let sum = 0;
    for (let site = 0; site < values.length; site++)
        if (!wanted || wanted[site]) sum += values[site] || 0;
    return sum;
}

/* By key: of how many of its paths something is known. */
function knownByKey(
    { passes }: CallTree,
    isKnown: ArrayLike<number>,
    wanted: Wanted,
    inclusive: boolean,
    hide: boolean,
): Float64Array {
    return inclusive
        ? passes.inclusiveByKey(isKnown, wanted, hide)
        : passes.exclusiveByKey(isKnown, wanted, hide);
}

/* A function none of whose paths has a curve has no figure in a range, rather than 0; so of one at none of whose
 * paths the look passed by. */
function forgetUnknown(rows: FunctionRow[], name: string, known: Float64Array): void {
    for (const row of rows) if (name in row.values && !known[row.key]) row.values[name] = NaN;
}

function columnsOf(
    profile: Profile,
    columns: readonly string[],
    metric: string,
    most: number,
    whole: number,
    hasFiles: boolean,
): Column<FunctionRow>[] {
    const variance = varianceOf(profile, metric);
    const isOfRange = (name: string) => name === RANGE || name === GROWTH;
    const ofAll = columns.some(isOfRange) ? " · whole run" : ""; /* what a range does not cover */
    return [
        ...columns.flatMap((name): Column<FunctionRow>[] => [
            {
                id: name,
                title: isOfRange(name) ? profile.titleOf(name) : `${profile.titleOf(name)}${ofAll}`,
                hint: `${profile.metric(name)?.help ?? ""}${ofAll ? ". Of the whole run: it is not kept over time" : ""}`,
                width: ofAll ? "116px" : "84px",
                number: (row) => row.values[name],
                unit: profile.unitOf(name),
                ...(name === metric
                    ? { fill: (row: FunctionRow) => (row.values[name] || 0) / most }
                    : {}),
            },
            ...(name === metric && whole > 0
                ? [
                      {
                          id: "share",
                          title: "share",
                          hint: `Of ${exact(whole, profile.unitOf(name))} of all call paths that are shown`,
                          width: "62px",
                          unit: "share" as const,
                          number: (row: FunctionRow) => row.values[name]! / whole,
                      },
                  ]
                : []),
            ...(name === metric && variance
                ? [
                      {
                          id: "error",
                          title: "sure to",
                          hint: sureHint,
                          width: "92px",
                          text: (row: FunctionRow) =>
                              sureTo(profile, name, row.values[name] || 0, row.values[variance]!),
                      },
                  ]
                : []),
        ]),
        {
            id: "function",
            title: "Function",
            width: "minmax(160px, 2fr)",
            text: (row) => row.name,
            show: (row) => (
                <>
                    <Through wrapper={row.through} />
                    {shortName(row.name)}
                </>
            ),
        },
        ...(hasFiles
            ? [
                  {
                      id: "file",
                      title: "File",
                      width: "minmax(90px, 1fr)",
                      text: (row: FunctionRow) => row.file,
                      show: (row: FunctionRow) => fileName(row.file),
                  },
              ]
            : []),
        {
            id: "module",
            title: "Module",
            width: "minmax(90px, 0.9fr)",
            text: (row) => row.module,
            show: (row) => fileName(row.module),
        },
    ];
}

function ColumnChoice({
    profile,
    columns,
}: ViewProps & { columns: readonly string[] }): JSX.Element {
    const available = [
        ...profile.metrics.filter(
            (each) => each.recorded && addsUp(each) && each.unit !== "variance",
        ),
        ...profile.summary.derived,
    ];
    return (
        <select
            aria-label="Add or take off a column"
            value=""
            onChange={(event) => {
                const name = event.currentTarget.value;
                const next = columns.includes(name)
                    ? columns.filter((each) => each !== name)
                    : [...columns, name];
                go({ opt: withOptions(state.value, { columns: next.join(".") }) }, "replace");
                event.currentTarget.value = "";
            }}>
            <option value="">columns…</option>
            {available.map((each) => (
                <option key={each.name} value={each.name}>
                    {columns.includes(each.name) ? "✓ " : ""}
                    {each.title}
                </option>
            ))}
        </select>
    );
}

/* Long lists are sorted while the table shows the rows of before: what is said of the rows waits for
 * the table, so that both are of the same rows. */
function useShown<T>(isShown: boolean, now: T): T | null {
    const last = useRef<T | null>(null);
    if (isShown) last.current = now;
    return last.current;
}

function FunctionsTable({
    rows,
    whole,
    columns,
    metric,
    inclusive,
    search,
    sort,
    profile,
    tree,
    column,
    wanted,
}: List & {
    search: string;
    sort: string;
}): JSX.Element {
    const [chosen, choose] = useState(state.value.fn);
    const only = useMemo(() => {
        const has = searcher(search),
            name = ({ name, file, module }: FunctionRow) => ({ function: name, file, module });
        return has && new Set(rows.filter((row) => has(name(row))));
    }, [rows, search]);
    const sum = useMemo(
        () => only && sumOfPaths(tree, column, wanted, only, inclusive),
        [only, rows, column],
    );
    const unit = profile.unitOf(metric),
        known = profile.metric(metric),
        doesAddUp = known ? addsUp(known) : metric === RANGE || metric === GROWTH;
    const [inTable, setInTable] = useState<readonly FunctionRow[] | null>(null);
    const found = useShown(
        inTable === rows,
        sum !== null && doesAddUp ? { sum, unit, part: whole > 0 ? sum / whole : NaN } : null,
    );
    const most = useMemo(
        () => rows.reduce((best, row) => Math.max(best, row.values[metric] || 0), 1),
        [rows, metric],
    );
    const list = useMemo(
        () =>
            columnsOf(
                profile,
                columns,
                metric,
                most,
                whole,
                rows.some((row) => row.file),
            ),
        [rows, columns.join(), metric, most, whole, profile],
    );
    return (
        <>
            <div class="bar-row">
                <span class="dim">
                    {inclusive ? "with all below them" : "by what they ask for themselves"}
                </span>
                <ColumnChoice profile={profile} columns={columns} />
                {found && (
                    <span data-found title={exact(found.sum, found.unit)}>
                        search: <b>{format(found.sum, found.unit)}</b>
                        {!isNaN(found.part) && ` (${share(found.part)})`}
                    </span>
                )}
            </div>
            <Table
                name="functions"
                label="Functions"
                rows={rows}
                only={only}
                columns={list}
                sort={sort}
                onSort={(next) => go({ sort: next }, "replace")}
                onShown={setInTable}
                rowKey={(row) => row.key}
                selected={chosen >= 0 ? chosen : null}
                onSelect={(row) => choose(row.key)}
                onOpen={(row) => go({ fn: row.key, view: "flame", sort: "" })}
                onMenu={(row, x, y) =>
                    showMenu(x, y, functionMenu(row.key, row.name, row.file || row.module))
                }
                empty={
                    search
                        ? `No function, file or module with “${search}” in it.`
                        : "No function has any of these metrics."
                }
            />
        </>
    );
}

/* What call paths of some functions have, each path once: those that are listed under them, or that lead
 * through them. */
function sumOfPaths(
    { tree, passes }: CallTree,
    column: Float64Array,
    wanted: Wanted,
    rows: ReadonlySet<FunctionRow>,
    inclusive: boolean,
): number {
    const keys = new Uint8Array(tree.keyCount);
    for (const row of rows) keys[row.key] = 1;
    if (inclusive) return sumOf(column, listed(both(passes.through(keys), wanted)!));
    const lines = passes.exclusiveLines(state.value.hide);
    let sum = 0;
    for (let site = 0; site < lines.length; site++)
        if (keys[tree.lineKey[lines[site]!]!] && (!wanted || wanted[site])) sum += column[site]!;
    return sum;
}

/* What one can do with a function, in every view. `place`: its file, or else its module. */
export function functionMenu(
    key: number,
    name: string,
    place: string,
): { title: string; run: () => void }[] {
    return [
        { title: "Focus on this function", run: () => go({ fn: key }) },
        {
            title: "Flame graph through it",
            run: () => go({ fn: key, view: "flame", sort: "", opt: "" }),
        },
        {
            title: "Callers and callees",
            run: () => go({ fn: key, view: "tree", sort: "", opt: "" }),
        },
        {
            title: "Source",
            run: () =>
                go({ view: "source", opt: `fn:${choiceMark(name, place)}`, file: "", line: 0 }),
        },
        {
            title: "Write a note about it",
            run: () => go({ fn: key, view: "notes", sort: "", opt: "" }),
        },
        { title: "Copy name", run: () => void navigator.clipboard?.writeText(name) },
    ];
}
