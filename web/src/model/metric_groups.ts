/* The metrics of a profile as one chooses among them: what is held, what was asked for, what was freed,
 * what was wasted, and times. */
import type { Metric } from "../data/types.ts";

const groups: readonly [title: string, fits: RegExp][] = [
    ["Times", /_ns$/],
    ["Wasted", /slack|reserved|discarded/],
    ["Held", /^(live|at_|peak|resident|mapped)/],
    ["Freed", /free|temporary/],
    ["Asked for", /^(alloc|realloc|zero|aligned|map|brk)/],
];
const order = ["Held", "Asked for", "Freed", "Wasted", "Times", "Other"];

export function metricGroups(
    metrics: readonly Metric[],
): { title: string; metrics: readonly Metric[] }[] {
    const groupOf = ({ name }: Metric) =>
        groups.find(([, fits]) => fits.test(name))?.[0] ?? "Other";
    return order
        .map((title) => ({ title, metrics: metrics.filter((each) => groupOf(each) === title) }))
        .filter((group) => group.metrics.length > 0);
}
