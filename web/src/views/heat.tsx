/* Lag and drag: how long large blocks lay before their first write and after their last one, by call
 * path, as `record --heat` has seen it. A row's bar is what of its bytes and time was no use. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { shortName } from "../model/names.ts";
import { searcher } from "../model/search.ts";
import { count, share } from "../model/units.ts";
import { go, link, state } from "../state/state.ts";
import { NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import { Table, type Column } from "../widgets/table.tsx";
import type { ViewProps } from "./registry.ts";

/* doc/REPORT-JSON.md, "page_uses"; times are KiB times milliseconds. */
export interface PageUse {
    node?: number;
    function?: string | null;
    file?: string | null;
    line?: number | null;
    module?: string | null;
    count: number;
    alive_count: number;
    unseen_count: number;
    bytes: number;
    unwritten_bytes: number;
    life_kib_ms: number;
    lag_kib_ms: number;
    drag_kib_ms: number;
    unwritten_kib_ms: number;
    lag_error_kib_ms: number;
    drag_error_kib_ms: number;
}

const kib = 1024,
    msInNs = 1e6;
export const idleOf = (row: PageUse) => row.lag_kib_ms + row.drag_kib_ms + row.unwritten_kib_ms;
/* Mean of a byte, in ns; of bytes that were never written there is neither lag nor drag. */
const mean = (kibMs: number, of: number) => (of ? (kibMs * kib * msInNs) / of : null);
const written = (row: PageUse) => row.bytes - row.unwritten_bytes;

export function HeatView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(
        async () =>
            profile.has("page_uses")
                ? (await profile.json<{ page_uses: PageUse[] | null }>("page_uses")).page_uses
                : null,
        [profile],
    );
    return (
        <Ready of={loaded}>
            {(rows) =>
                rows?.length ? (
                    <Heat rows={rows} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="When blocks were written was not recorded."
                        how="record --heat=1s watches which pages are written (Linux 6.7 or later)."
                    />
                )
            }
        </Ready>
    );
}

const columns: readonly Column<PageUse>[] = [
    {
        id: "idle",
        title: "of no use",
        hint: "Bytes times seconds before the first write, after the last, or never written",
        width: "110px",
        number: (row) => (row.life_kib_ms ? idleOf(row) / row.life_kib_ms : null),
        show: (row) => (row.life_kib_ms ? share(idleOf(row) / row.life_kib_ms) : ""),
        fill: (row) => (row.life_kib_ms ? idleOf(row) / row.life_kib_ms : 0),
    },
    {
        id: "bytes",
        title: "bytes",
        hint: "Whole pages of the blocks",
        width: "100px",
        unit: "bytes",
        number: (row) => row.bytes,
    },
    { id: "count", title: "blocks", width: "80px", unit: "count", number: (row) => row.count },
    {
        id: "lived",
        title: "lived",
        hint: "On average of their bytes",
        width: "90px",
        unit: "ns",
        number: (row) => mean(row.life_kib_ms, row.bytes),
    },
    {
        id: "lag",
        title: "lag",
        hint: "Before the first write, on average of the bytes that were written",
        width: "90px",
        unit: "ns",
        number: (row) => mean(row.lag_kib_ms, written(row)),
    },
    {
        id: "drag",
        title: "drag",
        hint: "After the last write, on average of the bytes that were written",
        width: "90px",
        unit: "ns",
        number: (row) => mean(row.drag_kib_ms, written(row)),
    },
    {
        id: "error",
        title: "±",
        hint: "To which drag is known; lag to about the same",
        width: "80px",
        unit: "ns",
        number: (row) => mean(row.drag_error_kib_ms, written(row)),
    },
    {
        id: "unwritten",
        title: "never written",
        width: "110px",
        unit: "bytes",
        number: (row) => row.unwritten_bytes,
    },
    {
        id: "unseen",
        title: "not known",
        hint: "More blocks, too short-lived, or whose end tells nothing of their pages",
        width: "90px",
        unit: "count",
        number: (row) => row.unseen_count,
    },
    {
        id: "function",
        title: "call path",
        width: "minmax(200px, 3fr)",
        text: (row) => row.function ?? "",
        show: (row) => (
            <a href={link({ view: "flame", node: row.node ?? -1 })}>
                {row.function ? shortName(row.function) : "not known"}
            </a>
        ),
    },
];

/* Of the bytes and seconds of all of them, how much each was. */
function Sums({ rows }: { rows: readonly PageUse[] }): JSX.Element {
    const sum = (of: (row: PageUse) => number) => rows.reduce((all, row) => all + of(row), 0);
    const life = sum((row) => row.life_kib_ms);
    const part = (of: (row: PageUse) => number) => share(life ? sum(of) / life : 0);
    const unseen = sum((row) => row.unseen_count);
    return (
        <p class="dim pad" data-sums>
            {life > 0
                ? `Of the bytes and seconds of blocks that have whole pages ${part((row) => row.lag_kib_ms)} lay before the first write, ${part((row) => row.drag_kib_ms)} after the last, and ${part((row) => row.unwritten_kib_ms)} were never written. A page that is read all the time counts as not written.`
                : "Of no block it is known when it was written."}
            {unseen > 0 && ` Of ${count(unseen)} more blocks it is not known.`}
        </p>
    );
}

function Heat({ rows }: { rows: readonly PageUse[] }): JSX.Element {
    const { search } = state.value;
    const found = useMemo(() => {
        const has = searcher(search);
        return has
            ? rows.filter((row) =>
                  has({
                      function: row.function ?? "",
                      file: row.file ?? "",
                      module: row.module ?? "",
                  }),
              )
            : rows;
    }, [rows, search]);
    return (
        <>
            <Sums rows={found} />
            <Table
                name="lag-and-drag"
                label="Lag and drag by call path"
                rows={found}
                whole={rows.length}
                columns={columns}
                sort={state.value.sort || "-idle"}
                onSort={(next) => go({ sort: next }, "replace")}
                rowKey={(row) => row.node ?? -1}
                onOpen={(row) => go({ view: "flame", node: row.node ?? -1 })}
            />
        </>
    );
}
