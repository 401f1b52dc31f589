/* One profile as the views see it. A resource is fetched when a view first needs it, and is
 * kept. Columns become the call tree (CallTree) and the metrics of its call sites; Names gives
 * the names of code. */
import {
    indices,
    numbers,
    readColumns,
    Strings,
    whole,
    type ColumnsDocument,
} from "../data/columns.ts";
import { Outdated, type DataSource } from "../data/source.ts";
import type { Derived, Metric, Region, Summary } from "../data/types.ts";
import { shortName } from "./names.ts";
import { searcher, type Searched, type SizeRange } from "./search.ts";
import { atOnce, breathe, inSlices, type Work } from "./slices.ts";
import { TreePasses, type Tree, type Wanted } from "./tree.ts";
import type { Unit } from "./units.ts";

/* Names of code. */
export class Names {
    readonly tree: Tree;
    readonly #strings: Strings;
    readonly #functionName: Int32Array;
    readonly #functionLinkage: Int32Array;
    readonly #functionFile: Int32Array;
    readonly #fileName: Int32Array;
    readonly #modulePath: Int32Array;
    readonly #codeAddress: ArrayLike<number | bigint>;
    readonly functionCount: number;
    readonly moduleCount: number;
    readonly fileCount: number;
    readonly lineFunction: Uint32Array;

    constructor(tree: Tree, code: ColumnsDocument) {
        this.tree = tree;
        this.#strings = new Strings(code);
        this.#functionName = indices(code, "function_name");
        this.#functionLinkage = indices(code, "function_linkage");
        this.#functionFile = indices(code, "function_file");
        this.#fileName = indices(code, "file_name");
        this.#modulePath = indices(code, "module_path");
        this.#codeAddress = code.columns.get("code_address")!.values;
        this.functionCount = this.#functionName.length;
        this.moduleCount = this.#modulePath.length;
        this.fileCount = this.#fileName.length;
        this.lineFunction = whole(code, "line_function");
    }

