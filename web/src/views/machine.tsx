/* What the whole machine had while the program ran, and what its control group had: each point is the
 * worst reading of its stretch (doc/REPORT-JSON.md, "machine_memory"). */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { numbers, type ColumnsDocument } from "../data/columns.ts";
import type { Profile } from "../model/profile.ts";
import { bytes, duration, exact } from "../model/units.ts";
import { Plot, type PlotSeries } from "../widgets/plot.tsx";
import { Card, Ready, useLoaded } from "../widgets/states.tsx";

export interface MachineMemory {
    x: Float64Array;
    series: PlotSeries[];
    least: { bytes: number; time: number } | null;
}

/* `part`: of the machine's memory; more than there is, as a damaged file may say, is a gap. `always`: also
 * where it is 0 throughout. */
const lines: {
    column: string;
    title: string;
    tone: string;
    part?: boolean;
    always?: boolean;
    dashed?: boolean;
}[] = [
    { column: "available_bytes", title: "available", tone: "data-1", part: true, always: true },
    { column: "free_bytes", title: "free", tone: "data-5", part: true },
    { column: "cached_bytes", title: "cached", tone: "data-3", part: true },
    { column: "swapped_bytes", title: "swapped", tone: "data-2" },
    { column: "group_bytes", title: "control group", tone: "data-4" },
    { column: "group_limit_bytes", title: "its limit", tone: "data-7", dashed: true },
];

/* `size`: the machine's memory; null: not known. */
export function readMachine(document: ColumnsDocument, size: number | null): MachineMemory {
    const x = numbers(document, "time_ns");
    let least: MachineMemory["least"] = null;
    const series = lines.flatMap(({ column, title, tone, part, always, dashed }) => {
        const values = Array.from(numbers(document, column), (value) =>
            Number.isNaN(value) || (part && size !== null && value > size) ? null : value,
        );
        if (column === "available_bytes")
            values.forEach((value, at) => {
                if (value !== null && (!least || value < least.bytes))
                    least = { bytes: value, time: x[at]! };
            });
        if (!values.some((value) => value !== null && (always || value > 0))) return [];
        return [
            {
                title,
                tone,
                values,
                format: bytes,
                binary: true,
                hidden: column === "free_bytes",
                ...(dashed ? { dashed } : {}),
            },
        ];
    });
    return { x, series, least };
}

/* `end`: of the run, whose whole length is shown where no range is. */
export function MachineCard({
    profile,
    end,
    range,
    setRange,
}: {
    profile: Profile;
    end: number;
    range: [number, number] | null;
    setRange: (from: number, to: number) => void;
}): JSX.Element {
    const samples = profile.summary.samples ?? [];
    const size = samples.findLast((sample) => sample.machine_bytes !== null)?.machine_bytes ?? null;
    const loaded = useLoaded(() => profile.columns("machine_memory"), [profile]);
    return (
        <Ready of={loaded}>
            {(document) => (
                <Machine
                    document={document}
                    size={size}
                    range={range ?? [0, end]}
                    setRange={setRange}
                />
            )}
        </Ready>
    );
}

function Machine({
    document,
    size,
    range,
    setRange,
}: {
    document: ColumnsDocument;
    size: number | null;
    range: [number, number];
    setRange: (from: number, to: number) => void;
}): JSX.Element {
    const { x, series, least } = useMemo(() => readMachine(document, size), [document, size]);
    return (
        <Card
            title="The machine"
            tools={<span class="dim">the worst reading of each stretch</span>}>
            {least && (
                <p class="first">
                    <b title={exact(least.bytes, "bytes")}>{bytes(least.bytes)}</b>
                    {size !== null && <> of {bytes(size)}</>} available at least, after{" "}
                    {duration(least.time)}
                </p>
            )}
            <Plot
                name="machine"
                label="Memory of the whole machine over time"
                x={x}
                formatX={duration}
                series={series}
                height={180}
                range={range}
                onRange={setRange}
            />
        </Card>
    );
}
