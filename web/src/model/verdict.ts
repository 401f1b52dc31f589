/* The verdict of `tidemark leaks` (src/analysis/leaks/leaks_text.c): what the last look that followed
 * all pointers found. Null: no look did, and what is lost is not known. */
import type { Sample } from "../data/types.ts";
import { bytes, exact } from "./units.ts";

export interface Verdict {
    bytes: number; /* lost, and what hangs below it */
    count: number;
    sentence: string;
    rest: string[];
}

function classOf(size: number | null | undefined, count: number | null | undefined, words: string) {
    return count ? [`${bytes(size ?? 0)} in ${exact(count, "count")} ${words}`] : [];
}

export function verdictOf(samples: readonly Sample[]): Verdict | null {
    const sample = samples.findLast((each) => typeof each.lost_count === "number");
    if (!sample) return null;
    const count = (sample.lost_count ?? 0) + (sample.indirect_count ?? 0),
        lost = (sample.lost_bytes ?? 0) + (sample.indirect_bytes ?? 0);
    const blocks = `${exact(count, "count")} ${count === 1 ? "block is" : "blocks are"} lost`;
    return {
        bytes: lost,
        count,
        sentence: count
            ? `${bytes(lost)} in ${blocks}: no pointer leads to ${count === 1 ? "it" : "them"} any more`
            : "nothing is lost",
        rest: [
            ...classOf(sample.possible_bytes, sample.possible_count, "possibly lost"),
            ...classOf(sample.reachable_bytes, sample.reachable_count, "still reachable"),
        ],
    };
}
