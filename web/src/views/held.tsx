/* Who keeps the live blocks: the tree of holders, as the command `held` has it. What a row *keeps* would go
 * if it let go. Of the chosen row it is shown through what it is held, from a root on. */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import { shortName } from "../model/names.ts";
import { bytes, count, duration } from "../model/units.ts";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import type { ViewProps } from "./registry.ts";

/* doc/HELD.md. */
interface Named {
    kind: string;
    name: string | null;
    of: string | null;
    thread: number | null;
    function?: string | null;
    file?: string | null;
    line?: number | null;
}
interface Holder extends Named {
    id: number;
    parent: number;
    merged: number;
    own_blocks: number;
    own_bytes: number;
    retained_blocks: number;
    retained_bytes: number;
}
interface Sum {
    blocks: number;
    bytes: number;
}
interface Held {
    at: string;
    time_ns: number;
    held: Sum;
    lost: Sum;
    holders: Holder[];
}

type Row = Holder & { level: number; hasBelow: boolean; says: string };

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function nameOf(row: Named): string {
    if (row.function) return shortName(row.function);
    const of = row.of ? ` of ${baseName(row.of)}` : "";
    return row.name ? `${row.name}${of}` : `${row.kind}${of}`;
}

/* As the command has them: those that keep most first, and what is summed up last. */
function childrenOf(holders: readonly Holder[]): Map<number, Holder[]> {
    const children = new Map<number, Holder[]>();
    for (const each of holders) {
        const list = children.get(each.parent);
        if (list) list.push(each);
        else children.set(each.parent, [each]);
    }
    for (const list of children.values())
        list.sort(
            (a, b) =>
                Number(a.merged > 0) - Number(b.merged > 0) ||
                b.retained_bytes - a.retained_bytes ||
                a.id - b.id,
        );
    return children;
}

/* The rows below what is open, each behind its parent; a chain of holders may be long. */
function rowsOf(
    children: ReadonlyMap<number, readonly Holder[]>,
    isOpen: (id: number) => boolean,
): Row[] {
    const rows: Row[] = [],
        waiting = (children.get(0) ?? []).map((of) => ({ of, level: 1 })).reverse();
    for (let next = waiting.pop(); next; next = waiting.pop()) {
        const { of, level } = next,
            below = children.get(of.id) ?? [];
        rows.push({
            ...of,
            level,
            hasBelow: below.length > 0,
            says: of.merged ? `${count(of.merged)} more` : nameOf(of),
        });
        if (below.length && isOpen(of.id))
            for (let at = below.length - 1; at >= 0; at--)
                waiting.push({ of: below[at]!, level: level + 1 });
    }
    return rows;
}

/* A parent's number is smaller than its children's, so this ends. */
function pathTo(holders: readonly Holder[], chosen: number): Holder[] {
    const byId = new Map(holders.map((each) => [each.id, each])),
        path: Holder[] = [];
    for (let at = byId.get(chosen); at; at = at.parent < at.id ? byId.get(at.parent) : undefined)
        path.unshift(at);
    return path;
}

export function HeldView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () => (profile.has("held") ? profile.json<Held>("held") : null),
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(held) =>
                held ? (
                    <Holders held={held} />
                ) : (
                    <NotRecorded
                        what="Who holds what is not known."
                        how="record --held finds it out at the end of the program, and tidemark held PID of one that runs."
                    />
                )
            }
        </Ready>
    );
}

