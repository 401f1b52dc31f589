/* The dialog that lists the keys and explains the metrics. The words for metrics come from the
 * profile. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { profile } from "../state/profiles.ts";

export const helpOpen = signal(false);

const keys: readonly [string, string][] = [
    ["/", "search"],
    ["?", "this page"],
    ["Esc", "clear the search, close, zoom out"],
    ["↑ ↓ PgUp PgDn Home End", "rows of a table; frames of the flame graph (also ← →)"],
    ["Enter", "open what is selected; zoom into the frame"],
    ["→ ←", "open and close a row of the tree table"],
    ["Ctrl-C", "copy the selected row, exact numbers"],
    ["+ − 0 and arrows", "zoom and move the call graph, or a timeline; 0: all of it"],
    [
        "Ctrl-wheel, Shift-wheel, drag",
        "zoom and move a timeline, choose a range for all views; double click: all of it",
    ],
    ["double click, right click", "open; what one can do with a function (keys: Enter, Shift-F10)"],
];

export function Help(): JSX.Element | null {
    const dialog = useRef<HTMLDialogElement>(null);
    const open = helpOpen.value;
    useLayoutEffect(() => {
        if (open && !dialog.current?.open) dialog.current?.showModal();
    }, [open]);
    if (!open) return null;
    const metrics =
        profile.value?.metrics.filter((metric) => metric.recorded && metric.unit !== "variance") ??
        [];
    return (
        <dialog
            ref={dialog}
            aria-label="Help"
            onClose={() => {
                helpOpen.value = false;
            }}>
            <h2>Keys</h2>
            <dl class="facts">
                {keys.map(([key, what]) => (
                    <>
                        <dt>
                            <kbd>{key}</kbd>
                        </dt>
                        <dd>{what}</dd>
                    </>
                ))}
            </dl>
            <p>
                The address of the page holds all that is chosen: a link shows others exactly this.
                Numbers are rounded; hover for exact ones.
            </p>
            <h2>Metrics</h2>
            <dl class="facts">
                {metrics.map((metric) => (
                    <>
                        <dt>{metric.title}</dt>
                        <dd>{metric.help}</dd>
                    </>
                ))}
            </dl>
            <form method="dialog">
                <button autofocus>Close</button>
            </form>
        </dialog>
    );
}
