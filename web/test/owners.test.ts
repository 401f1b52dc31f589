import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metric } from "../src/data/types.ts";
import { metricGroups } from "../src/model/metric_groups.ts";
import {
    byKind,
    largest,
    nameOfOwner,
    placeOfOwner,
    placeToSee,
    type Owner,
} from "../src/model/owners.ts";

const owner = (kind: string, bytes: number | null, more: Partial<Owner> = {}): Owner => ({
    kind,
    count: 1,
    resident_bytes: bytes,
    proportional_bytes: bytes,
    swapped_bytes: 0,
    ...more,
});
const owners = [
    owner("file", 300, { name: "/usr/lib/libc.so.6" }),
    owner("tool", 250, { name: "recorder" }),
    owner("blocks", 200, { function: "make(int)", file: "/src/a.c", line: 3, key: 1, node: 2 }),
    owner("blocks", 50, { more: 1234 }),
    owner("a kind of later", 40, { name: "what" }),
    owner("stack", 30, { name: "main", thread: 77 }),
    owner("globals", null, { name: "table", module: "/bin/x" }),
];

test("kinds add up to all that is resident, and what is not known is nobody's", () => {
    const kinds = byKind(owners);
    assert.deepEqual(
        kinds.map(({ kind, bytes }) => [kind.kind, bytes]),
        [
            ["blocks", 250],
            ["file", 300],
            ["stack", 30],
            ["other", 40],
            ["tool", 250],
        ],
    );
    assert.equal(
        kinds.reduce((sum, { bytes }) => sum + bytes, 0),
        owners.reduce((sum, { resident_bytes }) => sum + (resident_bytes ?? 0), 0),
    );
});

test("the largest are the program's own, each by name, and none is a rest", () => {
    assert.deepEqual(largest(owners, 3).map(nameOfOwner), ["libc.so.6", "make(int)", "what"]);
    assert.equal(placeOfOwner(owners[2]!), "a.c:3");
    assert.equal(nameOfOwner(owners[3]!), "1,234 more");
    assert.equal(nameOfOwner(owners[5]!), "main, thread 77");
    assert.equal(nameOfOwner(owners[6]!), "table of x");
});

test("every owner leads somewhere", () => {
    for (const each of owners) assert.ok(placeToSee(each).view, each.kind);
    assert.equal(placeToSee(owners[2]!).metric, "resident_bytes");
    assert.equal(placeToSee(owners[3]!).opt, "list:owners,kind:blocks");
});

test("every metric is in one group", () => {
    const names = [
        "alloc_count",
        "at_peak_bytes",
        "free_bytes",
        "lifetime_sum_ns",
        "live_slack_bytes",
        "what_else",
    ];
    const metrics = names.map((name) => ({ name }) as Metric);
    const found = metricGroups(metrics);
    assert.deepEqual(
        found.flatMap((group) => group.metrics.map(({ name }) => name)).sort(),
        [...names].sort(),
    );
    assert.deepEqual(
        found.map(({ title }) => title),
        ["Held", "Asked for", "Freed", "Wasted", "Times", "Other"],
    );
});
