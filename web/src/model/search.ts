/* The words of the search field, as --filter of the commands has them: a regular expression, or just
 * a part of a name; "!" in front takes what does not match, "function:", "file:" or "module:" behind
 * it says where alone to look. Several, with " & " between them, have to hold together. Letters match
 * in either case. searcher() has the terms about names. conditionsOf() has those about blocks:
 * "size:>=64K", "region:NAME", and of single blocks "age:>10s" and "thread:TID", which only a trace knows. */

const places = ["function", "file", "module"] as const;
type Place = (typeof places)[number];

export interface Searched {
    function: string;
    file?: string;
    module?: string;
}

type Test = (of: Searched) => boolean;

function expression(words: string): RegExp | null {
    try {
        return new RegExp(words, "im"); /* a row of several holders has a line for each */
    } catch {
        return null; /* half typed, or no expression at all: a part of a name */
    }
}

const aboutBlocks = ["size", "region", "age", "thread"] as const;
export type AboutBlocks = (typeof aboutBlocks)[number];

const begins = (words: string, word: string) =>
    words.startsWith(`${word}:`) && words[word.length + 1] !== ":";
const termsOf = (words: string) => words.split(" & ");

/* "!size:>4K" is { about: "size", text: ">4K", not: true }; null: a term about names. */
function blockTerm(words: string): { about: AboutBlocks; text: string; not: boolean } | null {
    const not = words.startsWith("!"),
        rest = not ? words.slice(1) : words,
        about = aboutBlocks.find((each) => begins(rest, each));
    return about ? { about, text: rest.slice(about.length + 1), not } : null;
}

function term(words: string): Test | null {
    if (blockTerm(words)) return null;
    const not = words.startsWith("!");
    let rest = not ? words.slice(1) : words;
    const alone = places.find((place: Place) => begins(rest, place));
    if (alone) rest = rest.slice(alone.length + 1);
    if (!rest) return null;
    const part = rest.toLowerCase(),
        like = expression(rest),
        isPlain = like && /^[\w ]+$/.test(rest); /* what it finds is a part of the name */
    const has = (text: string | undefined) =>
        !!text && ((!isPlain && text.toLowerCase().includes(part)) || !!like?.test(text));
    return (of) => (alone ? has(of[alone]) : places.some((place) => has(of[place]))) !== not;
}

/* Null: nothing is searched. */
export function searcher(words: string): Test | null {
    const terms = termsOf(words)
        .map(term)
        .filter((each) => each !== null);
    return terms.length ? (of) => terms.every((each) => each(of)) : null;
}

/* Sizes that were asked for, both ends included. */
export interface SizeRange {
    least: number;
    most: number;
}
export interface ThreadTerm {
    tid: number;
    not: boolean;
}
export interface Conditions {
    size: SizeRange | null; /* null: any */
    age: SizeRange | null; /* in ns */
    thread: ThreadTerm | null;
    region: string; /* "": any */
    wrong: string; /* why a term cannot be taken; "": all can */
}

const unitOfSize: Record<string, number> = { "": 1, b: 1 };
["k", "m", "g", "t"].forEach((letter, at) => {
    for (const behind of ["", "b", "ib"]) unitOfSize[letter + behind] = 1024 ** (at + 1);
});

const unitOfAge: Record<string, number> = {
    "": 1e9,
    s: 1e9,
    sec: 1e9,
    ms: 1e6,
    us: 1e3,
    µs: 1e3,
    ns: 1,
    m: 6e10,
    min: 6e10,
    h: 36e11,
};

/* ">=64K" or ">10s", as src/analysis/aggregate/match.c reads it, and what of it "!" leaves. */
function rangeIn(
    text: string,
    not: boolean,
    units: Readonly<Record<string, number>>,
): SizeRange | null {
    const parts = /^([<>])(=?)(\d+\.?\d*|\.\d+)\s*([a-zµ]*)$/i.exec(text),
        unit = parts && units[parts[4]!.toLowerCase()];
    if (!parts || !unit) return null;
    const number = Math.round(Number(parts[3]) * unit),
        isLess = (parts[1] === "<") !== not,
        hasEqual = (parts[2] === "=") !== not;
    return isLess
        ? { least: 0, most: number - (hasEqual ? 0 : 1) }
        : { least: number + (hasEqual ? 0 : 1), most: Infinity };
}

function wrongWith(about: AboutBlocks, text: string, not: boolean, had: Conditions): string {
    if (about === "thread") {
        if (had.thread) return "“thread:” is there twice.";
        return /^\d{1,10}$/.test(text) ? "" : "“thread:” is followed by a thread's number.";
    }
    if (about === "age")
        return rangeIn(text, not, unitOfAge)
            ? ""
            : "“age:” is followed by <, <=, > or >= and a time, as in age:>10s.";
    if (about === "size")
        return rangeIn(text, not, unitOfSize)
            ? ""
            : "“size:” is followed by <, <=, > or >= and a size, as in size:>=64K.";
    if (not) return "What lies outside a region is not known.";
    return had.region ? "“region:” is there twice." : "";
}

const narrowed = (a: SizeRange | null, b: SizeRange): SizeRange => ({
    least: Math.max(a?.least ?? 0, b.least),
    most: Math.min(a?.most ?? Infinity, b.most),
});

/* Why terms about single blocks are left out; "": there are none, or they are not. */
export function whyNotSingle(
    { age, thread }: Conditions,
    viewShowsThem: boolean,
    isKnown: boolean,
): string {
    if (!age && !thread) return "";
    const word = age ? "age:" : "thread:";
    if (!isKnown)
        return `“${word}” is known of single blocks, not of call paths: of the heap of a trace (record --trace; tidemark serve FILE.tmt, blocks, events).`;
    return viewShowsThem
        ? ""
        : `“${word}” is known of single blocks: the flame graph and the call tree show them.`;
}

/* Terms that are wrong are left out, and the first of them is said. */
export function conditionsOf(words: string): Conditions {
    const all: Conditions = { size: null, age: null, thread: null, region: "", wrong: "" };
    for (const each of termsOf(words)) {
        const found = blockTerm(each);
        if (!found) continue;
        const { about, text, not } = found,
            wrong = wrongWith(about, text, not, all);
        all.wrong ||= wrong;
        if (wrong) continue;
        if (about === "region") all.region = text;
        if (about === "thread") all.thread = { tid: Number(text), not };
        if (about === "size") all.size = narrowed(all.size, rangeIn(text, not, unitOfSize)!);
        if (about === "age") all.age = narrowed(all.age, rangeIn(text, not, unitOfAge)!);
    }
    return all;
}

/* The words with one term about blocks of this kind; "": with none. */
export function withTerm(words: string, about: AboutBlocks, text: string): string {
    const rest = withoutTerms(words, about);
    return [...(rest ? [rest] : []), ...(text ? [`${about}:${text}`] : [])].join(" & ");
}
/* What a term about blocks of this kind says; "": there is none. */
export function termText(words: string, about: AboutBlocks): string {
    for (const each of termsOf(words)) {
        const found = blockTerm(each);
        if (found?.about === about) return `${found.not ? "!" : ""}${found.text}`;
    }
    return "";
}

/* The words without the terms about blocks of this kind. */
export function withoutTerms(words: string, about: AboutBlocks): string {
    return termsOf(words)
        .filter((each) => blockTerm(each)?.about !== about)
        .join(" & ");
}
