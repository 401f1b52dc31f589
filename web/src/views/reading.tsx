/* A job whose ranks' profiles are not all read: what the entries of its directory say of each rank,
 * and how far the rest is. While the entries themselves are being read these are some of the ranks,
 * and none can be chosen. When the ranks' digests are read the view of the job shows them, and the
 * summary likewise. Every other view waits until all is read, and has it read. */
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { Card } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import { go } from "../state/state.ts";
import { wantWhole, type FirstRank, type Reading } from "../state/profiles.ts";
import { JobsView } from "./jobs.tsx";

function ended(rank: FirstRank): string {
    if (rank.signal) return `${rank.state} (signal ${rank.signal})`;
    return rank.status ? `${rank.state} (status ${rank.status})` : rank.state;
}

const countRead = (of: Reading) => `${of.read} of ${of.toRead}`;

function Progress({ of }: { of: Reading }): JSX.Element {
    if (of.listed)
        return (
            <>
                <b>
                    {of.listed.done} of {of.listed.of} entries of the job's directory read.
                </b>{" "}
                How many ranks there are is not known yet, nor any figure of the whole job: this
                page fills in by itself.
            </>
        );
    if (of.digests)
        return (
            <>
                <b>Call paths of {countRead(of)} ranks read.</b> Functions, owners, curves and
                verdicts are not read yet: who asks for them waits.{" "}
                {!of.read && (
                    <button onClick={() => wantWhole(of.digests!.index)}>read them</button>
                )}
            </>
        );
    return (
        <>
            <b>{countRead(of)} ranks read.</b> Functions, owners, curves and verdicts are not read
            yet: this page fills in by itself. A rank that is chosen is shown at once.
        </>
    );
}

/* `view`: the name of what is to be shown. */
export function ReadingJob({ of, view }: { of: Reading; view: string }): JSX.Element {
    const isOfJob = view === "jobs" || view === "summary",
        index = of.digests?.index ?? -1;
    useEffect(() => {
        if (!isOfJob && index >= 0) wantWhole(index);
    }, [isOfJob, index]);
    return (
        <div class="view" data-reading>
            {of.failure ? (
                <div class="notice bad" role="alert">
                    The job cannot be shown: {of.failure}
                </div>
            ) : (
                <div class="notice" role="status">
                    <Progress of={of} />
                </div>
            )}
            {of.digests && isOfJob ? <JobsView profile={of.digests} /> : <FirstRanks of={of} />}
        </div>
    );
}

/* What the entries say. */
function FirstRanks({ of }: { of: Reading }): JSX.Element {
    const [sort, setSort] = useState("rank");
    const nodes = new Map(of.nodes.map((node) => [node.id, node.name]));
    const columns: Column<FirstRank>[] = [
        { id: "rank", title: "rank", width: "80px", number: (rank) => rank.rank, unit: "count" },
        {
            id: "state",
            title: "process",
            width: "170px",
            text: (rank) => (rank.beside ? `beside: ${ended(rank)}` : ended(rank)),
        },
        {
            id: "peak_bytes",
            title: "peak",
            hint: "High-water mark of requested bytes",
            width: "120px",
            number: (rank) => rank.peak_bytes,
            unit: "bytes",
        },
        {
            id: "node",
            title: "node",
            width: "140px",
            text: (rank) => nodes.get(rank.node) ?? null,
        },
        { id: "file", title: "file", width: "minmax(200px, 1fr)", text: (rank) => rank.file },
    ];
    return (
        <Card
            title={
                of.listed
                    ? "What is known of some ranks by now"
                    : "What the entries in the job's directory say of its ranks"
            }>
            <div class="rank-table">
                <Table
                    name="ranks-first"
                    label="Ranks"
                    rows={of.ranks}
                    columns={columns}
                    sort={sort}
                    onSort={setSort}
                    rowKey={(rank) => rank.id}
                    onOpen={(rank) => {
                        if (!of.listed) go({ rank: rank.id, fn: -1, node: -1, thread: -1 });
                    }}
                />
            </div>
        </Card>
    );
}
