/* The name of a tree's row, as far in as it is deep; a click opens and closes it. */
import type { JSX } from "preact";

export function Twig<Row extends { level: number; hasBelow: boolean; says: string }>({
    row,
    isOpen,
    onToggle,
}: {
    row: Row;
    isOpen: boolean;
    onToggle: (row: Row, open: boolean) => void;
}): JSX.Element {
    return (
        <span
            class="indented"
            style={{ "--level": Math.min(row.level, 60) }}
            onClick={() => row.hasBelow && onToggle(row, !isOpen)}>
            <span aria-hidden="true" class="twig">
                {row.hasBelow ? (isOpen ? "▾" : "▸") : ""}
            </span>
            {row.says}
        </span>
    );
}
