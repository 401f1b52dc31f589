/* Who holds what grew between two looks of one recording: what `tidemark held OLD NEW` says of the
 * snapshots that were taken then. */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import {
    childrenOf,
    grownBetween,
    placeOf,
    treeRows,
    searchedOf,
    withParents,
    type Grown,
    type HeldLooks,
    type TreeRow,
} from "../model/held.ts";
import { searcher } from "../model/search.ts";
import { bytes, count, exact, signed } from "../model/units.ts";
import { state } from "../state/state.ts";
import { NotRecorded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Twig } from "../widgets/twig.tsx";
import { toneOf } from "./compare_figures.tsx";
import { saidApart, useApart, type Apart } from "./held_apart.tsx";
import type { ViewProps } from "./registry.ts";

type Row = TreeRow<Grown>;

function columnsOf(
    most: number,
    apart: Apart,
    isOpen: (id: number) => boolean,
    toggle: (row: Row, open: boolean) => void,
): Column<Row>[] {
    return [
        {
            id: "change",
            title: "grown by",
            hint: "What it keeps at B less what it kept at A: what would go if it let go",
            width: "110px",
            unit: "bytes",
            number: (row) => row.change,
            show: (row) => (
                <span class={toneOf(row.change)} title={exact(row.change, "bytes")}>
                    {signed(row.change, "bytes")}
                </span>
            ),
            fill: (row) => Math.abs(row.change) / most,
        },
        { id: "before", title: "at A", width: "100px", unit: "bytes", number: (row) => row.before },
        { id: "after", title: "at B", width: "100px", unit: "bytes", number: (row) => row.after },
        {
            id: "blocks",
            title: "blocks",
            hint: "How many more at B",
            width: "90px",
            unit: "count",
            number: (row) => row.blocks,
            show: (row) => signed(row.blocks, "count"),
        },
        {
            id: "holder",
            title: "holder",
            width: "minmax(260px, 3fr)",
            text: (row) => saidApart(row, apart),
            show: (row) => (
                <Twig
                    row={row}
                    apart={apart.get(row.id)}
                    isOpen={isOpen(row.id)}
                    onToggle={toggle}
                />
            ),
        },
        { id: "kind", title: "kind", width: "100px", text: (row) => row.kind },
        { id: "place", title: "place", width: "minmax(90px, 1fr)", text: placeOf },
        { id: "level", title: "depth", width: "60px", number: (row) => row.level },
    ];
}

export function HeldGrowth({
    profile,
    looks,
    a,
    b,
}: ViewProps & {
    looks: HeldLooks;
    a: number;
    b: number;
}): JSX.Element {
    const { search } = state.value;
    const apart = useApart(profile, looks.holders);
    const grown = useMemo(() => grownBetween(looks, a, b), [looks, a, b]);
    const found = useMemo(() => {
        const has = searcher(search),
            rows = grown?.rows ?? [];
        return has ? withParents(rows, (row) => has(searchedOf(row))) : rows;
    }, [grown, search]);
    const children = useMemo(() => childrenOf(found, (row) => row.change), [found]);
    const [turned, setTurned] = useState<ReadonlySet<number>>(new Set());
    if (!grown)
        return (
            <NotRecorded
                what="One of these two looks did not find out who holds what."
                how="It is found out at snapshots, and at the end with record --held or where it is cheap."
            />
        );
    const isOpen = (id: number) => turned.has(id);
    const toggle = (row: Row, open: boolean) => {
        const next = new Set(turned);
        if (open) next.add(row.id);
        else next.delete(row.id);
        setTurned(next);
    };
    const most = found.reduce((best, row) => Math.max(best, Math.abs(row.change)), 1);
    const change = grown.after.held.bytes - grown.before.held.bytes;
    const sum = (name: "before" | "after") => (
        <span>
            {name === "before" ? "A" : "B"}:{" "}
            <b data-sum={name} title={exact(grown[name].held.bytes, "bytes")}>
                {bytes(grown[name].held.bytes)}
            </b>{" "}
            in {count(grown[name].held.blocks)} blocks held
            {grown[name].lost.blocks > 0 && `, ${bytes(grown[name].lost.bytes)} lost`}
        </span>
    );
    return (
        <>
            <div class="bar-row">
                {sum("before")}
                {sum("after")}
                <b data-sum="change" title={exact(change, "bytes")} class={toneOf(change)}>
                    {signed(change, "bytes")}
                </b>
                <button
                    type="button"
                    onClick={() =>
                        setTurned(turned.size ? new Set() : new Set(found.map(({ id }) => id)))
                    }>
                    {turned.size ? "Fold all" : "Unfold all"}
                </button>
            </div>
            <Table
                name="growth-held"
                label="Who holds what grew"
                rows={treeRows(children, isOpen)}
                columns={columnsOf(most, apart, isOpen, toggle)}
                sort=""
                onSort={() => undefined}
                ordered
                rowKey={(row) => row.id}
                branch={(row) => ({
                    level: row.level,
                    open: row.hasBelow ? isOpen(row.id) : null,
                })}
                onToggle={toggle}
                empty={search ? `No holder with “${search}” in it.` : "Nothing was held."}
            />
        </>
    );
}
