/* Lists of leaks that are known: the same answers as the C side's
 * (tests/unit/analysis/budget/test_suppressions.c). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allocators } from "../src/model/allocators.ts";
import { parseSuppressions } from "../src/model/suppressions.ts";

const frames = [
    { name: "make_node", file: "/s/l.cpp", module: "/lib/libload.so.1" },
    { name: "ns::load(int)", file: "/s/l.cpp", module: "/lib/libload.so.1" },
    { name: "main", file: "/s/m.c", module: "/bin/prog" },
];
const excuses = (text: string) => parseSuppressions(text).list.some((each) => each.matches(frames));
const block = (...lines: string[]) => ["{", "name", "Memcheck:Leak", ...lines, "}"].join("\n");

test("a block may begin with any function that returns a block", () => {
    for (const name of [
        ...allocators,
        "pvalloc",
        "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "operator new(unsigned int)",
    ])
        assert.ok(excuses(block(`fun:${name}`, "fun:make_node")), name);
});

test("paths begin where malloc was called", () => {
    for (const list of [
        ["fun:malloc", "fun:make_node"],
        ["fun:make_node"],
        ["fun:*alloc", "fun:make_*", "fun:ns::*", "fun:main"],
        ["fun:malloc", "...", "fun:main"],
        ["...", "obj:*/libload.so*"],
        ["..."],
    ])
        assert.ok(excuses(block(...list)), list.join(" "));
    for (const list of [
        ["fun:malloc", "fun:main"],
        ["fun:make_node", "fun:main"],
        ["fun:node"],
        ["fun:make_node", "fun:*", "fun:main", "fun:_start"],
    ])
        assert.ok(!excuses(block(...list)), list.join(" "));
    for (const [text, excused] of [
        ["leak:make_node", true],
        ["leak:load.so", true],
        ["leak:^main$", true],
        ["leak:^node", false],
        ["leak:nothing", false],
    ] as const)
        assert.equal(excuses(text), excused, text);
});
