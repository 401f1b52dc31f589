import assert from "node:assert/strict";
import { test } from "node:test";
import {
    conditionsOf,
    searcher,
    termText,
    whyNotSingle,
    withoutTerms,
    withTerm,
} from "../src/model/search.ts";

const parse = {
    function: "std::vector<int>::push_back",
    file: "src/parser.c",
    module: "libdoc.so.1",
};
const found = (words: string) => searcher(words)?.(parse);

test("a part of a name, in either case, and a regular expression", () => {
    for (const words of [
        "push",
        "PUSH",
        "vector<int>",
        "parser.c",
        "libdoc",
        "^std::",
        "push_(back|front)",
        "\\.c$",
    ])
        assert.equal(found(words), true, words);
    for (const words of ["pop", "^vector", "parser.h", "push_(front|none)"])
        assert.equal(found(words), false, words);
});

test("what is no expression is a part of a name", () => {
    assert.equal(searcher("operator()(")!({ function: "f::operator()(int)" }), true);
    assert.equal(searcher("[libdoc")!({ function: "[libdoc.so.1]" }), true);
    assert.equal(searcher("*")!({ function: "f" }), false);
});

test("'!' takes the others, and a place alone is looked at", () => {
    assert.equal(found("!push"), false);
    assert.equal(found("!pop"), true);
    assert.equal(found("function:parser"), false);
    assert.equal(found("file:parser"), true);
    assert.equal(found("module:parser"), false);
    assert.equal(found("!module:libdoc"), false);
    assert.equal(found("!file:none"), true);
    assert.equal(
        searcher("function::push")!({ function: "function::push" }),
        true,
        "a name of C++",
    );
});

test("several terms have to hold together", () => {
    assert.equal(found("module:libdoc & push"), true);
    assert.equal(found("module:libdoc & !push"), false);
    assert.equal(found("module:libxml & push"), false);
    assert.equal(found("push & "), true, "half typed");
    assert.equal(found("push&back"), false, "no term ends without blanks");
});

test("nothing is searched by nothing", () => {
    for (const words of ["", "!", "file:", "!module:"]) assert.equal(searcher(words), null);
});

test("terms about blocks are no names", () => {
    for (const words of ["size:>=64K", "region:solve", "age:>1s", "thread:12", "!size:>1"])
        assert.equal(searcher(words), null, words);
    assert.equal(found("push & size:>=64K"), true);
    assert.equal(found("pop & size:>=64K"), false);
    assert.equal(searcher("size::of")!({ function: "size::of" }), true, "a name of C++");
});

test("sizes are ranges with both ends, as the commands read them", () => {
    for (const [words, least, most] of [
        ["size:>=64K", 65536, Infinity],
        ["size:>64K", 65537, Infinity],
        ["size:<1.5 MiB", 0, 1572863],
        ["size:<=10", 0, 10],
        ["!size:>=64k", 0, 65535],
        ["!size:<10B", 10, Infinity],
        ["size:>=1K & x & size:<2K", 1024, 2047],
        ["size:>2 & size:<2", 3, 1],
    ] as const) {
        const { size, wrong } = conditionsOf(words);
        assert.deepEqual(size, { least, most }, words);
        assert.equal(wrong, "", words);
    }
});

test("what cannot be told is said, and left out", () => {
    for (const [words, why] of [
        ["size:64K", /followed by/],
        ["size:>=64Q", /followed by/],
        ["size:>", /followed by/],
        ["age:10s", /followed by/],
        ["age:>10K", /followed by/],
        ["thread:main", /a thread's number/],
        ["thread:1 & thread:2", /twice/],
        ["!region:solve", /outside a region/],
        ["region:a & region:b", /twice/],
    ] as const) {
        const said = conditionsOf(words);
        assert.match(said.wrong, why, words);
        assert.equal(said.size, null, words);
    }
    assert.equal(conditionsOf("size:>=64K & age:>1s").size?.least, 65536);
    assert.deepEqual(conditionsOf("push"), {
        size: null,
        age: null,
        thread: null,
        region: "",
        wrong: "",
    });
});

test("ages and threads are of single blocks: where nobody knows these, or shows them, that is said", () => {
    const { age, thread } = conditionsOf("age:>=10ms & !age:>1s & !thread:12");
    assert.deepEqual(age, { least: 1e7, most: 1e9 });
    assert.deepEqual(thread, { tid: 12, not: true });
    const old = conditionsOf("age:>10s");
    assert.equal(old.age?.least, 1e10 + 1);
    assert.match(whyNotSingle(old, true, false), /single blocks, not of call paths/);
    assert.match(whyNotSingle(conditionsOf("thread:12"), true, false), /“thread:”.*trace/);
    assert.match(whyNotSingle(old, false, true), /flame graph/);
    assert.equal(whyNotSingle(old, true, true), "");
    assert.equal(whyNotSingle(conditionsOf("push"), false, false), "");
    assert.equal(withTerm("push & age:>1s", "age", ">2s"), "push & age:>2s");
    assert.equal(withTerm("age:>1s", "age", ""), "");
    assert.equal(termText("push & !age:>1s", "age"), "!>1s");
});

test("terms are taken out", () => {
    assert.equal(conditionsOf("push & region:solve").region, "solve");
    assert.equal(withoutTerms("push & region:solve & size:>1", "region"), "push & size:>1");
    assert.equal(withoutTerms("size:>1", "size"), "");
});
