import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
    bytes,
    count,
    duration,
    exact,
    format,
    onAxis,
    share,
    times,
    signed,
} from "../src/model/units.ts";
import { shortName } from "../src/model/names.ts";
import { fineBins } from "../src/views/sizes.tsx";
import { fateOf } from "../src/views/leaks.tsx";
import { parseSuppressions } from "../src/model/suppressions.ts";
import { squarify } from "../src/widgets/treemap.tsx";
import { fitting, toCsv } from "../src/widgets/table.tsx";

test("more than twice the whole is so many times of it, as the text says it", () => {
    assert.deepEqual([0.123, 1, 1.99, 1.995, 2.7, 9.94, 9.96, 270].map(times), [
        "12.3 %",
        "100 %",
        "199 %",
        "2.0 times",
        "2.7 times",
        "9.9 times",
        "10 times",
        "270 times",
    ]);
});

test("figures read as in the text report", () => {
    const kinds: Record<string, (value: number) => string> = {
        bytes,
        count,
        duration,
        percent: share,
    };
    const lines = readFileSync("../tests/unit/common/base/human.tsv", "utf8")
        .split("\n")
        .filter((line) => line && !line.startsWith("#"));
    assert.ok(lines.length > 40);
    for (const line of lines) {
        const [kind, figure, text] = line.split("\t");
        assert.equal(kinds[kind!]!(Number(figure)), text, line);
        if (Number(figure) > 0 && kind !== "percent")
            assert.equal(kinds[kind!]!(-Number(figure)), `−${text}`);
    }
});

test("what only the browser has", () => {
    assert.equal(count(0.5), "0.50");
    assert.equal(count(1234.5), "1,234");
    assert.equal(share(-0.25), "−25.0 %");
    assert.equal(format(NaN, "bytes"), "–");
    for (const [value, unit, text] of [
        [-56203673, "bytes", "−53.5 MiB"],
        [-0.998, "share", "−99.8 %"],
        [0.5, "share", "+50.0 %"],
        [0, "count", "±0"],
        [NaN, "ns", "–"],
        [-12, "bytes", "−12 B"],
        [-0.5, "bytes", "0 B"],
    ] as const)
        assert.equal(signed(value, unit), text);
    assert.equal(exact(1234567, "bytes"), "1,234,567 B");
    assert.equal(exact(null, "bytes"), "not recorded");
    assert.equal(exact(-1234567, "count"), "−1,234,567");
});

test("axes without zeros that say nothing", () => {
    for (const [long, short] of [
        ["4.00 MiB", "4 MiB"],
        ["1.50 s", "1.5 s"],
        ["12.0 k", "12 k"],
        ["1,000", "1,000"],
        ["100 KiB", "100 KiB"],
        ["0 B", "0 B"],
        ["10.5 ms", "10.5 ms"],
        ["1.05 s", "1.05 s"],
        ["50.0 %", "50 %"],
        ["2.00 MiB/s", "2 MiB/s"],
        ["0.50", "0.5"],
    ])
        assert.equal(onAxis(long!), short);
});

test("names without what there is no room for", () => {
    assert.equal(shortName("int ns::f<int, char>(char const*)"), "ns::f<int, char>");
    assert.equal(shortName("operator new(unsigned long)"), "operator new");
    assert.equal(shortName("(anonymous namespace)::make(int)"), "(anonymous namespace)::make");
    assert.equal(shortName("main"), "main");
    assert.equal(shortName("main program"), "main program");
    assert.equal(shortName("solve [OpenMP region 0]"), "solve [OpenMP region 0]");
    assert.equal(
        shortName("ns::Mesh<double>::solve(int) [OpenMP region 12] [clone .cold]"),
        "ns::Mesh<double>::solve [OpenMP region 12]",
    );
    assert.equal(shortName("heat::solve [clone .constprop.0]"), "heat::solve");
    assert.equal(shortName("foo::operator()(int) const"), "foo::operator()");
    assert.equal(
        shortName("main::{lambda(int, auto:1&)#2}::operator()(int) const"),
        "main::{lambda(int, auto:1&)#2}::operator()",
    );
    assert.equal(
        shortName("void serve(int (*)(char))::{lambda()#1}::operator()() const"),
        "serve(int (*)(char))::{lambda()#1}::operator()",
    );
    assert.equal(
        shortName("Shop::open(int) const::{lambda()#1}::_FUN()"),
        "Shop::open(int) const::{lambda()#1}::_FUN",
    );
    assert.equal(shortName("void f(int (*)(char))"), "f");
    assert.equal(shortName("f((int"), "f");
    assert.equal(shortName("core::ops::{{closure}}"), "core::ops::{{closure}}");
});

