/* The name of a tree's row, as far in as it is deep; a click opens and closes it. */
import type { JSX } from "preact";

export function Twig<Row extends { level: number; hasBelow: boolean; says: string }>({
    row,
    apart,
    isOpen,
    onToggle,
}: {
    row: Row;
    apart?: string | undefined; /* the caller that tells it from a row that reads the same */
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
            {apart && <span class="dim"> ↑ {apart}</span>}
        </span>
    );
}
