/* The separate peaks as the page shows them, by the rules of the text report. Peaks far below
 * the highest, and waves on the way to it, are left out. Shares of one call site are added up. */
import type { Peak } from "../data/types.ts";
import { isKnown } from "./units.ts";

/* The rule of the text report (src/show/report/report_text_time.c): a peak that stands out by less
 * than a tenth of the highest is none that anybody looks for. An overview names the four highest. */
export const least = 0.1;
export const OVERVIEW = 4;

/* Of two equally high peaks the earlier one is higher. */
function isHigher(peaks: readonly Peak[], left: number, right: number): boolean {
    const difference = peaks[left]!.bytes - peaks[right]!.bytes;
    return difference !== 0 ? difference > 0 : left < right;
}

/* The lowest level on the way to the next higher peak. 0: there is no higher one, or the level is
 * not known. */
function saddle(peaks: readonly Peak[], of: number, step: 1 | -1): number {
    let low = peaks[of]!.bytes;
    for (let at = of; peaks[at + step]; at += step) {
        low = Math.min(low, peaks[step > 0 ? at : at - 1]!.valley_bytes ?? 0);
        if (isHigher(peaks, at + step, of)) return low;
    }
    return 0;
}

/* By how much a peak stands out: from the higher one of its two saddles to its top. */
export function prominence(peaks: readonly Peak[], of: number): number {
    return peaks[of]!.bytes - Math.max(saddle(peaks, of, -1), saddle(peaks, of, 1));
}

export function notable(peaks: readonly Peak[]): Peak[] {
    const most = peaks.reduce((best, peak) => Math.max(best, peak.bytes), 0);
    return peaks.filter((_, at) => prominence(peaks, at) >= least * most);
}

/* The highest of the notable ones, in order of time; of equally high ones the earlier. */
export function highest(peaks: readonly Peak[], count = OVERVIEW): Peak[] {
    const found = notable(peaks),
        chosen = new Set([...found].sort((a, b) => b.bytes - a.bytes).slice(0, count));
    return found.filter((peak) => chosen.has(peak));
}

type Share = NonNullable<Peak["shares"]>[number];

/* Most bytes first; the path of each is that of its largest. Those without a name stay apart: which
 * function it is nobody knows. */
export function holders(peak: Peak): Share[] {
    const found = new Map<string, Share>();
    (peak.shares ?? []).forEach((share, at) => {
        const key =
            share.function === undefined
                ? `#${at}`
                : [share.function, share.file, share.line, share.module].join("\n");
        const before = found.get(key);
        if (!before) found.set(key, share);
        else
            found.set(key, {
                ...(before.bytes >= share.bytes ? before : share),
                bytes: before.bytes + share.bytes,
            });
    });
    return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

/* What is said in place of holders: that nobody held anything only where the whole is known, which
 * it is not of a heap that jemalloc has written: that says nothing of the peak. */
export function noHolders(
    state: "waiting" | "there" | "failed",
    whole: number | null | undefined,
): string {
    if (state === "waiting") return "Being added up…";
    return state === "there" && isKnown(whole) ? "Nobody held anything." : "Not known.";
}