test("fine bins are four to a power of two", () => {
    assert.deepEqual(fineBins(0, 32), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32]);
});

test("what became of a path's other blocks", () => {
    assert.equal(fateOf({ made: 2000, freed: 0 }), "none freed");
    assert.equal(fateOf({ made: 2000, freed: 3 }), "few freed");
    assert.equal(fateOf({ made: 6, freed: 2 }), "some freed");
    assert.equal(fateOf({ made: 100, freed: 97 }), "most freed");
});

const frames = [
    { name: "operator new", file: "", module: "/lib/libstdc++.so.6" },
    { name: "ns::make", file: "src/a.cpp", module: "/bin/app" },
    { name: "main", file: "src/main.cpp", module: "/bin/app" },
];

test("suppressions of LSan and of valgrind", () => {
    const { list, errors } = parseSuppressions(
        "# known\nleak:ns::ma*\n{\n  by frames\n  Memcheck:Leak\n  fun:operator new\n  ...\n  fun:main\n}\nnonsense\n",
    );
    assert.equal(list.length, 2);
    assert.deepEqual(errors, ["line 10: neither “leak:PATTERN” nor a valgrind block"]);
    assert.ok(list[0]!.matches(frames) && list[1]!.matches(frames));
    assert.ok(
        !parseSuppressions("{\n x\n Memcheck:Leak\n fun:main\n}").list[0]!.matches(frames),
        "frames are matched from the innermost on",
    );
    assert.ok(!parseSuppressions("leak:other").list[0]!.matches(frames));
    assert.equal(parseSuppressions("{\n x\n Memcheck:Leak\n fun:a").errors.length, 1);
});

test("a treemap fills its box and boxes are as large as their values", () => {
    const values = [60, 30, 20, 10, 5, 1],
        boxes = squarify(values, { x: 0, y: 0, width: 126, height: 100 });
    boxes.forEach((box, at) =>
        assert.ok(Math.abs(box.width * box.height - values[at]! * 100) < 1e-6),
    );
    assert.equal(squarify([0, 0], { x: 0, y: 0, width: 10, height: 10 }).length, 2);
});

test("cells that a spreadsheet would run are text", () => {
    const csv = toCsv(
        [{ a: "=cmd()", b: -5 }],
        [
            { id: "a", title: "", width: "", text: (row) => row.a },
            { id: "b", title: "", width: "", number: (row) => row.b },
        ],
    );
    assert.equal(csv, "a,b\n'=cmd(),-5\n");
});

test("in a narrow table names come first, where they would be off the side", () => {
    const columns = [
        { id: "a", title: "bytes", width: "110px", number: () => 1 },
        { id: "b", title: "mean life", width: "84px", unit: "ns", number: () => 1 },
        { id: "name", title: "function", width: "minmax(180px, 1fr)", text: () => "main" },
        { id: "file", title: "file", width: "minmax(100px, 1fr)", text: () => "a.c" },
    ] as const;
    assert.equal(fitting(columns, 302), columns);
    assert.deepEqual(
        fitting(columns, 300).map(({ id }) => id),
        ["name", "a", "b", "file"],
    );
    assert.equal(fitting(columns, 300)[0]!.width, "126px");
    assert.equal(fitting(columns.slice(2), 50).length, 2);
    assert.deepEqual(fitting(columns.slice(0, 2), 50), columns.slice(0, 2));
});
