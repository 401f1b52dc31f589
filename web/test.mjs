/* Bundles each test for Node and runs them (node --test): TypeScript as it is, no browser. */
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const out = await mkdtemp(join(tmpdir(), "tidemark-web-"));
const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
await build({
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
    jsx: "automatic",
    jsxImportSource: "preact",
});
const { status } = spawnSync(
    process.execPath,
    ["--test", ...tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))],
    { stdio: "inherit" },
);
await rm(out, { recursive: true, force: true });
process.exit(status ?? 1);