    module(index: number): string | null {
        return index < 0 ? null : this.#strings.get(this.#modulePath[index] ?? -1);
    }
    file(index: number): string | null {
        return index < 0 ? null : this.#strings.get(this.#fileName[index] ?? -1);
    }
    linkage(key: number): string | null {
        return key < this.functionCount
            ? this.#strings.get(this.#functionLinkage[key] ?? -1)
            : null;
    }
    /* Index of the file that a function is in; -1: not known. */
    fileOfKey(key: number): number {
        return key < this.functionCount ? (this.#functionFile[key] ?? -1) : -1;
    }
    moduleOfKey(key: number): number {
        return this.#keyModule()[key] ?? -1;
    }
    /* By key: the module of the first code that has it. */
    #modules: Int32Array | null = null;
    #keyModule(): Int32Array {
        if (this.#modules) return this.#modules;
        const modules = new Int32Array(this.tree.keyCount).fill(-1);
        const { codeFirstLine, codeLineCount, codeModule, lineKey } = this.tree;
        for (let code = 1; code < codeModule.length; code++)
            for (let i = 0; i < codeLineCount[code]!; i++) {
                const key = lineKey[codeFirstLine[code]! + i]!;
                if (modules[key] === -1) modules[key] = codeModule[code]!;
            }
        return (this.#modules = modules);
    }

    /* By module: its place among those with most code in call paths, for colours that stay as they
     * are whatever part of the profile is shown. */
    #places: Uint32Array | null = null;
    placeOfModule(module: number): number {
        if (!this.#places) {
            const codes = new Uint32Array(this.moduleCount);
            for (const each of this.tree.codeModule) if (each >= 0) codes[each]!++;
            this.#places = new Uint32Array(this.moduleCount);
            [...codes.keys()]
                .sort((a, b) => codes[b]! - codes[a]! || a - b)
                .forEach((each, place) => {
                    this.#places![each] = place;
                });
        }
        return this.#places[module] ?? 0;
    }

    /* What a key is called: as the text report calls it. */
    ofKey(key: number): string {
        if (key < this.functionCount)
            return this.#strings.get(this.#functionName[key] ?? -1) ?? "?";
        const code = key - this.functionCount - marks.length;
        if (code < 0) return marks[key - this.functionCount]!;
        const module = this.module(this.tree.codeModule[code] ?? -1);
        const line = this.tree.codeFirstLine[code]!;
        if (module && module === this.file(this.tree.lineFile[line]!)) {
            /* Of a script whose functions are not known. */
            const number = this.tree.lineNumber[line]!;
            return baseName(module) + (number ? `:${number}` : "");
        }
        return `${baseName(module ?? "?")}+0x${this.#codeAddress[code]!.toString(16)}`;
    }
    /* Code without a name of its own, where several such are told apart by where they are. */
    isUnnamed(key: number): boolean {
        return key >= this.functionCount + marks.length;
    }
    ofLine(line: number): string {
        return this.ofKey(this.tree.lineKey[line]!);
    }
    /* Where there is little room; of hundreds of thousands of rows each is made once. */
    readonly #short: string[] = [];
    shortOfLine(line: number): string {
        return (this.#short[line] ??= titleOf(
            this.ofLine(line),
            this.file(this.tree.lineFile[line]!),
        ));
    }
    /* Which lines have the words that are searched for in the name of their function, of their file or
     * of their module, as --filter of the commands looks at them. */
    finder(words: string): (line: number) => boolean {
        const has = searcher(words),
            known = new Uint8Array(this.tree.lineKey.length);
        return (line) => {
            if (!known[line]) known[line] = !has || has(this.#searchedOf(line)) ? 2 : 1;
            return known[line] === 2;
        };
    }
    readonly #searched: Searched[] = [];
    #searchedOf(line: number): Searched {
        const known = this.#searched[line];
        if (known) return known;
        const { lineFile, codeModule } = this.tree;
        const file = this.file(lineFile[line]!),
            module = this.module(codeModule[this.codeOfLine(line)]!);
        return (this.#searched[line] = {
            function: this.ofLine(line),
            ...(file ? { file } : {}),
            ...(module ? { module } : {}),
        });
    }
    /* Likewise, of a function. */
    searchedOfKey(key: number): Searched {
        return {
            function: this.ofKey(key),
            file: this.file(this.fileOfKey(key)) ?? "",
            module: this.module(this.moduleOfKey(key)) ?? "",
        };
    }
    /* "src/mesh.cpp:77", or the module, or "". */
    place(line: number): string {
        const { lineFile, lineNumber } = this.tree;
        const file = this.file(lineFile[line]!);
        if (file) return lineNumber[line] ? `${file}:${lineNumber[line]}` : file;
        const module = this.module(this.tree.codeModule[this.codeOfLine(line)]!);
        return module ? baseName(module) : "";
    }
    #lineCode: Uint32Array | null = null;
    codeOfLine(line: number): number {
        if (!this.#lineCode) {
            const codes = new Uint32Array(this.tree.lineKey.length);
            const { codeFirstLine, codeLineCount } = this.tree;
            for (let code = 0; code < codeFirstLine.length; code++)
                for (let i = 0; i < codeLineCount[code]!; i++)
                    codes[codeFirstLine[code]! + i] = code;
            this.#lineCode = codes;
        }
        return this.#lineCode[line]!;
    }
}

export function baseName(path: string): string {
    return path.slice(path.lastIndexOf("/") + 1);
}

/* Names that every other folder has: they are told apart by their folders. */
const everywhere =
    /^(?:__init__\.py|__main__\.py|mod\.rs|lib\.rs|main\.rs|index\.[jt]sx?)(?::\d+)?$/;

/* A file's name where there is little room. */
export function fileName(path: string): string {
    const base = baseName(path);
    if (!everywhere.test(base)) return base;
    const above = baseName(path.slice(0, Math.max(0, path.length - base.length - 1)));
    return above ? `${above}/${base}` : base;
}

/* "mesh.c:7", or "mesh.c" where the line is not known. */
export const filePlace = (path: string, line: number | null | undefined): string =>
    line ? `${fileName(path)}:${line}` : fileName(path);

/* What every file of a script has: Python's <module> and <lambda>, the <main>, <eval> and <require> of Perl and PHP. */
const ofEveryFile = /^<[a-z]+>$/;

