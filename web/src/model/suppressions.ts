/* Reads lists of known leaks: LeakSanitizer's `leak:PATTERN` and valgrind's suppression blocks.
 * LeakSanitizer's pattern suppresses a call path when any frame's function, file or module fits.
 * valgrind's frames have to fit from the innermost outwards; "..." stands for any number of
 * frames. */

import { allocators } from "./allocators.ts";

export interface Suppression {
    text: string;
    matches: (frames: readonly Frame[]) => boolean;
}
export interface Frame {
    name: string;
    file: string;
    module: string;
}

function glob(pattern: string, begins = true, ends = true): RegExp {
    const body = pattern
        .slice(0, 2000)
        .replace(/[.+^${}()|[\]\\]/g, "\\$&")
        .replaceAll("*", ".*")
        .replaceAll("?", ".");
    return new RegExp(`${begins ? "^" : ""}${body}${ends ? "$" : ""}`, "s");
}

function lsan(pattern: string): Suppression {
    const expression = glob(
        pattern.replace(/^\^/, "").replace(/\$$/, ""),
        pattern.startsWith("^"),
        pattern.endsWith("$"),
    );
    return {
        text: `leak:${pattern}`,
        matches: (frames) =>
            frames.some(
                (frame) =>
                    expression.test(frame.name) ||
                    expression.test(frame.file) ||
                    expression.test(frame.module),
            ),
    };
}

interface Step {
    any?: true;
    fun?: RegExp;
    obj?: RegExp;
    isAllocator?: boolean;
}

function functionStep(pattern: string): Step {
    const fun = glob(pattern);
    const isAllocator =
        pattern.startsWith("operator new") || allocators.some((name) => fun.test(name));
    return { fun, isAllocator };
}

function follows(steps: readonly Step[], frames: readonly Frame[]): boolean {
    /* reached[s]: the first s steps fit the frames so far. Our paths begin where malloc was
     * called. */
    let reached = new Set([0]);
    for (let at = 0; steps[at]?.isAllocator; at++) reached.add(at + 1);
    const skip = (set: Set<number>) => {
        for (const at of set) if (steps[at]?.any) set.add(at + 1);
        return set;
    };
    skip(reached);
    for (const frame of frames) {
        if (reached.has(steps.length)) return true; /* the rest of the path does not matter */
        const next = new Set<number>();
        for (const at of reached) {
            const step = steps[at];
            if (!step) continue;
            if (step.any) next.add(at);
            else if (step.fun?.test(frame.name) || step.obj?.test(frame.module)) next.add(at + 1);
        }
        reached = skip(next);
    }
    return reached.has(steps.length);
}

function valgrind(lines: readonly string[]): Suppression | null {
    const kind = lines[1] ?? "";
    if (!/:Leak$/.test(kind)) return null;
    const steps = lines
        .slice(2)
        .flatMap((line): Step[] =>
            line === "..."
                ? [{ any: true }]
                : line.startsWith("fun:")
                  ? [functionStep(line.slice(4))]
                  : line.startsWith("obj:")
                    ? [{ obj: glob(line.slice(4)) }]
                    : [],
        );
    return steps.length
        ? { text: lines[0] ?? "", matches: (frames) => follows(steps, frames) }
        : null;
}

/* What cannot be understood is told by line. */
export function parseSuppressions(text: string): { list: Suppression[]; errors: string[] } {
    const list: Suppression[] = [],
        errors: string[] = [];
    const lines = text.split(/\r?\n/).map((line) => line.trim());
    for (let at = 0; at < lines.length; at++) {
        const line = lines[at]!;
        if (!line || line.startsWith("#")) continue;
        if (line.startsWith("leak:") && line.length > 5) list.push(lsan(line.slice(5)));
        else if (line === "{") {
            const end = lines.indexOf("}", at);
            if (end < 0) {
                errors.push(`line ${at + 1}: the block is not closed`);
                break;
            }
            const made = valgrind(lines.slice(at + 1, end).filter(Boolean));
            if (made) list.push(made);
            at = end;
        } else errors.push(`line ${at + 1}: neither “leak:PATTERN” nor a valgrind block`);
    }
    return { list, errors };
}
