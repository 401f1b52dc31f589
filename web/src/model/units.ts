/* Numbers as people read them, and exact numbers for titles and the clipboard. The rules are
 * those of the text report (src/common/base/human.c). Both implementations are tested against one
 * table, tests/unit/common/base/human.tsv. */

export type Unit = "bytes" | "count" | "ns" | "ratio" | "share" | "bytes_per_second" | "per_second";

/* null, undefined and NaN are not known. */
export type Known = number | null | undefined;

export const UNKNOWN = "–";

/* Before a figure, wherever people read it: a minus, which a hyphen is too short for. */
function signOf(value: number): string {
    return value < 0 ? "−" : "";
}

export function isKnown(value: Known): value is number {
    return value !== null && value !== undefined && !Number.isNaN(value);
}

/* Cut and not rounded, so that 1023.99 KiB never reads as 1 MiB. */
function threeDigits(value: number): string {
    const size = Math.abs(value),
        places = size >= 100 ? 0 : size >= 10 ? 1 : 2,
        power = 10 ** places;
    return `${signOf(value)}${(Math.floor(size * power + 1e-9) / power).toFixed(places)}`;
}

function scaled(value: number, step: number, names: readonly string[]): string {
    let at = 0;
    while (Math.abs(value) >= step && at < names.length - 1) {
        value /= step;
        at++;
    }
    return `${threeDigits(value)} ${names[at]}`;
}

/* What is cut of a byte, a nanosecond, or a second of hours is less than a digit. */
function whole(value: number): string {
    return `${signOf(Math.trunc(value))}${Math.trunc(Math.abs(value))}`;
}

export function bytes(value: number): string {
    return Math.abs(value) < 1024
        ? `${whole(value)} B`
        : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
}

/* Counts are exact while they are short; means of them and rates may be fractions. */
export function count(value: number): string {
    if (Math.abs(value) >= 10000) return scaled(value, 1000, ["", "k", "M", "G", "T", "P", "E"]);
    return Number.isInteger(value) || Math.abs(value) >= 100
        ? grouped(Math.trunc(value))
        : threeDigits(value);
}

export function duration(ns: number): string {
    const seconds = Math.floor(Math.abs(ns) / 1e9),
        sign = signOf(ns);
    const two = (value: number): string => value.toString().padStart(2, "0");
    if (seconds >= 3600)
        return `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
    if (seconds >= 60) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
    return Math.abs(ns) < 1000 ? `${whole(ns)} ns` : scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
}

/* Never 0 of something, and never all where a part is missing. */
export function share(value: number): string {
    const percent = 100 * Math.abs(value),
        sign = signOf(value);
    if (percent > 0 && percent < 0.05) return `${sign}<0.1 %`;
    if (percent >= 99.95) return percent < 100 ? `${sign}99.9 %` : `${sign}${percent.toFixed(0)} %`;
    return `${sign}${percent.toFixed(1)} %`;
}

/* "12.3 %", and from 200 % on "2.7 times": of what may be more than that which it is measured by. */
export const times = (value: number): string =>
    value < 1.995 ? share(value) : `${value.toFixed(value < 9.95 ? 1 : 0)} times`;

/* For the axes of charts: "4 MiB" for "4.00 MiB". */
export function onAxis(text: string): string {
    return text.replace(/(\d)\.0+(?=\D|$)|(\.\d*?[1-9])0+(?=\D|$)/, "$1$2");
}

function grouped(value: number): string {
    return (
        signOf(value) +
        Math.abs(value)
            .toString()
            .replace(/\B(?=(\d{3})+(?!\d))/g, ",")
    );
}

export function format(value: Known, unit: Unit): string {
    if (!isKnown(value)) return UNKNOWN;
    switch (unit) {
        case "bytes":
            return bytes(value);
        case "count":
            return count(value);
        case "ns":
            return duration(value);
        case "share":
            return share(value);
        case "ratio":
            return threeDigits(value);
        case "bytes_per_second":
            return `${bytes(value)}/s`;
        case "per_second":
            return `${count(value)}/s`;
    }
}

/* What grew, shrank, or did neither. */
export function signed(value: Known, unit: Unit): string {
    if (!isKnown(value)) return UNKNOWN;
    return `${value > 0 ? "+" : value < 0 ? "" : "±"}${format(value, unit)}`;
}

/* "12,345,678 B": groups of three, the unit spelled; for titles and for the clipboard. */
export function exact(value: Known, unit: Unit): string {
    if (!isKnown(value)) return "not recorded";
    const digits = Number.isInteger(value) ? grouped(value) : `${signOf(value)}${Math.abs(value)}`;
    const names: Record<Unit, string> = {
        bytes: " B",
        count: "",
        ns: " ns",
        ratio: "",
        share: "",
        bytes_per_second: " B/s",
        per_second: " /s",
    };
    return digits + names[unit];
}