function columnsOf(
    whole: number,
    toggle: (row: Row, open: boolean) => void,
    isOpen: (id: number) => boolean,
): Column<Row>[] {
    return [
        {
            id: "retained",
            title: "keeps",
            hint: "What would go, or be kept by another, if it let go",
            width: "120px",
            unit: "bytes",
            number: (row) => row.retained_bytes,
            fill: (row) => (whole ? row.retained_bytes / whole : 0),
        },
        {
            id: "share",
            title: "share",
            width: "70px",
            unit: "share",
            number: (row) => (whole ? row.retained_bytes / whole : null),
        },
        {
            id: "blocks",
            title: "blocks",
            width: "90px",
            unit: "count",
            number: (row) => row.retained_blocks,
        },
        {
            id: "own",
            title: "its own",
            hint: "Bytes of the blocks themselves",
            width: "100px",
            unit: "bytes",
            number: (row) => row.own_bytes,
        },
        {
            id: "holder",
            title: "holder",
            width: "minmax(260px, 3fr)",
            text: (row) => row.says,
            show: (row) => (
                <span
                    class="indented"
                    style={{ "--level": Math.min(row.level, 60) }}
                    onClick={() => row.hasBelow && toggle(row, !isOpen(row.id))}>
                    <span aria-hidden="true" class="twig">
                        {row.hasBelow ? (isOpen(row.id) ? "▾" : "▸") : ""}
                    </span>
                    {row.says}
                </span>
            ),
        },
        { id: "kind", title: "kind", width: "100px", text: (row) => row.kind },
        {
            id: "level",
            title: "depth",
            width: "60px",
            number: (row) => row.level,
        },
    ];
}

function Holders({ held }: { held: Held }): JSX.Element {
    const children = useMemo(() => childrenOf(held.holders), [held]);
    const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
    const isOpen = (id: number) => open.has(id);
    const toggle = (row: Row, next: boolean) => {
        const changed = new Set(open);
        if (next) changed.add(row.id);
        else changed.delete(row.id);
        setOpen(changed);
    };
    const rows = useMemo(() => rowsOf(children, isOpen), [children, open]);
    const whole = held.held.bytes + held.lost.bytes;
    const [chosen, setChosen] = useState(0);
    const path = useMemo(() => pathTo(held.holders, chosen), [held, chosen]);
    const all = held.holders.filter((each) => children.has(each.id));
    return (
        <>
            <p class="dim pad" data-held>
                {`${bytes(held.held.bytes)} in ${count(held.held.blocks)} blocks are held, ${duration(held.time_ns)} after the beginning (${held.at}); ${
                    held.lost.blocks
                        ? `${bytes(held.lost.bytes)} in ${count(held.lost.blocks)} are lost`
                        : "none is lost"
                }.`}{" "}
                <button
                    type="button"
                    onClick={() =>
                        setOpen(open.size ? new Set() : new Set(all.map((each) => each.id)))
                    }>
                    {open.size ? "Fold all" : "Unfold all"}
                </button>
            </p>
            <div class="upper-half">
                <Table
                    name="holders"
                    label="Who keeps the live blocks"
                    rows={rows}
                    columns={columnsOf(whole, toggle, isOpen)}
                    sort=""
                    onSort={() => undefined}
                    ordered
                    rowKey={(row) => row.id}
                    selected={chosen || null}
                    onSelect={(row) => setChosen(row.id)}
                    branch={(row) => ({
                        level: row.level,
                        open: row.hasBelow ? isOpen(row.id) : null,
                    })}
                    onToggle={toggle}
                />
            </div>
            {path.length > 0 && <HeldThrough path={path} />}
        </>
    );
}

/* From a root to the chosen row: whoever let go of the next would lose all that is below. */
function HeldThrough({ path }: { path: readonly Holder[] }): JSX.Element {
    return (
        <Card title="Held through">
            <ol aria-label="From a root to what was chosen">
                {path.map((each) => (
                    <li key={each.id}>
                        <b>{nameOf(each)}</b>{" "}
                        <span class="dim">
                            {[
                                each.kind,
                                each.file && `${baseName(each.file)}:${each.line ?? "?"}`,
                                `keeps ${bytes(each.retained_bytes)} in ${count(each.retained_blocks)} blocks`,
                            ]
                                .filter(Boolean)
                                .join(" · ")}
                        </span>
                    </li>
                ))}
            </ol>
        </Card>
    );
}
