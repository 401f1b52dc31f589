/* A list of which the first few are shown: how many more there are, what these have together, and a button that
 * shows them. What is shown stands in the address. */
import type { JSX } from "preact";
import { exact } from "../model/units.ts";
import { go, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";

const LONGEST = 2000; /* rows in a document */

/* Names of lists that are shown whole, as the option "all" has them. */
const namesIn = (opt: string | undefined): string[] => (opt ?? "").split(".").filter(Boolean);

export interface Short<T> {
    shown: readonly T[];
    more: JSX.Element | null;
}

/* `together`: what the rows that are not shown have in all, in words. */
export function shortList<T>(
    name: string,
    list: readonly T[],
    most: number,
    together: (rest: readonly T[]) => string = () => "",
): Short<T> {
    if (list.length <= most) return { shown: list, more: null };
    const whole = namesIn(getOption(state.value, "all")),
        isWhole = whole.includes(name);
    const turn = () => {
        const names = isWhole ? whole.filter((each) => each !== name) : [...whole, name];
        go({ opt: withOptions(state.value, { all: names.join(".") || undefined }) }, "replace");
    };
    const shown = list.slice(0, isWhole ? LONGEST : most),
        rest = list.slice(shown.length),
        sum = rest.length ? together(rest) : "";
    return {
        shown,
        more: (
            <p class="dim tight" data-more={name}>
                {rest.length > 0 && `${exact(rest.length, "count")} more${sum && `: ${sum}`} `}
                <button type="button" class="plain" onClick={turn}>
                    {isWhole ? `the first ${most} alone` : "show all"}
                </button>
            </p>
        ),
    };
}
