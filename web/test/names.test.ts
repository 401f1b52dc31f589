import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainTypes, shortName } from "../src/model/names.ts";
import { fileName, filePlace, titleOf } from "../src/model/profile.ts";

test("types read as in the text report", () => {
    const lines = readFileSync("../tests/unit/common/format/types.tsv", "utf8")
        .split("\n")
        .filter((line) => line && !line.startsWith("#"));
    assert.ok(lines.length > 50);
    for (const line of lines) {
        const [full, plain] = line.split("\t");
        assert.equal(plainTypes(full!), plain, line);
        assert.equal(plainTypes(plain!), plain, "what is short stays");
    }
});

test("however deep types lie within one another, what is shown is whole", () => {
    for (const depth of [3, 63, 64, 65, 400]) {
        const name = "std::vector<".repeat(depth) + "int" + ">".repeat(depth);
        assert.equal(plainTypes(name), name);
    }
    const nested = (depth: number): string =>
        depth ? `std::vector<${nested(depth - 1)}, std::allocator<${nested(depth - 1)} > >` : "int";
    assert.equal(plainTypes(nested(8)), "std::vector<".repeat(8) + "int" + ">".repeat(8));
});

test("a function's name has neither parameters nor arguments by default", () => {
    assert.equal(
        shortName(
            "void std::vector<Cell, std::allocator<Cell> >::_M_realloc_insert<Cell const&>(__gnu_cxx::__normal_iterator<Cell*, std::vector<Cell, std::allocator<Cell> > >, Cell const&)",
        ),
        "std::vector<Cell>::_M_realloc_insert<Cell const&>",
    );
    assert.equal(
        shortName(
            "std::map<int, std::unique_ptr<A, std::default_delete<A> >, std::less<int>, std::allocator<std::pair<int const, std::unique_ptr<A, std::default_delete<A> > > > >::operator[](int const&)",
        ),
        "std::map<int, std::unique_ptr<A>>::operator[]",
    );
    assert.ok(shortName("ns::deep<int, char>::".repeat(50_000)).length <= 2000);
});

test("methods of Go keep their receivers", () => {
    for (const [name, short] of [
        ["runtime.(*mheap).grow", "runtime.(*mheap).grow"],
        [
            "github.com/evanw/esbuild/internal/js_parser.(*parser).visitStmts",
            "js_parser.(*parser).visitStmts",
        ],
        ["github.com/evanw/esbuild/internal/js_parser.Parse", "js_parser.Parse"],
        ["net/http.(*Server).Serve", "net/http.(*Server).Serve"],
        ["main.Map[github.com/user/pkg.T]", "main.Map[github.com/user/pkg.T]"],
        ["gopkg.in/yaml.v3.Map[...]", "yaml.v3.Map[...]"],
        ["/srv/a/main.php", "/srv/a/main.php"],
        ["a.b::f(c/d)", "a.b::f"],
    ])
        assert.equal(shortName(name!), short);
});

test("names in brackets are ours, and whole", () => {
    for (const name of ["[the program]", "[file] libc.so.6", "[libz.so]", "[stack] of thread 3"])
        assert.equal(shortName(name), name);
});

test("words in brackets stay whole, and files that every folder has are told apart by it", () => {
    assert.equal(shortName("(below massif's threshold)"), "(below massif's threshold)");
    assert.equal(shortName("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
    assert.equal(fileName("/usr/lib/python3/weasyprint/css/__init__.py"), "css/__init__.py");
    assert.equal(fileName("src/mesh/mod.rs:7"), "mesh/mod.rs:7");
    assert.equal(fileName("__init__.py"), "__init__.py");
    assert.equal(filePlace("src/mesh.c", 7), "mesh.c:7");
    assert.equal(filePlace("-e", null), "-e"); /* of a script's text no line is known */
    assert.equal(fileName("/a/b/six.py"), "six.py");
    assert.equal(titleOf("<module>", "/a/svg.py"), "<module> of svg.py");
    assert.equal(titleOf("<module>", null), "<module>");
    assert.equal(titleOf("f(int)", "/a/f.c"), "f");
});
