/* Reallocations: from which size to which, by how much at a time, moved or in place. A heat map has
 * the sizes before and after, and tables have how often each step was made. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { bytes, count, exact, format, isKnown, share } from "../model/units.ts";
import { link } from "../state/state.ts";
import { HeatMap } from "../widgets/bars.tsx";
import { cannotHave, Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { shortList } from "../widgets/more.tsx";
import {
    coarse,
    heatCells,
    isOthers,
    loadDistributions,
    type Distributions,
    type Row,
} from "./sizes.tsx";
import type { ViewProps } from "./registry.ts";

export function ReallocView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(() => loadDistributions(profile), [profile]);
    const program = profile.summary.program;
    if (!isKnown(program?.["realloc_count"]))
        return (
            <NotRecorded
                of={profile}
                what="Whether blocks were reallocated is not known."
                how="Nothing was saved yet."
            />
        );
    if (!program?.["realloc_count"])
        return (
            <NotRecorded
                what={
                    profile.region
                        ? "Nothing was reallocated in this region."
                        : "The program made no reallocation."
                }
                how="realloc() of a block that it had, that is: realloc(NULL, n) is an allocation."
            />
        );
    const moved = program["realloc_moved"];
    return (
        <div class="split">
            <Card
                title="In all"
                tools={
                    <a href={link({ view: "functions", metric: "realloc_count" })}>functions</a>
                }>
                <dl class="facts">
                    <dt>Reallocations</dt>
                    <dd title={exact(program["realloc_count"], "count")}>
                        {count(program["realloc_count"])}
                    </dd>
                    <dt>Moved</dt>
                    <dd title={exact(moved, "count")}>
                        {isKnown(moved)
                            ? `${count(moved)} (${share(moved / program["realloc_count"])}): the block was copied`
                            : "not known"}
                    </dd>
                    <dt>In place</dt>
                    <dd>
                        {isKnown(moved) ? count(program["realloc_count"] - moved) : "not known"}
                    </dd>
                    <dt>New sizes in all</dt>
                    <dd title={exact(program["realloc_bytes"], "bytes")}>
                        {format(program["realloc_bytes"], "bytes")}
                    </dd>
                </dl>
            </Card>
            <Ready of={loaded}>
                {(distributions) =>
                    distributions ? (
                        <Matrix of={distributions} />
                    ) : profile.region ? (
                        <Card title="From which size to which">
                            <p class="dim">Kept of the whole program, not by region.</p>
                        </Card>
                    ) : (
                        <Card title="From which size to which">
                            <p class="dim">{cannotHave(profile) ?? "Not recorded."}</p>
                        </Card>
                    )
                }
            </Ready>
        </div>
    );
}

function Matrix({ of }: { of: Distributions }): JSX.Element {
    const heat = useMemo(() => {
        const values = of.realloc.flatMap((cell) => [cell[0], cell[1]]);
        const bins = coarse(values.length ? values : [1]);
        return { bins, cells: heatCells(of.realloc, bins, bins, 2), titles: bins.map(bytes) };
    }, [of]);
    return (
        <>
            <Card title="From (across) → to (up)">
                <HeatMap
                    name="realloc"
                    label="Old size against new size"
                    cells={heat.cells}
                    columns={heat.titles}
                    rows={heat.titles}
                    format={(value) => `${count(value)} times`}
                    height={300}
                    tip={(cell) => (
                        <>
                            from {heat.titles[cell.x]} to {heat.titles[cell.y]}:{" "}
                            {exact(cell.value, "count")}
                        </>
                    )}
                />
            </Card>
            <Jumps title="Grown by" rows={of.realloc_grow} of={of} />
            <Jumps title="Shrunk by" rows={of.realloc_shrink} of={of} />
        </>
    );
}

const TOLD = 64; /* the commonest steps that a profile has */

function Jumps({
    title,
    rows,
}: {
    title: string;
    rows: readonly Row[];
    of: Distributions;
}): JSX.Element {
    const listed = rows.filter((row) => !isOthers(row)).sort((a, b) => b[1] - a[1]);
    const total = rows.reduce((sum, row) => sum + row[1], 0);
    const times = (list: readonly Row[]) =>
        `${count(list.reduce((sum, row) => sum + row[1], 0))} times`;
    const { shown, more } = shortList(title.split(" ")[0]!, listed, 20, times);
    const rest = rows.filter(isOthers);
    return (
        <Card title={title}>
            {listed.length === 0 && <p class="dim">Never.</p>}
            <table>
                <tbody>
                    {shown.map((row) => (
                        <tr key={row[0]}>
                            <td class="number">
                                {row[0] === 0 ? "same size" : exact(row[0], "bytes")}
                            </td>
                            <td class="number apart" title={exact(row[1], "count")}>
                                {count(row[1])} times
                            </td>
                            <td class="number dim apart">{share(row[1] / total)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {more}
            {rest.length > 0 && (
                <p class="dim tight">By steps that are not told one by one: {times(rest)}.</p>
            )}
            {listed.length >= TOLD && (
                <p class="dim tight">The {TOLD} commonest steps are told: shares are of these.</p>
            )}
            {listed[0] && listed[0][0] > 0 && listed[0][1] / total > 0.5 && listed[0][1] > 16 && (
                <p class="dim">
                    Growth by a constant step copies a block again and again: growing by a factor
                    needs far fewer.
                </p>
            )}
        </Card>
    );
}
