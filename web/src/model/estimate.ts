/* How sure the figures of a sampled profile are, in the words of the text report
 * (src/analysis/aggregate/estimate.c). The error follows from the variance that the profile
 * records beside each sum. */
import type { Profile } from "./profile.ts";
import { bytes } from "./units.ts";

/* Bytes that hold the truth on either side, with 95 % probability. Variances are in (interval)² /
 * 1024. */
export function errorOf(intervalBytes: number, variance: number): number {
    return Math.floor(1.96 * intervalBytes * Math.sqrt(variance / 1024) + 0.5);
}

/* "±1.45 MiB"; of so few samples that an error would say too much their number. */
export function errorText(intervalBytes: number, value: number, variance: number): string {
    const samples =
        variance && value ? value ** 2 / (intervalBytes ** 2 * (variance / 1024)) : Infinity;
    if (samples < 1.5) return "1 sample";
    return samples < 3.5
        ? `${samples.toFixed(0)} samples`
        : `±${bytes(errorOf(intervalBytes, variance))}`;
}

export const sureHint = "The truth lies within, with 95 % probability: this profile is a sample";

/* How sure a sum of a metric is, of which `variance` is the sum of that metric's variance; "": it
 * is no estimate, or nothing. */
export function sureTo(profile: Profile, metric: string, value: number, variance: number): string {
    return value && varianceOf(profile, metric)
        ? errorText(profile.summary.sampled!.interval_bytes, value, variance || 0)
        : "";
}

/* The metric that is the variance of another, where the profile is a sample. */
export function varianceOf(profile: Profile, metric: string): string | null {
    const name = profile.summary.sampled ? profile.metric(metric)?.variance : null;
    return name && profile.metric(name)?.recorded ? name : null;
}
