/* The separate peaks as the page shows them, by the rules of the text report. Peaks far below
 * the highest are left out. Shares of one call site are added up. */
import type { Peak } from "../data/types.ts";

/* The rule of the text report (src/show/report/report_text_time.c): what is less than a tenth of the
 * highest is no peak that anybody looks for, and an overview names the four highest. The recorder
 * separates peaks by a fall of an eighth, so that each has that prominence at least. */
export const least = 0.1;
export const OVERVIEW = 4;

export function notable(peaks: readonly Peak[]): Peak[] {
    const most = peaks.reduce((best, peak) => Math.max(best, peak.bytes), 0);
    return peaks.filter((peak) => peak.bytes >= least * most);
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
