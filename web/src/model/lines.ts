/* Sums of a metric by source line and by file, with the rules of
 * src/analysis/aggregate/source_lines.h. A call path counts once for a line, however often the
 * line occurs in it. The line of the path's listed frame counts the path as its own. */
import type { CallTree } from "./profile.ts";
import type { Wanted } from "./tree.ts";

export class Lines {
    readonly #of: CallTree;
    readonly groups: Uint32Array; /* by line of the tree: group; 0: no file */
    readonly file: Int32Array; /* by group */
    readonly number: Uint32Array; /* by group */
    readonly groupCount: number;
    readonly fileGroups: Uint32Array; /* by line of the tree: file + 1; 0: none */

    constructor(of: CallTree) {
        this.#of = of;
        const { lineFile, lineNumber } = of.tree;
        this.groups = new Uint32Array(lineFile.length);
        this.fileGroups = new Uint32Array(lineFile.length);
        const ids = new Map<number, number>();
        const files = [-1],
            numbers = [0];
        for (let line = 0; line < lineFile.length; line++) {
            this.fileGroups[line] = lineFile[line]! + 1;
            if (lineFile[line]! < 0) continue;
            const key = lineFile[line]! * 2 ** 24 + Math.min(lineNumber[line]!, 2 ** 24 - 1);
            let id = ids.get(key);
            if (id === undefined) {
                ids.set(key, (id = files.length));
                files.push(lineFile[line]!);
                numbers.push(lineNumber[line]!);
            }
            this.groups[line] = id;
        }
        this.file = Int32Array.from(files);
        this.number = Uint32Array.from(numbers);
        this.groupCount = files.length;
        of.passes.expect(
            [
                [this.groups, this.groupCount],
                [this.fileGroups, of.names.fileCount + 1],
            ],
            false,
        );
    }

    inclusive(column: ArrayLike<number>, wanted: Wanted): Float64Array {
        return this.#of.passes.inclusiveBy(this.groups, this.groupCount, column, wanted);
    }
    exclusive(column: ArrayLike<number>, wanted: Wanted, hide: boolean): Float64Array {
        return this.#sum(this.groups, this.groupCount, column, wanted, hide);
    }
    filesInclusive(column: ArrayLike<number>, wanted: Wanted): Float64Array {
        return this.#of.passes.inclusiveBy(
            this.fileGroups,
            this.#of.names.fileCount + 1,
            column,
            wanted,
        );
    }
    filesExclusive(column: ArrayLike<number>, wanted: Wanted, hide: boolean): Float64Array {
        return this.#sum(this.fileGroups, this.#of.names.fileCount + 1, column, wanted, hide);
    }
    #sum(
        groups: Uint32Array,
        count: number,
        column: ArrayLike<number>,
        wanted: Wanted,
        hide: boolean,
    ): Float64Array {
        const sums = new Float64Array(count);
        const lines = this.#of.passes.exclusiveLines(hide);
        for (let site = 0; site < lines.length; site++)
            if (!wanted || wanted[site]) sums[groups[lines[site]!]!]! += column[site]!;
        return sums;
    }

    /* By site: does its path come by this line? */
    sitesThrough(group: number): Uint8Array {
        const { nodeCount, parent, code, codeFirstLine, codeLineCount, siteNode } = this.#of.tree;
        const inside = new Uint8Array(nodeCount);
        for (let node = 1; node < nodeCount; node++) {
            inside[node] = inside[parent[node]!]!;
            const first = codeFirstLine[code[node]!]!;
            for (let i = codeLineCount[code[node]!]! - 1; i >= 0 && !inside[node]; i--)
                inside[node] = this.groups[first + i] === group ? 1 : 0;
        }
        const sites = new Uint8Array(siteNode.length);
        for (let site = 0; site < sites.length; site++) sites[site] = inside[siteNode[site]!]!;
        return sites;
    }
}

const known = new WeakMap<CallTree, Lines>();
export function linesOf(of: CallTree): Lines {
    let lines = known.get(of);
    if (!lines) known.set(of, (lines = new Lines(of)));
    return lines;
}
