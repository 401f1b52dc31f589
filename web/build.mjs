/* Bundles the browser's half into dist/: app.js, graph.js (the graph engine, loaded when used),
 * app.css, index.html; for the page of `tidemark viewer` also viewer.js and viewer.wasm. The C side
 * compresses and embeds these (src/show/server/). */
import { build } from "esbuild";
import { copyFile, mkdir, rm, stat } from "node:fs/promises";
import { buildViewer } from "./viewer/build.mjs";

const out = process.argv[2] ?? "dist";
/* Bytes of what the first page loads, and of what the worker of graphs loads later. */
const limit = 0.8 * 1024 * 1024;

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
for (const name of ["app.js", "app.css", "graph.js"])
    sizes[name] = (await stat(`${out}/${name}`)).size;
if (process.stdout.isTTY) console.log(sizes);
for (const total of [sizes["app.js"] + sizes["app.css"], sizes["graph.js"]])
    if (total > limit) {
        console.error(`web: a bundle has ${total} bytes, more than ${limit}`);
        process.exit(1);
    }