/* A function's name where nothing beside it says its file. */
export const titleOf = (name: string, file: string | null | undefined): string =>
    ofEveryFile.test(name) && file ? `${name} of ${fileName(file)}` : shortName(name);

/* Names of what is not code that somebody wrote; their keys follow those of the functions. */
const marks = [
    "[code in no module]",
    "[stack could not be walked further]",
    "[deeper than --max-depth]",
    "[no call path]",
];

/* Keys: the functions, the marks, and each piece of code without a name, by its address: how
 * `report` groups call sites. One key for all such code of a module would say of what many functions
 * asked for that one did. */
function keysOfLines(
    lineFunction: Uint32Array,
    codeModule: Int32Array,
    mark: Uint32Array,
    first: Uint32Array,
    lineCount: Uint32Array,
    functions: number,
): Uint32Array {
    const keys = new Uint32Array(lineFunction.length);
    for (let at = 0; at < codeModule.length; at++)
        for (let line = first[at]!; line < first[at]! + lineCount[at]!; line++) {
            if (at === 0) keys[line] = functions + 3;
            else if (mark[at]) keys[line] = functions + (mark[at] === 2 ? 2 : 1);
            else if (lineFunction[line]) keys[line] = lineFunction[line]!;
            else if (codeModule[at]! >= 0) keys[line] = functions + marks.length + at;
            else keys[line] = functions;
        }
    return keys;
}

export interface CallTree {
    tree: Tree;
    passes: TreePasses;
    names: Names;
}

/* The short name of the wrapper that the line of a path asked through; "": it asked by itself. */
export function wrapperOf({ passes, names }: CallTree, node: number, line: number): string {
    const wrapper = passes.wrapperLine(node, line);
    return wrapper < 0 ? "" : names.shortOfLine(wrapper);
}

/* Of a path its frames that are no library's; of one that has no others, all. */
export function ownLines({ tree, passes }: CallTree, node: number): readonly number[] {
    const all = passes.path(node),
        own = all.filter((at) => !tree.lineLibrary[at]);
    return own.length ? own : all;
}

/* Who called the line of a path, nearest first: what tells apart the paths of one function that
 * allocates. */
export function callersOf({ tree, names }: CallTree, node: number, line: number): string {
    const { parent, code, codeFirstLine, codeLineCount } = tree,
        callers: string[] = [];
    for (let past = false; node && callers.length < 3; node = parent[node]!) {
        const first = codeFirstLine[code[node]!]!,
            end = first + codeLineCount[code[node]!]!;
        for (let at = first; at < end && callers.length < 3; at++) {
            if (past) callers.push(names.shortOfLine(at));
            past ||= at === line;
        }
    }
    return callers.join(" ← ");
}

/* A figure that is no metric of the profile: bytes at the highest moment of the range that is
 * chosen. */
export const RANGE = "range_bytes";
/* Likewise: how many more there are at its end than at its beginning. */
export const GROWTH = "range_growth";
/* Likewise: bytes of single blocks of a trace that were alive at a moment and are of some age or thread. */
export const ALIVE = "alive_bytes";
const WORKED = 16;

/* What happened in a part of a trace's time, replayed by the server (doc/API.md, "window"); what
 * was asked for in a region (doc/API.md, "region"); or both. */
export interface Span {
    from: number;
    to: number;
}
export interface Part {
    of: Profile;
    window: Span | null;
    region: string;
    level: Level;
}

/* Which memory: "" is the heap. Owners of resident memory have nodes of their own. */
export type Level = "" | "mapped" | "all" | "resident";
export const levels: readonly { level: Level; title: string; says: string }[] = [
    { level: "", title: "heap", says: "Blocks of the heap." },
    {
        level: "mapped",
        title: "mapped",
        says: "What the program maps itself, without blocks of the heap.",
    },
    {
        level: "all",
        title: "heap and mapped",
        says: "Blocks of the heap and what the program maps itself, at their highest moment together.",
    },
    {
        level: "resident",
        title: "resident",
        says: "Resident memory by owner, where most of it was looked at. Functions in brackets are owners without a call path.",
    },
];
export const levelNamed = (name: string): Level =>
    levels.find((each) => each.level === name)?.level ?? "";

