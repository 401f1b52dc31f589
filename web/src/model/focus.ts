/* What a focus is, by names. A link holds places in a profile's tables (`fn`, `node`), which mean
 * something else in another recording, and `at`, the names that stood there:
 *
 *   FUNCTION.FILE~PATH~LINES    FUNCTION  the name, in two marks: among 100,000 no two are one
 *                               FILE      where it is: tells apart static functions of one name
 *                               PATH      the names of the call path's frames, "a.b.c"
 *                               LINES     the same frames with their lines: tells apart calls
 *
 * By it the places are found again, or it is said that they are gone. */
import { nameMark } from "./flame.ts";
import { baseName, type CallTree } from "./profile.ts";

export interface Focus {
    fn: number; /* a function key; -1: none */
    node: number; /* a call path; -1: none */
    at: string;
}

const DEEPEST = 600; /* frames of a path in an address */

/* ---- Functions ---- */

/* A function's name in an address. */
export const functionMark = (name: string) => nameMark(name) + "-" + nameMark(`\n${name}`);

/* The same, and where it is: its file, or else its module. */
export const placedMark = (name: string, place: string) =>
    `${functionMark(name)}.${place ? nameMark(baseName(place)) : ""}`;

/* Where a function is; "": not known. */
export const placeOfKey = ({ names }: CallTree, key: number): string =>
    names.file(names.fileOfKey(key)) ?? names.module(names.moduleOfKey(key)) ?? "";

function placeMark(of: CallTree, key: number): string {
    const place = placeOfKey(of, key);
    return place ? nameMark(baseName(place)) : "";
}

/* A function in a view's own choices, where a "." is between several; those of old links have no place. */
export const choiceMark = (name: string, place: string) =>
    placedMark(name, place).replace(".", "_");
export const keyOfChoice = (of: CallTree, mark: string): number =>
    keyOf(of, -1, mark.replace("_", "."));

function keyAddress(of: CallTree, key: number): string {
    if (key < 0 || key >= of.tree.keyCount) return "";
    return `${functionMark(of.names.ofKey(key))}.${placeMark(of, key)}`;
}

/* The key of a function's address; -1: there is none of its name. Of several that of its file. */
function keyOf(of: CallTree, fn: number, wanted: string): number {
    const [name = "", place = ""] = wanted.split(".");
    const first = name.split("-")[0];
    const is = (key: number) => {
        const called = of.names.ofKey(key);
        return nameMark(called) === first && functionMark(called) === name;
    };
    if (fn < of.tree.keyCount && is(fn) && placeMark(of, fn) === place) return fn;
    let best = -1;
    for (let key = 0; key < of.tree.keyCount; key++) {
        if (!is(key)) continue;
        if (placeMark(of, key) === place) return key;
        if (best < 0) best = key;
    }
    return best;
}

/* ---- Call paths ---- */

const innermost = ({ tree }: CallTree, node: number) => tree.codeFirstLine[tree.code[node]!]!;

/* Marks of the names of lines; each is made once. */
function marker({ names }: CallTree): (line: number) => string {
    const known = new Map<number, string>();
    return (line) => {
        let mark = known.get(line);
        if (mark === undefined) known.set(line, (mark = nameMark(names.ofLine(line))));
        return mark;
    };
}

function linesMark(of: CallTree, node: number): string {
    const lines: number[] = [];
    for (let up = node; up > 0; up = of.tree.parent[up]!)
        lines.push(of.tree.lineNumber[innermost(of, up)]!);
    return nameMark(lines.join("."));
}

/* "PATH~LINES"; "": it is too deep for an address. */
function pathAddress(of: CallTree, node: number, mark: (line: number) => string): string {
    if (node <= 0 || node >= of.tree.nodeCount) return "";
    const marks: string[] = [];
    for (let up = node; up > 0; up = of.tree.parent[up]!) marks.push(mark(innermost(of, up)));
    if (marks.length > DEEPEST) return "";
    return `${marks.reverse().join(".")}~${linesMark(of, node)}`;
}

/* The node of a path, or the nearest of its callers that there is; 0: none. `whole`: it is the path,
 * not one of several that are called the same and of which none has its lines. */
function nodeOf(
    of: CallTree,
    node: number,
    path: string,
    lines: string,
): { node: number; whole: boolean } {
    const { parent, nodeCount } = of.tree,
        mark = marker(of),
        wanted = path.split(".");
    if (node < nodeCount && pathAddress(of, node, mark) === `${path}~${lines}`)
        return { node, whole: true };
    /* by node: how many names fit up to here; -1: not all do */
    const depth = new Int32Array(nodeCount).fill(-1);
    depth[0] = 0;
    let best = 0,
        alike = 0;
    for (let next = 1; next < nodeCount; next++) {
        const above = depth[parent[next]!]!;
        if (above < 0 || above >= wanted.length) continue;
        if (mark(innermost(of, next)) !== wanted[above]) continue;
        depth[next] = above + 1;
        if (depth[next]! > depth[best]!) best = next;
        if (depth[next] !== wanted.length) continue;
        if (linesMark(of, next) === lines) return { node: next, whole: true };
        alike++;
    }
    return { node: best, whole: alike === 1 };
}

/* ---- Both ---- */

/* The address of a focus; "": there is none, or its path is too deep for one. */
export function focusAddress(of: CallTree, fn: number, node: number): string {
    const key = keyAddress(of, fn),
        path = pathAddress(of, node, marker(of));
    if (node > 0 && !path) return "";
    return key || path ? `${key}~${path}` : "";
}

/* The focus in this profile. `gone`: something of it is not there. */
export function findFocus(of: CallTree, { fn, node, at }: Focus): Focus & { gone: boolean } {
    const [key = "", path = "", lines = ""] = at.split("~");
    let gone = false;
    if (fn >= 0 && key) {
        fn = keyOf(of, fn, key);
        gone = fn < 0;
    } else if (fn >= of.tree.keyCount) {
        fn = -1;
        gone = true;
    }
    if (node > 0 && path) {
        const found = nodeOf(of, node, path, lines);
        node = found.node || -1;
        gone ||= !found.whole;
    } else if (node >= of.tree.nodeCount) {
        node = -1;
        gone = true;
    }
    return { fn, node, at: focusAddress(of, fn, node), gone };
}
