/* What tells rows of Held by apart that read the same: a caller of their call paths, as the command has it.
 * The call tree is asked for only where there are such rows. */
import { alikeOf, callersApart, type Placed } from "../model/held.ts";
import { fileName, ownLines, type CallTree, type Profile } from "../model/profile.ts";
import { useLoaded } from "../widgets/states.tsx";

export type Apart = ReadonlyMap<number, string>; /* by number of a row */
const none: Apart = new Map();

function callersOf(of: CallTree, node: number): string[] {
    if (node >= of.tree.nodeCount) return [];
    const { names } = of;
    return ownLines(of, node)
        .slice(1)
        .map((line) => `${names.shortOfLine(line)} ${fileName(names.place(line))}`.trim());
}

export function useApart(profile: Profile, rows: readonly Placed[]): Apart {
    const loaded = useLoaded(async () => {
        if (!alikeOf(rows).length || !profile.has("sites") || profile.level === "resident")
            return none;
        const of = await profile.callTree();
        return callersApart(rows, (node) => callersOf(of, node));
    }, [profile, rows]);
    return loaded.state === "there" ? loaded.value : none;
}

/* What a row is called, where it is searched for and saved. */
export const saidApart = (row: { id: number; says: string }, apart: Apart): string =>
    apart.has(row.id) ? `${row.says} ↑ ${apart.get(row.id)}` : row.says;
