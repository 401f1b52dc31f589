/* Stacks: how deep each thread's went, how much of it was ever touched, and where it was deepest. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { shortName } from "../model/profile.ts";
import { duration } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import type { Thread } from "./threads.tsx";
import type { ViewProps } from "./registry.ts";

type Row = Thread & { index: number };

export function StacksView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(async () => (await profile.json<{ threads: Thread[] }>("threads")).threads.map((thread, index): Row => ({ ...thread, index })), [profile]);
    return <Ready of={loaded}>{(threads) => threads.some((each) => each.stack_deepest_bytes !== null) ? <Stacks profile={profile} threads={threads} />
        : <NotRecorded what="How deep stacks went was not recorded." how="Recordings of format 2 know it; those with --stacks=none do not." />}</Ready>;
}

function Stacks({ threads, profile }: ViewProps & { threads: Row[] }): JSX.Element {
    const most = threads.reduce((best, each) => Math.max(best, each.stack_deepest_bytes ?? 0), 1);
    const columns = useMemo<Column<Row>[]>(() => [
        { id: "deepest", title: "deepest", hint: "Largest extent seen by any event", width: "130px", unit: "bytes", number: (row) => row.stack_deepest_bytes, fill: (row) => (row.stack_deepest_bytes ?? 0) / most },
        { id: "touched", title: "pages touched", hint: "Known of threads that lived when the process was looked at", width: "130px", unit: "bytes", number: (row) => row.stack_touched_bytes },
        { id: "tid", title: "thread", width: "90px", number: (row) => row.tid, show: (row) => String(row.tid) },
        { id: "name", title: "name", width: "minmax(100px, 1fr)", text: (row) => row.name ?? "" },
        { id: "lived", title: "lived", width: "100px", unit: "ns", number: (row) => (row.end_ns ?? profile.durationNs) - row.start_ns },
        { id: "where", title: "deepest in", width: "minmax(240px, 3fr)", text: (row) => row.stack_deepest_path?.function ?? "",
          show: (row) => row.stack_deepest_path?.function ? <a href={link({ view: "flame", node: row.stack_deepest_path.node ?? -1 })}>{shortName(row.stack_deepest_path.function)}</a> : <span class="dim">not known</span> },
    ], [threads, profile]);
    return (
        <>
            <p class="dim pad">A stack's extent is seen when the thread allocates or frees; what it did deeper in between is not ({duration(profile.durationNs)} were recorded). Pages that were touched and are resident show it where they are known. The deepest moment of each thread is kept, not its stack over time.</p>
            <Table name="stacks" label="Stacks of threads" rows={threads} columns={columns} sort={state.value.sort || "-deepest"} onSort={(next) => go({ sort: next }, "replace")} rowKey={(row) => row.index} />
        </>
    );
}