const isSame = (a: Summary, b: Summary, level: Level) =>
    a.meta["start_unix_ns"] === b.meta["start_unix_ns"] &&
    (level === "resident" || a.counts["nodes"] === b.counts["nodes"]);

/* The same for a region as for the whole profile: there are no two of them. */
const shared: readonly string[] = ["modules", "regions", "sources"];

export class Profile {
    readonly index: number;
    readonly summary: Summary;
    readonly part: Part | null; /* null: all of the run */
    readonly #prefix: string; /* of its resources' names */
    readonly #source: DataSource;
    readonly #generation: string; /* a new Profile is made for every new one */
    readonly #replaced: (why: unknown) => boolean;
    readonly #kept = new Map<string, Promise<unknown>>();

    /* `replaced` is called with why something that was asked for did not come. True: another Profile
     * takes the place of this one (the source has a newer generation, or does not answer any more and
     * the one before had its answers); what is asked of this one then never comes. */
    constructor(
        source: DataSource,
        index: number,
        summary: Summary,
        generation: string,
        replaced: (why: unknown) => boolean,
        part: Part | null = null,
        prefix = "",
    ) {
        this.#source = source;
        this.index = index;
        this.summary = summary;
        this.#generation = generation;
        this.#replaced = replaced;
        this.part = part;
        this.#prefix = prefix;
    }
    get window(): Span | null {
        return this.part?.window ?? null;
    }
    /* The name of the region that it is of; "": of none. */
    get region(): string {
        return this.part?.region ?? "";
    }
    /* The level of memory that it is of. */
    get level(): Level {
        return this.part?.level ?? "";
    }
    /* Mappings are called mappings. */
    get ofMappings(): boolean {
        return this.level === "mapped";
    }
    /* `region`: "" for all of the program. */
    async partOf(
        window: Span | null,
        region: string,
        level: Level,
        stop: AbortSignal,
    ): Promise<Profile> {
        if (level) this.#needLevel(level, region);
        const place = region ? await this.#placeOf(region) : -1;
        const prefix = `${window ? `window/${window.from}-${window.to}/` : ""}${region ? `region/${place}/` : ""}${level ? `of/${level}/` : ""}`;
        const { summary, generation } = await this.#ask(
            this.#source.summary(this.index, prefix, stop),
        );
        if (
            !window &&
            this.summary.state !== "recording" &&
            !isSame(this.summary, summary, level)
        ) {
            /* the file has been replaced by another recording */
            setTimeout(() => this.#replaced(new Outdated()), 1000);
            return new Promise(() => {});
        }
        return new Profile(
            this.#source,
            this.index,
            summary,
            generation,
            this.#replaced,
            { of: this, window, region, level },
            prefix,
        );
    }
    /* What the program named; by their places views ask for them. */
    async regions(): Promise<Region[]> {
        return this.has("regions")
            ? ((await this.json<{ regions: Region[] | null }>("regions")).regions ?? [])
            : [];
    }
    #needLevel(level: Level, region: string): void {
        if (region)
            throw new Error(
                "What is mapped and what is resident is not known by region: take one of the two off.",
            );
        if (!this.hasLevel(level))
            throw new Error(
                level === "resident"
                    ? "This profile does not say whose the resident memory is."
                    : "This profile does not say what the program mapped.",
            );
    }
    async #placeOf(name: string): Promise<number> {
        const regions = await this.regions(),
            place = regions.findIndex((each) => each.name === name);
        if (place >= 0 && !this.has("region"))
            throw new Error(
                "This file has of its regions only what they sum up to: they are too large. tidemark serve shows each in every view.",
            );
        if (place >= 0) return place;
        if (this.has("ranks"))
            throw new Error(
                "The profile of a job does not know the regions of its ranks: choose a rank.",
            );
        throw new Error(
            `There is no region “${name}” in this profile: ${
                regions.length
                    ? `it has ${regions
                          .slice(0, 8)
                          .map((each) => each.name)
                          .join(", ")}${regions.length > 8 ? " and more" : ""}`
                    : "the program named none"
            }.`,
        );
    }
    /* The whole that it is a region of, where both are of one generation. */
    #whole(): Profile | null {
        return this.part && !this.part.window && this.part.of.summary.state !== "recording"
            ? this.part.of
            : null;
    }
    #ask<T>(asked: Promise<T>): Promise<T> {
        return asked.catch((error: unknown) => {
            if (!this.#replaced(error)) throw error;
            return new Promise<T>(() => {});
        });
    }

    #keep<T>(name: string, make: () => Promise<T>): Promise<T> {
        let kept = this.#kept.get(name) as Promise<T> | undefined;
        if (!kept) {
            kept = make();
            this.#kept.set(name, kept);
            kept.catch(() => this.#kept.delete(name));
        }
        return kept;
    }

    hasLevel(level: Level): boolean {
        return !level || !!this.summary.levels?.includes(level);
    }
    has(resource: string): boolean {
        return this.summary.resources.includes(resource);
    }
    json<T>(name: string): Promise<T> {
        const whole = this.#whole();
        if (whole && shared.includes(name)) return whole.json(name);
        if (name.startsWith("source/") && (whole || this.part?.window))
            return this.part!.of.json(name); /* files have its numbers, too */
        return this.#keep(name, () =>
            this.#ask(this.#source.json<T>(this.index, this.#prefix + name, this.#generation)),
        );
    }
    columns(name: string): Promise<ColumnsDocument> {
        return this.#keep(name, async () =>
            readColumns(
                await this.#ask(
                    this.#source.binary(this.index, this.#prefix + name, this.#generation),
                ),
            ),
        );
    }
    get metrics(): readonly Metric[] {
        return this.summary.metrics;
    }
    metric(name: string): Metric | undefined {
        return this.metrics.find((metric) => metric.name === name);
    }
    derived(name: string): Derived | undefined {
        return this.summary.derived.find((derived) => derived.name === name);
    }
    /* What a view has worked out of this profile: kept for coming back to it, the last few. */
    readonly #worked = new Map<string, Promise<unknown>>();
    work<T>(key: string, make: () => Promise<T>): Promise<T> {
        const known = this.#worked.get(key) as Promise<T> | undefined;
        const result = known ?? make();
        this.#worked.delete(key);
        this.#worked.set(key, result);
        result.catch(() => this.#worked.delete(key));
        if (this.#worked.size > WORKED) this.#worked.delete(this.#worked.keys().next().value!);
        return result;
    }
    unitOf(name: string): Unit {
        if (name === RANGE || name === GROWTH || name === ALIVE) return "bytes";
        const unit = this.metric(name)?.unit ?? this.derived(name)?.unit ?? "count";
        return unit === "moment_ns" ? "ns" : unit === "variance" ? "count" : unit;
    }
    titleOf(name: string): string {
        if (name === RANGE) return "bytes in range";
        if (name === GROWTH) return "growth in range";
        if (name === ALIVE) return "bytes of these blocks";
        return this.metric(name)?.title ?? this.derived(name)?.title ?? name;
    }
    get isJob(): boolean {
        return this.summary.meta["job_ranks"] !== undefined;
    }
    /* The tool whose recording it is; null: Tidemark's own. */
    get importedFrom(): string | null {
        return this.summary.meta["imported_from"] ?? null;
    }
    /* Not of a heap dump. */
    get isTimed(): boolean {
        return this.summary.meta["duration_ns"] !== undefined;
    }
    get durationNs(): number {
        return Number(this.summary.meta["duration_ns"] ?? 0);
    }

    /* A metric by site; unknown: NaN, but where sums pass over it. */
    column(name: string): Promise<Float64Array> {
        return this.#keep(`= ${name}`, async () => {
            const column = numbers(await this.columns(`columns/${name}`), name);
            return this.metric(name)?.merge === "least"
                ? column.map((value) => (Number.isNaN(value) ? 0 : value))
                : column;
        });
    }

    /* Likewise, of a metric whose sums pass over what is not known: 1 where it is known; null: of others. */
    async knownColumn(name: string): Promise<Float64Array | null> {
        if (this.metric(name)?.merge !== "least") return null;
        const column = numbers(await this.columns(`columns/${name}`), name);
        return column.map((value) => (Number.isNaN(value) ? 0 : 1));
    }

    /* By site: was one of its blocks of such a size? Only the smallest and the largest are known. */
    async sitesOfSize({ least, most }: SizeRange): Promise<Uint8Array> {
        if (!this.metric("size_max")?.recorded)
            throw new Error("How large blocks were is not known here: “size:” is for blocks.");
        const [smallest, largest] = (await Promise.all([
            this.column("size_min"),
            this.column("size_max"),
        ])) as [Float64Array, Float64Array];
        return Uint8Array.from(largest, (value, site) =>
            value >= least && smallest[site]! <= most ? 1 : 0,
        );
    }

    callTree(): Promise<CallTree> {
        return this.#keep("= tree", async () => {
            if (this.part && this.level !== "resident" && (this.part.window || this.#whole()))
                return partOf(
                    await this.part.of.callTree(),
                    whole(await this.columns("sites"), "node"),
                );
            const [code, paths, sites] = await Promise.all([
                this.columns("code"),
                this.columns("paths"),
                this.columns("sites"),
            ]);
            const codeModule = indices(code, "code_module");
            const first = whole(code, "code_first_line"),
                lineCount = whole(code, "code_line_count");
            const lineFunction = whole(code, "line_function");
            const functions = indices(code, "function_name").length;
            await breathe();
            const tree: Tree = {
                nodeCount: whole(paths, "parent").length,
                parent: whole(paths, "parent"),
                code: whole(paths, "code"),
                codeFirstLine: first,
                codeLineCount: lineCount,
                codeModule,
                lineKey: keysOfLines(
                    lineFunction,
                    codeModule,
                    whole(code, "code_mark"),
                    first,
                    lineCount,
                    functions,
                ),
                lineFile: indices(code, "line_file"),
                lineNumber: whole(code, "line_number"),
                lineLibrary: Uint8Array.from(whole(code, "line_hidden")),
                lineWrapper: Uint8Array.from(whole(code, "line_wrapper")),
                siteNode: whole(sites, "node"),
                keyCount: functions + marks.length + codeModule.length,
            };
            await inSlices(treeChecked(tree));
            const passes = new TreePasses(tree);
            await breathe();
            return { tree, passes, names: new Names(tree, code) };
        });
    }
}

