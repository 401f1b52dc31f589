/* What of the command the extension uses: a page of a profile, and the figures of a file's lines.
 * Knows nothing of the editor. */
"use strict";
const { execFile } = require("node:child_process");

/* A page of a million call paths is some 7 MB; figures of a file are less. */
const MOST_BYTES = 512 << 20;

/* What the command writes; rejects with its sentence. */
function run(command, args) {
    return new Promise((resolve, reject) => {
        execFile(
            command,
            args,
            { maxBuffer: MOST_BYTES, encoding: "utf8", windowsHide: true },
            (error, out, said) => {
                if (!error) return resolve(out);
                reject(new Error(sentenceOf(error, said, command)));
            },
        );
    });
}

function sentenceOf(error, said, command) {
    if (error.code === "ENOENT")
        return `There is no command '${command}': install Tidemark, or set tidemark.path.`;
    const first = said.split("\n")[0].replace(/^tidemark( \w+)?: /, "");
    return first || error.message;
}

/* The web view of the profile as one page. */
function pageOf(command, file) {
    return run(command, ["html", "--no-sources", "-o", "-", file]);
}

/* Figures of the lines of a source file, as doc/ANNOTATE-JSON.md has them; null: the profile has no
 * code of that file. */
async function linesOf(command, profile, source, { metric, sourcePaths }) {
    const paths = sourcePaths.flatMap((each) => ["--source-path", each]);
    const args = ["annotate", "--json", "--full", "-m", metric, ...paths, profile, source];
    try {
        return JSON.parse(await run(command, args));
    } catch (error) {
        if (isOfNoFile(error)) return null;
        throw error;
    }
}

const isOfNoFile = (error) => error.message.startsWith("no source line with figures is of ");

/* ---- Figures for people ---- */

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesFor(value) {
    let at = 0,
        shown = value;
    for (; shown >= 1024 && at < units.length - 1; at++) shown /= 1024;
    return at ? `${shown.toPrecision(3)} ${units[at]}` : `${value} B`;
}

/* As in doc/ANNOTATE-JSON.md; all others are bytes. */
const counts = ["count", "temporary", "realloc", "failed", "zero", "aligned"],
    times = ["time", "longest", "shortest"];

function timeFor(ns) {
    const [unit, each] = [
        ["s", 1e9],
        ["ms", 1e6],
        ["µs", 1e3],
    ].find(([, each]) => ns >= each) ?? ["ns", 1];
    return `${each === 1 ? ns : (ns / each).toPrecision(3)} ${unit}`;
}

function figureFor(metric, value) {
    if (value === null) return "not known";
    if (counts.includes(metric)) return value.toLocaleString("en");
    return times.includes(metric) ? timeFor(value) : bytesFor(value);
}

/* Beside a line: what it asks for with all that it calls, and its share. Empty: nothing. */
function noteFor(metric, line, total) {
    const value = line.inclusive?.[metric];
    if (!value) return "";
    const share = total ? ` ${((100 * value) / total).toFixed(1)} %` : "";
    return `${figureFor(metric, value)}${share}`;
}

/* Over a line: each figure that is known, as rows of a table in Markdown. */
function detailFor(line) {
    const rows = Object.keys(line.inclusive ?? {})
        .filter((name) => line.inclusive[name] || line.exclusive?.[name])
        .map(
            (name) =>
                `| ${name} | ${figureFor(name, line.exclusive?.[name] ?? null)} | ${figureFor(name, line.inclusive[name])} |`,
        );
    if (!rows.length) return "";
    return ["| | the line itself | with what it calls |", "| --- | ---: | ---: |", ...rows].join(
        "\n",
    );
}

module.exports = { pageOf, linesOf, noteFor, detailFor };
