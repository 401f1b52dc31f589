/* The words of the search field, as --filter of the commands has them: a regular expression, or just
 * a part of a name; "!" in front takes what does not match, "function:", "file:" or "module:" behind
 * it says where alone to look. Several, with " & " between them, have to hold together. Letters match
 * in either case. */

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
        return new RegExp(words, "i");
    } catch {
        return null; /* half typed, or no expression at all: a part of a name */
    }
}

function term(words: string): Test | null {
    const not = words.startsWith("!");
    let rest = not ? words.slice(1) : words;
    const alone = places.find(
        (place: Place) => rest.startsWith(`${place}:`) && rest[place.length + 1] !== ":",
    );
    if (alone) rest = rest.slice(alone.length + 1);
    if (!rest) return null;
    const part = rest.toLowerCase(),
        like = expression(rest);
    const has = (text: string | undefined) =>
        !!text && (text.toLowerCase().includes(part) || !!like?.test(text));
    return (of) => (alone ? has(of[alone]) : places.some((place) => has(of[place]))) !== not;
}

/* Null: nothing is searched. */
export function searcher(words: string): Test | null {
    const terms = words
        .split(" & ")
        .map(term)
        .filter((each) => each !== null);
    return terms.length ? (of) => terms.every((each) => each(of)) : null;
}
