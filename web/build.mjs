/* Bundles the browser's half into dist/: app.js, graph.js (the graph engine, loaded when used),
 * app.css, index.html. The C side compresses and embeds these (src/show/server/). */
import { build } from "esbuild";
import { copyFile, mkdir, rm, stat } from "node:fs/promises";

const out = process.argv[2] ?? "dist";
const limit = 1.5 * 1024 * 1024; /* bytes of all that a first page may load */

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
await copyFile("src/index.html", `${out}/index.html`);

const sizes = {};
for (const name of ["app.js", "app.css", "graph.js"])
    sizes[name] = (await stat(`${out}/${name}`)).size;
const total = sizes["app.js"] + sizes["app.css"] + sizes["graph.js"];
if (process.stdout.isTTY) console.log(sizes);
if (total > limit) {
    console.error(`web: the bundle has ${total} bytes, more than ${limit}`);
    process.exit(1);
}
