/* Which functions of two recordings are the same. The rule is that of src/analysis/diff/identity.c;
 * web/e2e/figures.mjs compares the figures of both sides. The rule is here and not on the server,
 * because the server keeps no pair of profiles in memory, and a single file would need every
 * pair. */
import { baseName, type CallTree } from "./profile.ts";

/* Clones are their function: "f(int) [clone .constprop.0]", "f.part.0". */
export function withoutClones(name: string): string {
    const clone = name.indexOf(" [clone ");
    if (clone >= 0) name = name.slice(0, clone);
    for (;;) {
        const shorter = name.replace(
            /(?<=.)\.(?:constprop|part|isra|cold|lto_priv|llvm|localalias)(?:\.[0-9]+)?$/s,
            "",
        );
        if (shorter === name) return name;
        name = shorter;
    }
}

/* "/usr/lib/libstdc++.so.6.0.33" → "libstdc++.so" */
export function withoutVersion(path: string): string {
    const name = baseName(path),
        so = name.indexOf(".so.");
    const unversioned = so < 0 ? name : name.slice(0, so + 3);
    const dash = unversioned.indexOf("-");
    return dash >= 0 &&
        /[0-9]/.test(unversioned[dash + 1] ?? "") &&
        unversioned.length > 3 &&
        unversioned.endsWith(".so")
        ? `${unversioned.slice(0, dash)}.so`
        : unversioned;
}

export interface Side {
    tree: CallTree;
    executable: string;
}
export interface Identities {
    names: string[]; /* by identity */
    files: string[]; /* likewise: what tells apart several of one name; "": there is one */
    byKey: [Uint32Array, Uint32Array]; /* of each side */
    byLine: [Uint32Array, Uint32Array];
}

/* Names that one side has in several files. */
function addAmbiguous(ambiguous: Set<string>, { tree: { names } }: Side): void {
    const seen = new Map<string, string>();
    for (let key = 1; key < names.functionCount; key++) {
        const file = names.file(names.fileOfKey(key));
        if (!file) continue;
        const name = withoutClones(names.ofKey(key)),
            base = baseName(file),
            known = seen.get(name);
        if (known !== undefined && known !== base) ambiguous.add(name);
        seen.set(name, base);
    }
}

function distinct(
    { tree: { names }, executable }: Side,
    key: number,
    ambiguous: ReadonlySet<string>,
): [string, string] {
    if (names.isUnnamed(key)) {
        /* addresses say nothing in another build: all such code of a module is one */
        const path = names.module(names.moduleOfKey(key)) ?? "?";
        return [path === executable ? "[the program]" : `[${withoutVersion(path)}]`, ""];
    }
    if (key >= names.functionCount) return [names.ofKey(key), ""];
    const name = withoutClones(names.ofKey(key));
    return [
        name,
        key && ambiguous.has(name) ? baseName(names.file(names.fileOfKey(key)) ?? "") : "",
    ];
}

export function identify(before: Side, after: Side): Identities {
    const ambiguous = new Set<string>(),
        numbers = new Map<string, number>(),
        names: string[] = [],
        files: string[] = [];
    for (const side of [before, after]) addAmbiguous(ambiguous, side);
    const number = (side: Side) =>
        Uint32Array.from({ length: side.tree.tree.keyCount }, (_, key) => {
            const [name, file] = distinct(side, key, ambiguous),
                whole = `${name}\n${file}`;
            let known = numbers.get(whole);
            if (known === undefined) {
                numbers.set(whole, (known = names.length));
                names.push(name);
                files.push(file);
            }
            return known;
        });
    const byKey: [Uint32Array, Uint32Array] = [number(before), number(after)];
    const ofLines = (side: Side, keys: Uint32Array) =>
        side.tree.tree.lineKey.map((key) => keys[key]!);
    return { names, files, byKey, byLine: [ofLines(before, byKey[0]), ofLines(after, byKey[1])] };
}

/* The last pairs that were asked for: passes over the trees keep what they know by these very
 * arrays. */
const kept = new WeakMap<CallTree, WeakMap<CallTree, Identities>>();
export function identities(before: Side, after: Side): Identities {
    let others = kept.get(before.tree);
    if (!others) kept.set(before.tree, (others = new WeakMap()));
    let known = others.get(after.tree);
    if (!known) others.set(after.tree, (known = identify(before, after)));
    return known;
}