/* The call tree of a part: its nodes are those of the whole run, and so functions, lines and files
 * keep the numbers that they have there. */
function partOf({ tree: all, names }: CallTree, siteNode: Uint32Array): CallTree {
    const tree: Tree = { ...all, siteNode };
    checkTree(tree);
    return { tree, passes: new TreePasses(tree), names };
}

/* The passes run without asking; so what would lead them astray is refused here. */
export function checkTree(tree: Tree): void {
    atOnce(treeChecked(tree));
}
function* treeChecked(tree: Tree): Work<void> {
    const bad = (what: string) => {
        throw new Error(`The call tree makes no sense: ${what}.`);
    };
    if (tree.code.length !== tree.nodeCount) bad("nodes without code");
    for (let node = 1; node < tree.nodeCount; node++) {
        if ((node & 0x3fff) === 0) yield;
        if (tree.parent[node]! >= node) bad(`node ${node} comes before its parent`);
        if (tree.code[node]! >= tree.codeFirstLine.length) bad(`node ${node} has unknown code`);
    }
    for (let code = 0; code < tree.codeFirstLine.length; code++)
        if (
            !tree.codeLineCount[code] ||
            tree.codeFirstLine[code]! + tree.codeLineCount[code]! > tree.lineKey.length
        )
            bad(`code ${code} has no lines`);
    yield;
    const { siteNode } = tree;
    for (let site = 0; site < siteNode.length; site++)
        if (siteNode[site]! >= tree.nodeCount) bad("a site without a node");
}

/* A figure of merged metrics from the sums of its parts (doc/API.md, "derived"). */
export function derive(
    derived: Derived,
    sum: (metric: string) => number,
    durationNs: number,
): number {
    const add = (names: readonly string[]) => names.reduce((total, name) => total + sum(name), 0);
    const of = add(derived.of);
    const by = derived.by_run ? durationNs / 1e9 : derived.by ? add(derived.by) : 1;
    return by === 0 ? NaN : of / by;
}

export type { Wanted };
