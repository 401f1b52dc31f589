/* Owners of resident memory: a bar of kinds that adds up, the largest holders, and the list of all of
 * them with a treemap. Each part, row and name leads to more of its owner. */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import {
    byKind,
    kindToSee,
    largest,
    nameOfOwner,
    ownerKind,
    placeOfOwner,
    mainKinds,
    placeToSee,
    shortNameOfOwner,
    whenOfOwners,
    wrapperOfOwner,
    type Owner,
    type Owners,
} from "../model/owners.ts";
import { searcher } from "../model/search.ts";
import { bytes, exact, share } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Card, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { Through } from "../widgets/through.tsx";
import { Treemap } from "../widgets/treemap.tsx";
import type { ViewProps } from "./registry.ts";

export interface BarPart {
    title: string;
    tone: string;
    bytes: number;
    href: string;
    help?: string;
}

/* Parts that add up, each as wide as its share; below it their names and figures. Both lead to the
 * part: the bar for who points, the list for everybody. */
export function PartsBar({
    label,
    parts,
}: {
    label: string;
    parts: readonly BarPart[];
}): JSX.Element {
    const sum = parts.reduce((total, each) => total + each.bytes, 0);
    return (
        <>
            <div class="parts-bar" aria-hidden="true">
                {parts.map((part) => (
                    <a
                        key={part.title}
                        href={part.href}
                        tabIndex={-1}
                        title={`${part.title}: ${exact(part.bytes, "bytes")}, ${share(part.bytes / sum)}`}
                        style={{ "--tone": `var(--${part.tone})`, "--share": part.bytes }}
                    />
                ))}
            </div>
            <ul class="parts" aria-label={label}>
                {parts.map((part) => (
                    <li key={part.title} title={part.help}>
                        <span class="swatch" style={{ "--tone": `var(--${part.tone})` }} />
                        <a href={part.href}>{part.title}</a>
                        <span class="number" title={exact(part.bytes, "bytes")}>
                            {bytes(part.bytes)}
                        </span>
                        <span class="number dim">{share(part.bytes / sum)}</span>
                    </li>
                ))}
            </ul>
        </>
    );
}

export interface Holder {
    name: string;
    short: string;
    wrapper?: string; /* that it asked through */
    says: string;
    bytes: number;
    tone: string;
    href: string;
}

/* The name first; below it a bar, and beside it how much. */
export function HolderBars({
    label,
    holders,
    whole,
    show = bytes,
}: {
    label: string;
    holders: readonly Holder[];
    whole: number;
    show?: (value: number) => string;
}): JSX.Element {
    const most = holders.reduce((best, each) => Math.max(best, each.bytes), 1);
    return (
        <ol class="holders" aria-label={label}>
            {holders.map((each) => (
                <li key={each.name + each.says}>
                    <a class="nowrap" href={each.href} title={each.name}>
                        <Through wrapper={each.wrapper ?? ""} />
                        {each.short}
                    </a>
                    <b class="number" title={show === bytes ? exact(each.bytes, "bytes") : ""}>
                        {show(each.bytes)}
                    </b>
                    <span class="number dim">{whole ? share(each.bytes / whole) : ""}</span>
                    <div class="under">
                        <div class="track">
                            <div
                                class="bar"
                                style={{
                                    "--share": `${(100 * each.bytes) / most}%`,
                                    "--tone": `var(--${each.tone})`,
                                }}
                            />
                        </div>
                        <span class="dim nowrap says" title={each.says}>
                            {each.says}
                        </span>
                    </div>
                </li>
            ))}
        </ol>
    );
}

export const holdersOf = (owners: readonly Owner[], count: number): Holder[] =>
    largest(owners, count).map((owner) => ({
        name: nameOfOwner(owner),
        short: shortNameOfOwner(owner),
        wrapper: wrapperOfOwner(owner),
        says: [ownerKind(owner.kind).title, placeOfOwner(owner)].filter(Boolean).join(" · "),
        bytes: owner.resident_bytes!,
        tone: ownerKind(owner.kind).tone,
        href: link(placeToSee(owner)),
    }));

/* By kind; `most` of them, the smallest as one. */
export function partsOf(owners: readonly Owner[], most = Infinity): BarPart[] {
    const { shown, rest } = mainKinds(byKind(owners), most);
    const parts = shown.map(({ kind, bytes }) => ({
        title: kind.title,
        tone: kind.tone,
        bytes,
        href: link(kindToSee(kind.kind)),
        help: kind.help,
    }));
    if (rest.length)
        parts.push({
            title: `${rest.length} more`,
            tone: "line",
            bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0),
            href: link({ view: "resident", opt: "list:owners", sort: "" }),
            help: rest.map(({ kind }) => kind.title).join(", "),
        });
    return parts;
}

