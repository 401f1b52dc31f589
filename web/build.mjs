/* Bundles the browser's half into dist/: app.js, code.js (what draws source text) and graph.js (the
 * graph engine), which are loaded when used, app.css, index.html; for the page of `tidemark viewer` also viewer.js and viewer.wasm. The C side
 * compresses and embeds these (src/show/server/). */
import { build } from "esbuild";
import { copyFile, mkdir, rm, stat } from "node:fs/promises";
import { buildViewer } from "./viewer/build.mjs";

const out = process.argv[2] ?? "dist";
/* Bytes of what the first page loads, of what draws source text, and of the worker of graphs. */
const limits = { first: 460_000, code: 440_000, graph: 840_000 };

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const common = {
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome109", "firefox115", "safari16"],
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: "automatic",
    jsxImportSource: "preact",
};
await build({ ...common, entryPoints: ["src/main.tsx"], outfile: `${out}/app.js` });
await build({ ...common, entryPoints: ["src/code_script.ts"], outfile: `${out}/code.js` });
await build({ ...common, entryPoints: ["src/graph_worker.ts"], outfile: `${out}/graph.js` });
await build({ ...common, entryPoints: ["src/style/app.css"], outfile: `${out}/app.css` });
/* VIEWER=no: somebody wants a report first. */
const wasm = process.env.VIEWER === "no" ? null : buildViewer();
if (wasm) {
    await build({ ...common, entryPoints: ["src/viewer_worker.ts"], outfile: `${out}/viewer.js` });
    await copyFile(wasm, `${out}/viewer.wasm`);
}
/* Last: it tells tools/web.sh when all of this was made. */
await copyFile("src/index.html", `${out}/index.html`);

const sizes = {};
for (const name of ["app.js", "app.css", "code.js", "graph.js"])
    sizes[name] = (await stat(`${out}/${name}`)).size;
if (process.stdout.isTTY) console.log(sizes);
const totals = {
    first: sizes["app.js"] + sizes["app.css"],
    code: sizes["code.js"],
    graph: sizes["graph.js"],
};
for (const [name, total] of Object.entries(totals))
    if (total > limits[name]) {
        console.error(`web: ${name}: a bundle of ${total} bytes, more than ${limits[name]}`);
        process.exit(1);
    }
