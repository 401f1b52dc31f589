/* Who has the resident memory (doc/API.md, "owners"): kinds in the words of the text report, names, and where
 * in the page more of an owner is to be seen. */
import { placedMark } from "./focus.ts";
import { shortName } from "./names.ts";
import { baseName, filePlace } from "./profile.ts";
import { duration } from "./units.ts";
import type { ViewState } from "../state/url.ts";

export interface Owner {
    kind: string;
    key?: number; /* of a call site */
    node?: number; /* its largest call path */
    function?: string;
    through?: string; /* the wrapper that it asked through */
    file?: string | null;
    line?: number | null;
    name?: string | null;
    module?: string | null;
    thread?: number | null;
    more?: number; /* it stands for so many that are smaller */
    count: number | null;
    resident_bytes: number | null;
    proportional_bytes: number | null;
    swapped_bytes: number | null;
}
export interface Owners {
    owners_sample: number;
    time_ns: number | null; /* null: of a job, each rank at its own moment */
    resident_bytes: number | null;
    owners: Owner[];
}

export function whenOfOwners(time_ns: number | null): string {
    return time_ns === null ? "of its ranks, each at its own moment" : `after ${duration(time_ns)}`;
}

export interface OwnerKind {
    kind: string;
    title: string;
    tone: string;
    help: string;
}
export const ownerKinds: readonly OwnerKind[] = [
    {
        kind: "blocks",
        title: "live blocks",
        tone: "data-1",
        help: "blocks that the program asked for",
    },
    {
        kind: "mapping",
        title: "mapped directly",
        tone: "data-3",
        help: "memory that the program maps itself",
    },
    {
        kind: "allocator",
        title: "allocator, free",
        tone: "data-2",
        help: "free memory that the allocator keeps",
    },
    {
        kind: "file",
        title: "files and code",
        tone: "data-5",
        help: "files that are mapped: the program, its libraries, data",
    },
    { kind: "globals", title: "globals", tone: "data-4", help: "global variables" },
    { kind: "stack", title: "stacks", tone: "data-6", help: "stacks of threads" },
    { kind: "kernel", title: "kernel", tone: "data-7", help: "what the kernel maps" },
    { kind: "other", title: "other", tone: "data-8", help: "what nobody else has" },
    {
        kind: "tool",
        title: "Tidemark itself",
        tone: "line-strong",
        help: "what recording costs; not there without it",
    },
];
export const ownerKind = (kind: string): OwnerKind =>
    ownerKinds.find((each) => each.kind === kind) ??
    ownerKinds.find(({ kind }) => kind === "other")!;

/* Of the parts of the ledger those that owners are listed by. */
export const kindsOfLedger: Record<string, string> = {
    live_touched_bytes: "blocks",
    slack_bytes: "allocator",
    mmap_bytes: "mapping",
    file_bytes: "file",
    stack_bytes: "stack",
    globals_bytes: "globals",
    shared_bytes: "mapping",
    tool_bytes: "tool",
};

/* The kinds as parts of a whole: those with little are one, where there are more than `most`. */
export function mainKinds(
    kinds: readonly { kind: OwnerKind; bytes: number }[],
    most: number,
): { shown: { kind: OwnerKind; bytes: number }[]; rest: { kind: OwnerKind; bytes: number }[] } {
    if (kinds.length <= most) return { shown: [...kinds], rest: [] };
    const large = new Set([...kinds].sort((a, b) => b.bytes - a.bytes).slice(0, most - 1));
    return {
        shown: kinds.filter((each) => large.has(each)),
        rest: kinds.filter((each) => !large.has(each)),
    };
}

/* Kinds with anything, in their order, and what is of each; together all that is resident. */
export function byKind(owners: readonly Owner[]): { kind: OwnerKind; bytes: number }[] {
    const sums = new Map<string, number>();
    for (const { kind, resident_bytes } of owners) {
        const known = ownerKind(kind).kind;
        sums.set(known, (sums.get(known) ?? 0) + (resident_bytes ?? 0));
    }
    return ownerKinds.flatMap((kind) => {
        const bytes = sums.get(kind.kind) ?? 0;
        return bytes > 0 ? [{ kind, bytes }] : [];
    });
}

/* What would be there without Tidemark, as the command's first screen says it; and the rest. */
export const ownersOfProgram = (owners: readonly Owner[]): Owner[] =>
    owners.filter(({ kind }) => kind !== "tool");
export const toolOf = (owners: readonly Owner[]): number =>
    owners.reduce(
        (sum, { kind, resident_bytes }) => sum + (kind === "tool" ? (resident_bytes ?? 0) : 0),
        0,
    );

/* Those with most, that the program has itself. */
export function largest(owners: readonly Owner[], count: number): Owner[] {
    return ownersOfProgram(owners)
        .filter((each) => !each.more && (each.resident_bytes ?? 0) > 0)
        .sort((a, b) => b.resident_bytes! - a.resident_bytes!)
        .slice(0, count);
}

export function nameOfOwner(owner: Owner): string {
    if (owner.more) return `${owner.more.toLocaleString("en")} more`;
    if (owner.function) return owner.function;
    const name = owner.name ?? "(no name)";
    if (owner.kind === "file") return baseName(name);
    if (owner.kind === "globals" && owner.module) return `${name} of ${baseName(owner.module)}`;
    return owner.kind === "stack" && owner.thread ? `${name}, thread ${owner.thread}` : name;
}

/* The same where there is little room: of functions the short name. */
export const shortNameOfOwner = (owner: Owner): string =>
    owner.function && !owner.more ? shortName(owner.function) : nameOfOwner(owner);
export const wrapperOfOwner = (owner: Owner): string =>
    owner.through && !owner.more ? shortName(owner.through) : "";

/* Beside the name: where its code or its file is. */
export function placeOfOwner(owner: Owner): string {
    if (owner.file) return filePlace(owner.file, owner.line);
    return owner.function && owner.module && !owner.function.startsWith(baseName(owner.module))
        ? baseName(owner.module)
        : "";
}

/* A function as a focus, by its name and where it is: the file, or else the module. */
export const focusOn = (
    name: string,
    place: string | null | undefined = "",
): Partial<ViewState> => ({ fn: 0, node: -1, at: placedMark(name, place ?? "") });

const focusOnOwner = (owner: Owner): Partial<ViewState> =>
    focusOn(owner.function!, owner.file ?? owner.module);

/* Where more of it is to be seen. */
export function placeToSee(owner: Owner): Partial<ViewState> {
    const none = { sort: "", opt: "", search: "", metric: "" };
    if (owner.more) return kindToSee(owner.kind);
    if (owner.function && owner.kind === "mapping")
        return { ...none, view: "flame", of: "mapped", ...focusOnOwner(owner) };
    if (owner.function && owner.kind === "blocks")
        return { ...none, view: "flame", metric: "resident_bytes", ...focusOnOwner(owner) };
    if (owner.function)
        return {
            ...none,
            view: "resident",
            sort: "-pinned_bytes",
            opt: "list:paths",
            ...focusOnOwner(owner),
        };
    if (owner.kind === "file")
        return {
            ...none,
            view: "resident",
            opt: "list:mappings",
            search: baseName(owner.name ?? ""),
        };
    if (owner.kind === "globals") return { ...none, view: "globals", search: owner.name ?? "" };
    if (owner.kind === "stack") return { ...none, view: "stacks" };
    return kindToSee(owner.kind);
}
export const kindToSee = (kind: string): Partial<ViewState> => ({
    view: "resident",
    opt: `list:owners,kind:${ownerKind(kind).kind}`,
    sort: "",
    search: "",
    metric: "",
});
