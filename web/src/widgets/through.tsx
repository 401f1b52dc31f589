/* "my_alloc ← " in front of an owner's name: the wrapper that it asked through, as the text report has
 * it (src/analysis/aggregate/frames.h). */
import type { JSX } from "preact";

const MOST = 24; /* as THROUGH_MOST of the text report */

export function Through({ wrapper }: { wrapper: string }): JSX.Element | null {
    if (!wrapper) return null;
    return (
        <span class="dim" data-through={wrapper} title={`through ${wrapper}`}>
            <span class="wrapper">
                {wrapper.length > MOST ? `${wrapper.slice(0, MOST - 1)}…` : wrapper}
            </span>{" "}
            ←{" "}
        </span>
    );
}
