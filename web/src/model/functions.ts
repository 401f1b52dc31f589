/* Makes the rows of the list of functions. Each row holds every metric that is asked for,
 * exclusive or inclusive. The sums over the call tree are made by TreePasses (tree.ts). */
import { derive, type CallTree, type Profile } from "./profile.ts";
import { breathe, inSlices } from "./slices.ts";
import type { Wanted } from "./tree.ts";

export interface FunctionRow {
    key: number;
    name: string;
    file: string;
    module: string;
    through: string; /* the wrapper that all of its call paths asked through; "": none */
    values: Record<string, number>; /* by metric or derived figure; NaN: not known */
}

/* `more`: columns that are not the profile's own. */
async function sums(
    profile: Profile,
    of: CallTree,
    metric: string,
    wanted: Wanted,
    inclusive: boolean,
    hide: boolean,
    more: ReadonlyMap<string, Float64Array>,
): Promise<Float64Array> {
    const column = more.get(metric) ?? (await profile.column(metric));
    await breathe();
    return inSlices(
        inclusive
            ? of.passes.inclusiveByKeyInSlices(column, wanted, hide)
            : of.passes.exclusiveByKeyInSlices(column, wanted, hide),
    );
}

/* Functions with anything of any of the columns. */
export async function functionRows(
    profile: Profile,
    of: CallTree,
    columns: readonly string[],
    wanted: Wanted,
    inclusive: boolean,
    hide: boolean,
    more: ReadonlyMap<string, Float64Array> = new Map(),
): Promise<FunctionRow[]> {
    const needed = new Set<string>();
    for (const name of columns) {
        const derived = profile.derived(name);
        if (derived) for (const part of [...derived.of, ...(derived.by ?? [])]) needed.add(part);
        else needed.add(name);
    }
    /* all on their way at once */
    await Promise.all(
        [...needed]
            .filter((name) => !more.has(name) && profile.metric(name)?.recorded)
            .map((name) => profile.column(name)),
    );
    const byMetric = new Map<string, Float64Array>();
    for (const name of needed)
        if (more.has(name) || profile.metric(name)?.recorded)
            byMetric.set(name, await sums(profile, of, name, wanted, inclusive, hide, more));
    const rows: FunctionRow[] = [],
        wrappers = inclusive ? null : await inSlices(of.passes.wrapperLinesInSlices(hide));
    for (let key = 0; key < of.tree.keyCount; key++) {
        if ((key & 0x7ff) === 0) await breathe();
        let any = false;
        for (const values of byMetric.values()) if (values[key]) any = true;
        if (!any) continue;
        const sum = (metric: string) => byMetric.get(metric)?.[key] ?? NaN;
        const values: Record<string, number> = {};
        for (const name of columns) {
            const derived = profile.derived(name);
            values[name] = derived ? derive(derived, sum, profile.durationNs) : sum(name);
        }
        rows.push({
            key,
            name: of.names.ofKey(key),
            file: of.names.file(of.names.fileOfKey(key)) ?? "",
            module: of.names.module(of.names.moduleOfKey(key)) ?? "",
            through: wrappers && wrappers[key]! >= 0 ? of.names.shortOfLine(wrappers[key]!) : "",
            values,
        });
    }
    return rows;
}
