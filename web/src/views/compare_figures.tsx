/* The table that "compare" opens with: the figures of two whole runs. Figures that did not change are
 * folded. A click on one compares functions by it. */
import type { JSX } from "preact";
import type { FigurePair } from "../model/compare.ts";
import { exact, format, signed } from "../model/units.ts";
import { go } from "../state/state.ts";

export function toneOf(difference: number): string {
    return difference > 0 ? "more" : difference < 0 ? "less" : "dim";
}

/* "new", "gone", "+12.0 %", or nothing where one of the two is not known. */
export function changeText(before: number | null, after: number | null): string {
    if (before === null || after === null) return "";
    if (before === after) return "";
    if (!before) return "new";
    return after ? signed((after - before) / before, "share") : "gone";
}

function Title({ row, chosen }: { row: FigurePair; chosen: string }): JSX.Element {
    if (!row.metric) return <>{row.title}</>;
    const metric = row.metric;
    return (
        <button
            class="plain"
            aria-pressed={metric === chosen}
            title="Compare functions by this figure"
            onClick={() => go({ metric, sort: "" })}>
            {row.title}
        </button>
    );
}

function Figure({ row, chosen }: { row: FigurePair; chosen: string }): JSX.Element {
    const { before, after, unit } = row;
    const known = before !== null && after !== null;
    const difference = known ? after - before : 0;
    const cell = (value: number | null) => (
        <td class={value === null ? "number dim" : "number"} title={exact(value, unit)}>
            {value === null ? "not known" : format(value, unit)}
        </td>
    );
    return (
        <tr data-figure={row.name} class={row.metric === chosen ? "strong" : ""}>
            <th scope="row">
                <Title row={row} chosen={chosen} />
            </th>
            <td
                class={`number ${toneOf(difference)}`}
                title={exact(known ? difference : null, unit)}>
                {known ? signed(difference, unit) : "not known"}
            </td>
            <td class="number">{changeText(before, after)}</td>
            {cell(before)}
            {cell(after)}
        </tr>
    );
}

function Rows(props: { rows: readonly FigurePair[]; chosen: string; label: string }): JSX.Element {
    return (
        <table class="figures" aria-label={props.label}>
            <thead>
                <tr>
                    <th scope="col">figure</th>
                    <th scope="col">difference</th>
                    <th scope="col">change</th>
                    <th scope="col">before</th>
                    <th scope="col">after</th>
                </tr>
            </thead>
            <tbody>
                {props.rows.map((row) => (
                    <Figure key={row.name} row={row} chosen={props.chosen} />
                ))}
            </tbody>
        </table>
    );
}

export function FigurePairs({ rows, chosen }: { rows: readonly FigurePair[]; chosen: string }) {
    const same = rows.filter((row) => row.before === row.after),
        other = rows.filter((row) => row.before !== row.after);
    return (
        <div class="pad">
            {other.length ? (
                <Rows rows={other} chosen={chosen} label="Figures before and after" />
            ) : (
                <p>No figure of the two runs differs.</p>
            )}
            {same.length > 0 && (
                <details>
                    <summary class="dim">
                        unchanged: {same.map((row) => row.title).join(", ")}
                    </summary>
                    <Rows rows={same} chosen={chosen} label="Figures that did not change" />
                </details>
            )}
        </div>
    );
}
