/* Compiles the command's own readers of profiles to WebAssembly, dist/viewer.wasm, for the page that
 * `tidemark viewer` writes. SQLite and zstd are compiled from the sources in npm's packages. Writes a
 * file for ninja, so that only what has changed is compiled. Where clang or WASI's C library is
 * missing nothing is made, and the command has no viewer. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = resolve(here, "../.."),
    modules = resolve(here, "../node_modules");
const sqlite = join(modules, "better-sqlite3/deps/sqlite3"),
    zstd = join(modules, "zstd-napi/deps/zstd/lib");

/* The rooms that reading takes, without what asks for a system that a browser does not have:
 * browser.c stands in for it. */
const rooms = {
    "common/base":
        /^(alive|allocator|allowance|guarded_open|memory|new_file|old_file|swept|term|term_guard)\.c$/,
    "common/format": null,
    model: null,
    "files/session": /^session_(file|whole)\.c$/,
    "files/profile": /^(reserve|unnamed)\.c$/,
    "analysis/aggregate": null,
    "analysis/insights": null,
    "analysis/held_by": null,
    "show/report": null,
    "show/query": null,
};
const served =
    "resources columns_document columns_strings look_columns web_summary web_owners code source_files served_list ranks trace_moments router".split(
        " ",
    );

const above = [
    "common",
    "model",
    "",
    "files",
    "analysis",
    "show",
    "host",
    "pipeline",
    "engine",
    "protocol",
];

/* What CMake calls the project's version. */
function version() {
    const text = execFileSync("sed", [
        "-n",
        "s/^project(.*VERSION \\([0-9.]*\\).*/\\1/p",
        join(root, "CMakeLists.txt"),
    ]);
    return String(text).trim();
}

const sourcesIn = (folder, but) =>
    readdirSync(folder)
        .filter((name) => name.endsWith(".c") && !but?.test(name))
        .map((name) => join(folder, name));

function sources() {
    const ours = Object.entries(rooms).flatMap(([room, but]) =>
        sourcesIn(join(root, "src", room), but),
    );
    return {
        ours: [
            ...ours,
            ...served.map((name) => join(root, "src/show/server", `${name}.c`)),
            ...sourcesIn(here),
        ],
        theirs: [
            join(sqlite, "sqlite3.c"),
            ...sourcesIn(join(zstd, "common")),
            ...sourcesIn(join(zstd, "decompress")),
        ],
    };
}

const target = "--target=wasm32-wasi -O2 -ffunction-sections -fdata-sections";
const lacking =
    "-D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID -DENODATA=61";
/* One thread, no files, no code from files. */
const sqliteFlags =
    "-DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_WAL -DSQLITE_OMIT_LOAD_EXTENSION " +
    "-DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_TEMP_STORE=3 -DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -w";

function ninja(out) {
    const include = [
        `-include ${join(here, "include/lacks.h")} -I${join(here, "include")}`,
        ...above.map((folder) => `-I${join(root, "src", folder)}`),
        `-I${join(root, "include")}`,
        `-I${sqlite}`,
        `-I${zstd}`,
    ].join(" ");
    const { ours, theirs } = sources();
    const object = (source, kind) =>
        join(
            out,
            "objects",
            kind,
            basename(resolve(source, "..")) + "_" + basename(source, ".c") + ".o",
        );
    const lines = [
        `ourflags = ${target} ${lacking} -std=gnu17 -D_GNU_SOURCE -DTIDEMARK_VERSION=\\"${version()}\\" ${include}`,
        `theirflags = ${target} ${sqliteFlags} -I${sqlite} -I${zstd}`,
    ];
    for (const kind of ["our", "their"])
        lines.push(
            `rule ${kind}`,
            `  command = clang $${kind}flags -MMD -MF $out.d -c $in -o $out`,
            "  depfile = $out.d",
            "  deps = gcc",
            `  description = wasm $in`,
        );
    lines.push(
        "rule link",
        "  command = clang --target=wasm32-wasi -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all " +
            "-Wl,-z,stack-size=8388608 -o $out $in -lm -lwasi-emulated-mman -lwasi-emulated-signal " +
            "-lwasi-emulated-process-clocks -lwasi-emulated-getpid",
        "  description = wasm $out",
    );
    const objects = [];
    /* Theirs first, in the file and so in time: SQLite takes as long as half of all others. */
    for (const [kind, list] of [
        ["their", theirs],
        ["our", ours],
    ])
        for (const source of list) {
            objects.push(object(source, kind));
            lines.push(`build ${objects.at(-1)}: ${kind} ${source}`);
        }
    lines.push(`build ${join(out, "viewer.wasm")}: link ${objects.join(" ")}`, "");
    return lines.join("\n");
}

const can = (command, ...flags) => {
    try {
        execFileSync(command, flags, { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
};

/* The path of what was made; null: something is missing here, which was said. */
export function buildViewer() {
    const missing = !can("clang", "--version")
        ? "clang"
        : !can("wasm-ld", "--version") && !can("wasm-ld-14", "--version")
          ? "lld"
          : !existsSync("/usr/include/wasm32-wasi")
            ? "wasi-libc"
            : !existsSync(sqlite) || !existsSync(zstd)
              ? "sources of SQLite and zstd"
              : "";
    if (missing) {
        console.error(
            `web: no ${missing} here (tools/setup.sh web): tidemark viewer will have no page`,
        );
        return null;
    }
    const out = join(root, "build/viewer");
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "build.ninja"), ninja(out));
    execFileSync("ninja", ["-C", out, "--quiet"], { stdio: "inherit" });
    return join(out, "viewer.wasm");
}
