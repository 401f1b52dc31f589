/* Sizes and lifetimes of the blocks of some call paths, as histograms. The profile keeps
 * distributions of the whole program only, and of a call path the smallest, the largest and the
 * mean. All blocks of a path therefore count in the bin of its mean. */
import type { JSX } from "preact";
import type { Profile } from "../model/profile.ts";
import { breathe, inSlices, type Work } from "../model/slices.ts";
import { bytes, count, duration, exact } from "../model/units.ts";
import { Bars, type Bar } from "../widgets/bars.tsx";

interface Spread {
    low: number;
    high: number;
    blocks: ReadonlyMap<number, number>;
} /* by power of two of the mean */
export interface Spreads {
    sizes: Spread | null;
    lifetimes: Spread | null;
}

/* Sites between two moments at which the work can be left. */
const OFTEN = 0xfff;

/* By site: what is divided by what, and the limits of both. */
interface Measured {
    sum: (site: number) => number;
    times: (site: number) => number;
    low: ArrayLike<number>;
    high: ArrayLike<number>;
}

export function* spread(
    sites: Uint32Array,
    { sum, times, low, high }: Measured,
): Work<Spread | null> {
    const blocks = new Map<number, number>();
    let least = Infinity,
        most = -Infinity;
    for (let at = 0; at < sites.length; at++) {
        if ((at & OFTEN) === OFTEN) yield;
        const site = sites[at]!,
            number = times(site);
        if (!(number > 0)) continue;
        const mean = sum(site) / number,
            bin = mean < 1 ? 0 : 2 ** Math.floor(Math.log2(mean));
        blocks.set(bin, (blocks.get(bin) ?? 0) + number);
        if (low[site]! < least) least = low[site]!;
        if (high[site]! > most) most = high[site]!;
    }
    return blocks.size && most >= least ? { low: least, high: most, blocks } : null;
}

export async function spreadOf(profile: Profile, sites: Uint32Array): Promise<Spreads> {
    const names = [
        "alloc_bytes",
        "realloc_bytes",
        "alloc_count",
        "realloc_count",
        "size_min",
        "size_max",
        "lifetime_sum_ns",
        "free_count",
        "lifetime_min_ns",
        "lifetime_max_ns",
    ];
    if (names.some((name) => !profile.metric(name)?.recorded))
        return { sizes: null, lifetimes: null };
    const columns = await Promise.all(names.map((name) => profile.column(name)));
    const of = (at: number) => columns[at]!;
    const [bytesOf, grown, made, moved] = [of(0), of(1), of(2), of(3)],
        [lived, freed] = [of(6), of(7)];
    await breathe();
    const sizes = spread(sites, {
        sum: (site) => bytesOf[site]! + grown[site]!,
        times: (site) => made[site]! + moved[site]!,
        low: of(4),
        high: of(5),
    });
    const lifetimes = spread(sites, {
        sum: (site) => lived[site]!,
        times: (site) => freed[site]!,
        low: of(8),
        high: of(9),
    });
    return { sizes: await inSlices(sizes), lifetimes: await inSlices(lifetimes) };
}

function barsOf(of: Spread, unit: (value: number) => string): Bar[] {
    const bins = [...of.blocks.keys()].sort((a, b) => a - b),
        bars: Bar[] = [];
    for (let bin = bins[0]!; bin <= bins[bins.length - 1]!; bin = bin ? bin * 2 : 1) {
        const value = of.blocks.get(bin) ?? 0;
        bars.push({
            label: unit(bin),
            value,
            tip: (
                <>
                    from {unit(bin)}: {exact(value, "count")} blocks
                </>
            ),
        });
    }
    return bars;
}

export function SpreadCards({
    of,
    from = "from this line",
}: {
    of: Spreads;
    from?: string;
}): JSX.Element | null {
    if (!of.sizes && !of.lifetimes) return null;
    const part = (
        title: string,
        name: string,
        each: Spread | null,
        unit: (value: number) => string,
    ) =>
        each && (
            <div class="spread-part" {...{ [`data-${name}`]: "" }}>
                <div>
                    <b>{title}</b> {unit(each.low)}
                    {each.high > each.low ? ` to ${unit(each.high)}` : ""}{" "}
                    <span class="dim">(blocks by the mean of their call path)</span>
                </div>
                <Bars
                    name={`line-${name}`}
                    label={`${title} of blocks ${from}`}
                    bars={barsOf(each, unit)}
                    height={74}
                    format={count}
                />
            </div>
        );
    return (
        <div class="spread">
            {part("Sizes", "sizes", of.sizes, bytes)}
            {part("Lifetimes", "lifetimes", of.lifetimes, duration)}
        </div>
    );
}
