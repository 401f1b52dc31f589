/* Numbers as people read them, and exact ones for hovering and copying. The units are those of the
 * text report (src/base/human.c): binary for bytes, three digits at most. */

export type Unit = "bytes" | "count" | "ns" | "ratio" | "share" | "bytes_per_second" | "per_second";

/* null, undefined and NaN are not known. */
export type Known = number | null | undefined;

export const UNKNOWN = "–";

export function isKnown(value: Known): value is number {
    return value !== null && value !== undefined && !Number.isNaN(value);
}

function threeDigits(value: number): string {
    const size = Math.abs(value);
    if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
    return value.toFixed(size >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

function scaled(value: number, step: number, names: readonly string[]): string {
    let at = 0;
    while (Math.abs(value) >= step * 0.9995 && at < names.length - 1) {
        value /= step;
        at++;
    }
    const digits = at === 0 ? threeDigits(Math.round(value)) : threeDigits(value);
    return `${digits}${names[at] ? " " + names[at] : ""}`;
}

export function bytes(value: number): string {
    return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

export function count(value: number): string {
    return scaled(value, 1000, ["", "k", "M", "G", "T"]);
}

export function duration(ns: number): string {
    const size = Math.abs(ns);
    if (size < 1e3) return `${threeDigits(ns)} ns`;
    if (size < 1e6) return `${threeDigits(ns / 1e3)} µs`;
    if (size < 1e9) return `${threeDigits(ns / 1e6)} ms`;
    if (size < 120e9) return `${threeDigits(ns / 1e9)} s`;
    const minutes = ns / 60e9;
    return minutes < 120 ? `${threeDigits(minutes)} min` : `${threeDigits(minutes / 60)} h`;
}

export function share(value: number): string {
    const percent = value * 100;
    if (percent !== 0 && Math.abs(percent) < 0.1) return "< 0.1 %";
    return `${percent.toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
}

export function format(value: Known, unit: Unit): string {
    if (!isKnown(value)) return UNKNOWN;
    switch (unit) {
        case "bytes": return bytes(value);
        case "count": return count(value);
        case "ns": return duration(value);
        case "share": return share(value);
        case "ratio": return threeDigits(value);
        case "bytes_per_second": return `${bytes(value)}/s`;
        case "per_second": return `${count(value)}/s`;
    }
}

/* "12,345,678 B": groups of three, the unit spelled; for titles and for the clipboard. */
export function exact(value: Known, unit: Unit): string {
    if (!isKnown(value)) return "not recorded";
    const digits = Number.isInteger(value)
        ? value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",")
        : String(value);
    const names: Record<Unit, string> = {
        bytes: " B", count: "", ns: " ns", ratio: "", share: "",
        bytes_per_second: " B/s", per_second: " /s",
    };
    return digits + names[unit];
}
