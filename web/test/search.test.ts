import assert from "node:assert/strict";
import { test } from "node:test";
import { searcher } from "../src/model/search.ts";

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
