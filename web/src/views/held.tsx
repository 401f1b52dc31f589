/* Who keeps the live blocks: the tree of holders, as the command `held` has it. What a row *keeps* would go
 * if it let go. Of the chosen row it is shown through what it is held, from a root on. */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import {
    childrenOf,
    nameOf,
    pathTo,
    placeOf,
    treeRows,
    type Placed,
    type Sharer,
    type Sum,
    type TreeRow,
} from "../model/held.ts";
import { bytes, count, duration } from "../model/units.ts";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Twig } from "../widgets/twig.tsx";
import type { ViewProps } from "./registry.ts";

/* doc/HELD.md. */
interface Holder extends Placed {
    own_blocks: number;
    own_bytes: number;
    retained_blocks: number;
    retained_bytes: number;
}
interface Held {
    at: string;
    time_ns: number;
    held: Sum;
    lost: Sum;
    holders: Holder[];
}

type Row = TreeRow<Holder>;

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
                        of={profile}
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
            show: (row) => <Twig row={row} isOpen={isOpen(row.id)} onToggle={toggle} />,
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
    const children = useMemo(() => childrenOf(held.holders, (row) => row.retained_bytes), [held]);
    const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
    const isOpen = (id: number) => open.has(id);
    const toggle = (row: Row, next: boolean) => {
        const changed = new Set(open);
        if (next) changed.add(row.id);
        else changed.delete(row.id);
        setOpen(changed);
    };
    const rows = useMemo(() => treeRows(children, isOpen), [children, open]);
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
            {path[0]?.sharers && <HeldTogether of={path[0]} sharers={path[0].sharers} />}
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
                                placeOf(each),
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

/* The holders of what none of them holds alone: what each of them reaches, and keeps beside. */
function HeldTogether({ of, sharers }: { of: Holder; sharers: readonly Sharer[] }): JSX.Element {
    const share = (part: number) =>
        of.retained_bytes ? `${((part / of.retained_bytes) * 100).toFixed(1)} %` : "0 %";
    return (
        <Card title="Held together by">
            <ol aria-label="Who holds together what none holds alone">
                {sharers.map((each, at) => (
                    <li key={at}>
                        <b>{nameOf(each)}</b>{" "}
                        <span class="dim">
                            {[
                                each.kind,
                                placeOf(each),
                                `reaches ${bytes(each.reached_bytes)} (${share(each.reached_bytes)})`,
                                each.direct_bytes &&
                                    `points itself to what keeps ${bytes(each.direct_bytes)}`,
                                `keeps ${bytes(each.alone_bytes)} alone`,
                            ]
                                .filter(Boolean)
                                .join(" · ")}
                        </span>
                    </li>
                ))}
            </ol>
            {of.more_sharers !== 0 && (
                <p class="dim">
                    {of.more_sharers
                        ? `${count(of.more_sharers)} more reach no more than the last of these.`
                        : "There were too many to find all: there may be more, and they may reach more."}
                </p>
            )}
        </Card>
    );
}
