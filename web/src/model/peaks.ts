/* The separate peaks as the page shows them, by the rules of the text report. Peaks far below
 * the highest are left out. Shares of one call site are added up. */
import type { Peak } from "../data/types.ts";

/* Less than this of the highest is no peak that anybody looks for: the text report's rule
 * (src/show/report/report_text_time.c). */
export const least = 0.01;

export function notable(peaks: readonly Peak[]): Peak[] {
    const most = peaks.reduce((best, peak) => Math.max(best, peak.bytes), 0);
    return peaks.filter((peak) => peak.bytes >= least * most);
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