const columnsOf = (whole: number | null, most: number): Column<Owner & { index: number }>[] => [
    {
        id: "owner",
        title: "Owner",
        width: "minmax(200px, 3fr)",
        text: nameOfOwner,
        show: (row) => (
            <>
                <Through wrapper={wrapperOfOwner(row)} />
                <a href={link(placeToSee(row))}>{shortNameOfOwner(row)}</a>
            </>
        ),
    },
    {
        id: "resident_bytes",
        title: "resident",
        width: "110px",
        unit: "bytes",
        number: (row) => row.resident_bytes,
        fill: (row) => (row.resident_bytes ?? 0) / most,
    },
    {
        id: "share",
        title: "of all",
        width: "76px",
        unit: "share",
        number: (row) =>
            whole === null || row.resident_bytes === null ? null : row.resident_bytes / whole,
    },
    {
        id: "proportional_bytes",
        title: "PSS",
        hint: "Pages that processes share, by share",
        width: "96px",
        unit: "bytes",
        number: (row) => row.proportional_bytes,
    },
    {
        id: "swapped_bytes",
        title: "swapped",
        width: "90px",
        unit: "bytes",
        number: (row) => row.swapped_bytes,
    },
    { id: "kind", title: "kind", width: "130px", text: (row) => ownerKind(row.kind).title },
    {
        id: "place",
        title: "Place",
        width: "minmax(110px, 1fr)",
        text: (row) => row.file ?? row.module ?? row.name ?? "",
        show: placeOfOwner,
    },
];

export function OwnersView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(() => profile.json<Owners>("owners"), [profile]);
    return <Ready of={loaded}>{(owners) => <OwnersList owners={owners} />}</Ready>;
}

function OwnersList({
    owners: { owners, time_ns, resident_bytes },
}: {
    owners: Owners;
}): JSX.Element {
    const chosen = getOption(state.value, "kind") ?? "",
        { search, sort } = state.value;
    const [selected, select] = useState<number | null>(null);
    const whole = resident_bytes || null;
    const rows = useMemo(() => {
        const has = searcher(search);
        return owners
            .map((owner, index) => ({ ...owner, index }))
            .filter(
                (row) =>
                    (!chosen || ownerKind(row.kind).kind === chosen) &&
                    (!has ||
                        has({
                            function: nameOfOwner(row),
                            file: row.file ?? row.name ?? "",
                            module: row.module ?? "",
                        })),
            );
    }, [owners, chosen, search]);
    const most = rows.reduce((best, row) => Math.max(best, row.resident_bytes ?? 0), 1);
    const groups = useMemo(
        () =>
            byKind(rows).map(({ kind, bytes: value }) => ({
                name: kind.title,
                tone: kind.tone,
                value,
                children: rows
                    .filter((row) => ownerKind(row.kind) === kind && (row.resident_bytes ?? 0) > 0)
                    .map((row) => ({ name: shortNameOfOwner(row), value: row.resident_bytes! })),
            })),
        [rows],
    );
    const columns = useMemo(() => columnsOf(whole, most), [whole, most]);
    return (
        <>
            <div class="pad own-height">
                <Card
                    title={`${whole ? `${bytes(whole)} resident` : "Resident memory"} ${whenOfOwners(time_ns)}, at the look that found most`}
                    tools={
                        chosen && (
                            <button
                                onClick={() =>
                                    go({ opt: withOptions(state.value, { kind: undefined }) })
                                }>
                                all kinds
                            </button>
                        )
                    }>
                    <PartsBar label="Resident memory by owner" parts={partsOf(owners)} />
                    <Treemap
                        name="owners"
                        label="Owners of resident memory"
                        groups={groups}
                        height={170}
                        format={bytes}
                    />
                </Card>
            </div>
            <Table
                name="owners"
                label="Owners of resident memory"
                rows={rows}
                columns={columns}
                sort={sort || "-resident_bytes"}
                onSort={(next) => go({ sort: next }, "replace")}
                rowKey={(row) => row.index}
                selected={selected}
                onSelect={(row) => select(row.index)}
                onOpen={(row) => go(placeToSee(row))}
                empty="No owner of this kind and name."
            />
        </>
    );
}
