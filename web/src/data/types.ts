/* The types of the JSON resources. doc/API.md and doc/REPORT-JSON.md define them. A value of
 * null is not known. */
import type { Unit } from "../model/units.ts";

export interface Metric {
    name: string;
    title: string;
    help: string;
    unit: "bytes" | "count" | "ns" | "moment_ns" | "variance";
    merge: "sum" | "min" | "max" | "never" | "least";
    variance?: string | null;
    recorded: boolean;
}
/* Do figures of call paths add up? Of "least" what is not known is passed over. */
export const addsUp = (metric: Metric): boolean =>
    metric.merge === "sum" || metric.merge === "least";
export interface Derived {
    name: string;
    title: string;
    unit: Unit;
    of: string[];
    by?: string[];
    by_run?: boolean;
}
export interface Choice {
    name: string;
    title: string;
    metric: string;
    usual: boolean;
    missing: string | null;
}

export interface PathRef {
    node?: number;
    function?: string;
    file?: string;
    line?: number;
    module?: string;
}
export interface Peak {
    time_ns: number;
    bytes: number;
    valley_bytes: number;
    rest_bytes: number;
    shares: (PathRef & { bytes: number })[] | null;
}
export interface Sample {
    sample: number;
    why: string;
    time_ns: number;
    resident_bytes: number | null;
    proportional_bytes: number | null;
    unique_bytes: number | null;
    swapped_bytes: number | null;
    virtual_bytes: number | null;
    requested_bytes: number | null;
    live_count: number | null;
    minor_faults: number | null;
    major_faults: number | null;
    voluntary_switches: number | null;
    involuntary_switches: number | null;
    cgroup_bytes: number | null;
    cgroup_limit_bytes: number | null;
    cgroup_peak_bytes: number | null;
    machine_available_bytes: number | null;
    machine_bytes: number | null;
    ooms: number | null;
    ledger: Record<string, number> | null;
    untouched_bytes?: number | null;
    live_swapped_bytes?: number | null;
    returnable_bytes?: number | null;
    pinned_bytes?: number | null;
    pass_ms?: number | null;
    lost_count?: number | null;
    lost_bytes?: number | null;
    indirect_count?: number | null;
    indirect_bytes?: number | null;
    class_count?: number | null;
    possible_count?: number | null;
    possible_bytes?: number | null;
    reachable_count?: number | null;
    reachable_bytes?: number | null;
}
export interface Summary {
    format: string;
    version: number;
    tool: string;
    meta: Record<string, string>;
    /* Of a job that is "reading" only `meta` and `resources` are there beside it (doc/API.md). */
    state: "recording" | "complete" | "cut short" | "reading";
    end: string;
    ended_well: boolean;
    warnings: string[];
    losses: string[];
    unwalked?: {
        paths: number;
        alloc_count: number | null;
        alloc_bytes: number | null;
        reasons: {
            reason: string;
            module: string | null;
            paths: number;
            alloc_count: number | null;
            alloc_bytes: number | null;
        }[];
    } | null;
    sampled: {
        interval_bytes: number;
        pages?: boolean;
        changes: { from_ns: number; interval_bytes: number }[];
        samples: number;
        confidence_percent: number;
    } | null;
    program: Record<string, number | null> | null;
    peaks: Peak[] | null;
    samples: Sample[] | null;
    spark: { step_ns: number; requested: (number | null)[]; physical: (number | null)[] } | null;
    counts: Record<string, number>;
    metrics: Metric[];
    derived: Derived[];
    choices: Choice[];
    resources: string[];
    levels?: string[]; /* of memory, beside the heap */
}
/* What the program said of itself (tidemark.h). `total`: all metrics of what was asked for in the
 * region. */
export interface Region {
    name: string;
    entered_count: number;
    unended_count: number;
    open_count: number;
    time_ns: number;
    first_ns: number;
    last_ns: number;
    peak_bytes: number;
    peak_ns: number;
    left_bytes: number | null;
    program_peak_bytes: number;
    program_peak_ns: number;
    total: Record<string, number | null>;
}
export interface Mark {
    time_ns: number;
    kind: "mark" | "paused" | "resumed" | "snapshot";
    name: string | null;
    tid: number | null;
    live_bytes: number;
    live_count: number;
}
export interface TopFunction {
    key: number;
    function: string | null;
    file: string | null;
    module: string | null;
    exclusive: number;
    inclusive: number;
}
export interface Top {
    choice: string;
    metric: string;
    total: number | null;
    functions: TopFunction[];
}
export interface Insight {
    id: string;
    severity: "info" | "notice" | "warning" | "severe";
    cost: number | null;
    title: string;
    advice: string;
    evidence: { metric: string; value: number | string | null; unit: string }[];
    paths: { value: number; unit: string; frames: PathRef[]; more?: boolean }[];
}
