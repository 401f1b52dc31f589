import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, duration, exact, format, share } from "../src/model/units.ts";
import { shortName } from "../src/model/profile.ts";
import { fineBins } from "../src/views/sizes.tsx";
import { certaintyOf } from "../src/views/leaks.tsx";
import { parseSuppressions } from "../src/model/suppressions.ts";
import { squarify } from "../src/widgets/treemap.tsx";
import { toCsv } from "../src/widgets/table.tsx";

test("human units", () => {
    assert.equal(bytes(0), "0 B");
    assert.equal(bytes(1023), "1023 B");
    assert.equal(bytes(1024), "1 KiB");
    assert.equal(bytes(1048575), "1 MiB");
    assert.equal(bytes(10.2 * 1024 * 1024), "10.2 MiB");
    assert.equal(count(999), "999");
    assert.equal(count(1234567), "1.23 M");
    assert.equal(duration(1500), "1.5 µs");
    assert.equal(share(0.0001), "< 0.1 %");
    assert.equal(format(NaN, "bytes"), "–");
    assert.equal(exact(1234567, "bytes"), "1,234,567 B");
    assert.equal(exact(null, "bytes"), "not recorded");
});

test("names without what there is no room for", () => {
    assert.equal(shortName("int ns::f<int, char>(char const*)"), "ns::f<int, char>");
    assert.equal(shortName("operator new(unsigned long)"), "operator new");
    assert.equal(shortName("(anonymous namespace)::make(int)"), "(anonymous namespace)::make");
    assert.equal(shortName("main"), "main");
    assert.equal(shortName("foo::operator()(int) const"), "foo::operator()");
});

test("fine bins are four to a power of two", () => {
    assert.deepEqual(fineBins(0, 32), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32]);
});

test("leaks by what is known of them", () => {
    assert.equal(certaintyOf(2000, 0, 2000), "likely");
    assert.equal(certaintyOf(100, 97, 3), "likely");
    assert.equal(certaintyOf(1, 0, 1), "kept");
    assert.equal(certaintyOf(6, 3, 3), "possible");
});

const frames = [{ name: "operator new", file: "", module: "/lib/libstdc++.so.6" }, { name: "ns::make", file: "src/a.cpp", module: "/bin/app" }, { name: "main", file: "src/main.cpp", module: "/bin/app" }];

test("suppressions of LSan and of valgrind", () => {
    const { list, errors } = parseSuppressions("# known\nleak:ns::ma*\n{\n  by frames\n  Memcheck:Leak\n  fun:operator new\n  ...\n  fun:main\n}\nnonsense\n");
    assert.equal(list.length, 2);
    assert.deepEqual(errors, ["line 10: neither “leak:PATTERN” nor a valgrind block"]);
    assert.ok(list[0]!.matches(frames) && list[1]!.matches(frames));
    assert.ok(!parseSuppressions("{\n x\n Memcheck:Leak\n fun:main\n}").list[0]!.matches(frames), "frames are matched from the innermost on");
    assert.ok(!parseSuppressions("leak:other").list[0]!.matches(frames));
    assert.equal(parseSuppressions("{\n x\n Memcheck:Leak\n fun:a").errors.length, 1);
});

test("a treemap fills its box and boxes are as large as their values", () => {
    const values = [60, 30, 20, 10, 5, 1], boxes = squarify(values, { x: 0, y: 0, width: 126, height: 100 });
    boxes.forEach((box, at) => assert.ok(Math.abs(box.width * box.height - values[at]! * 100) < 1e-6));
    assert.equal(squarify([0, 0], { x: 0, y: 0, width: 10, height: 10 }).length, 2);
});

test("cells that a spreadsheet would run are text", () => {
    const csv = toCsv([{ a: "=cmd()", b: -5 }], [{ id: "a", title: "", width: "", text: (row) => row.a }, { id: "b", title: "", width: "", number: (row) => row.b }]);
    assert.equal(csv, "a,b\n'=cmd(),-5\n");
});
