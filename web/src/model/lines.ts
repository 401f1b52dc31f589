/* Sums of a metric by source line and by file, with the rules of
 * src/analysis/aggregate/source_lines.h. A call path counts once for a line, however often the
 * line occurs in it. The line of the path's listed frame counts the path as its own. */
import type { CallTree } from "./profile.ts";
import type { Work } from "./slices.ts";
import type { Wanted } from "./tree.ts";

export interface LineSums {
    inclusive: Float64Array; /* by group */
    exclusive: Float64Array;
    filesInclusive: Float64Array; /* by file + 1 */
    filesExclusive: Float64Array;
}

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
    }

    /* Sums by group and by file, of a line itself and with all below it. */
    *sums(column: ArrayLike<number>, wanted: Wanted, hide: boolean): Work<LineSums> {
        const { passes, names } = this.#of;
        const byLine = [this.groups, this.groupCount] as const,
            byFile = [this.fileGroups, names.fileCount + 1] as const;
        yield* passes.expectInSlices([byLine, byFile], false);
        return {
            inclusive: yield* passes.inclusiveByInSlices(...byLine, column, wanted),
            exclusive: yield* passes.exclusiveByInSlices(...byLine, column, wanted, hide),
            filesInclusive: yield* passes.inclusiveByInSlices(...byFile, column, wanted),
            filesExclusive: yield* passes.exclusiveByInSlices(...byFile, column, wanted, hide),
        };
    }
    /* By site: does its path come by this line? */
    *sitesThrough(group: number): Work<Uint8Array> {
        const { nodeCount, parent, code, codeFirstLine, codeLineCount, siteNode } = this.#of.tree;
        const inside = new Uint8Array(nodeCount);
        for (let node = 1; node < nodeCount; node++) {
            if ((node & 0x3fff) === 0) yield;
            inside[node] = inside[parent[node]!]!;
            const first = codeFirstLine[code[node]!]!;
            for (let i = codeLineCount[code[node]!]! - 1; i >= 0 && !inside[node]; i--)
                inside[node] = this.groups[first + i] === group ? 1 : 0;
        }
        const sites = new Uint8Array(siteNode.length);
        yield;
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
