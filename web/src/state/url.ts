/* Writes the state of the page into the part of the URL behind "#", and reads it. A link
 * therefore shows others the same, "back" works, and a file opened from disk has it too. Values
 * that equal the default are left out. */

export interface ViewState {
    view: string;
    profile: number; /* which of the profiles that are served */
    other: number; /* compared with; -1: none */
    metric: string; /* of the vocabulary; "": the view's own choice */
    inclusive: boolean;
    fn: number; /* focus on a function key; -1: none */
    node: number; /* focus on a call path; -1: none */
    at: string; /* the names that fn and node stand for (model/focus.ts); "": not known yet */
    search: string;
    from: number; /* ns since the start; -1: the beginning */
    to: number; /* -1: the end */
    thread: number; /* index; -1: all */
    rank: number; /* -1: all */
    region: string; /* that the program named; "": all of it */
    of: string; /* a level of memory: "mapped", "all", "resident"; "": the heap */
    hide: boolean; /* frames of libraries */
    collapse: boolean; /* recursion as one frame */
    file: string; /* in the source view */
    line: number;
    sort: string; /* of the view's table: "column" or "-column" (descending) */
    opt: string; /* a view's own further choices, "a:1,b:x" */
}

export const initial: Readonly<ViewState> = {
    view: "summary",
    profile: 0,
    other: -1,
    metric: "",
    inclusive: false,
    fn: -1,
    node: -1,
    at: "",
    search: "",
    from: -1,
    to: -1,
    thread: -1,
    rank: -1,
    region: "",
    of: "",
    hide: true,
    collapse: false,
    file: "",
    line: 0,
    sort: "",
    opt: "",
};

type Key = Exclude<keyof ViewState, "view">;
const keys = Object.keys(initial).filter((key) => key !== "view") as Key[];

export function toHash(state: ViewState): string {
    const query = new URLSearchParams();
    for (const key of keys)
        if (state[key] !== initial[key])
            query.set(
                key,
                typeof state[key] === "boolean" ? (state[key] ? "1" : "0") : String(state[key]),
            );
    const text = query.toString();
    return `#/${encodeURIComponent(state.view)}${text ? "?" + text : ""}`;
}

/* Whatever stands there gives a state: what makes no sense is as if it were not there. */
export function fromHash(hash: string): ViewState {
    const state: ViewState = { ...initial };
    const match = /^#\/([^?]*)(?:\?(.*))?$/s.exec(hash);
    if (!match) return state;
    try {
        state.view = decodeURIComponent(match[1] ?? "") || initial.view;
    } catch {
        return state;
    }
    const query = new URLSearchParams(match[2] ?? "");
    for (const key of keys) {
        const text = query.get(key);
        if (text === null) continue;
        const like = initial[key];
        if (typeof like === "boolean") (state[key] as boolean) = text === "1";
        else if (typeof like === "string") (state[key] as string) = text;
        else if (/^-?\d{1,16}$/.test(text)) (state[key] as number) = Number(text);
    }
    return state;
}

/* A view's own choices, in `opt`. */
export function getOption(state: ViewState, name: string): string | undefined {
    for (const part of state.opt.split(",")) {
        const colon = part.indexOf(":");
        if (colon <= 0 || part.slice(0, colon) !== name) continue;
        try {
            return decodeURIComponent(part.slice(colon + 1));
        } catch {
            return undefined; /* written by hand, or by somebody who means harm */
        }
    }
    return undefined;
}

/* `opt` with these choices; undefined: taken out. */
export function withOptions(state: ViewState, choices: Record<string, string | undefined>): string {
    const kept = state.opt
        .split(",")
        .filter((part) => part && !(part.slice(0, part.indexOf(":")) in choices));
    for (const [name, value] of Object.entries(choices))
        if (value !== undefined) kept.push(`${name}:${encodeURIComponent(value)}`);
    return kept.join(",");
}
