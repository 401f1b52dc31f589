/* The profiles that the suite looks at: recorded, or made with known numbers, when it runs. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const sources = fileURLToPath(new URL("../../tests/web/", import.meta.url));

export function makeProfiles(tidemark, tools, work) {
    const at = (name) => join(work, name),
        victims = join(tools, "../victims");
    const record = (name, options, command) => {
        execFileSync(tidemark, ["record", "-q", ...options, "-o", at(name), ...command], {
            stdio: ["ignore", "ignore", "inherit"],
        });
        return at(name);
    };
    /* null: this kernel does not tell which pages were written */
    const recordHeat = () =>
        spawnSync(tidemark, ["record", "-q", "--heat=1s", "-o", at("none.tmk"), "true"]).status
            ? null
            : record("heat.tmk", ["--heat=50ms"], [join(victims, "lags")]);
    const made = {
        threads: record(
            "threads.tmk",
            ["--embed-sources", "--timed"],
            [join(tools, "web_threads")],
        ),
        again: record("again.tmk", ["--no-looks"], [join(tools, "web_threads")]),
        fragments: record("fragments.tmk", [], [join(tools, "web_fragments")]),
        nameless: record("nameless.tmk", [], [join(tools, "web_nameless")]),
        spike: record("spikes.tmk", [], [join(tools, "web_spike")]),
        islands: record("islands.tmk", [], [join(tools, "web_islands")]),
        sampled: record("sampled.tmk", ["--sample=1K"], [join(tools, "web_threads")]),
        empty: record("empty.tmk", [], ["true"]),
        traced: record("traced.tmk", ["--embed-sources", "--trace"], [join(tools, "web_threads")]),
        trace: at("traced.tmt"),
        regions: record(
            "regions.tmk",
            ["--embed-sources", "--trace"],
            [join(tools, "web_regions")],
        ),
        regionsTrace: at("regions.tmt"),
        moreRegions: record("more_regions.tmk", [], [join(tools, "web_regions"), "40"]),
        levels: record("levels.tmk", [], [join(tools, "web_levels")]),
        held: record("held.tmk", ["--held"], [join(victims, "held")]),
        heat: recordHeat(),
        many: at("many.tmk"),
        hostile: at("hostile.tmk"),
        fortran: null,
        compiler: null,
    };
    /* three ranks, as a launcher would start them, with a file each, so that a test can hold one back */
    for (const rank of ["0", "1", "2"])
        execFileSync(
            tidemark,
            [
                "record",
                "-q",
                "--separate",
                `--job=${at("jobs")}`,
                "--job-id=three",
                join(tools, "web_threads"),
            ],
            {
                stdio: ["ignore", "ignore", "inherit"],
                env: {
                    ...process.env,
                    OMPI_COMM_WORLD_RANK: rank,
                    OMPI_COMM_WORLD_SIZE: "3",
                    OMPI_COMM_WORLD_LOCAL_RANK: rank,
                },
            },
        );
    made.job = at("jobs/three");
    made.ranks = readdirSync(made.job)
        .filter((name) => name.endsWith(".tmk"))
        .sort()
        .map((name) => join(made.job, name));
    made.sums = JSON.parse(
        execFileSync(join(tools, "web_make_profile"), ["many", made.many], { encoding: "utf8" }),
    );
    execFileSync(join(tools, "web_make_profile"), ["hostile", made.hostile]);
    if (
        spawnSync("gfortran", [
            "-g",
            "-O0",
            "-J",
            work,
            "-o",
            at("field"),
            join(sources, "field.f90"),
        ]).status === 0
    )
        made.fortran = record("fortran.tmk", ["--embed-sources"], [at("field")]);
    spawnSync(tidemark, [
        "record",
        "-q",
        "-o",
        at("cc.%n.%p.tmk"),
        "g++",
        "-c",
        "-O0",
        "-o",
        "/dev/null",
        join(sources, "threads.cpp"),
    ]);
    const found = spawnSync("sh", ["-c", `ls '${work}'/cc.cc1plus.*.tmk`], {
        encoding: "utf8",
    }).stdout.trim();
    if (found && existsSync(found)) made.compiler = found;
    return made;
}

export function report(tidemark, file, ...options) {
    return JSON.parse(
        execFileSync(tidemark, ["report", "--json", ...options, file], {
            encoding: "utf8",
            maxBuffer: 1 << 29,
        }),
    );
}

/* When each block of a trace was asked for, in ns since the start: ranges between two of them hold
 * something, however the machine was loaded. */
export function allocationTimes(tidemark, trace, ...options) {
    return execFileSync(tidemark, ["events", "--json", "--kind=malloc,new", ...options, trace], {
        encoding: "utf8",
        maxBuffer: 1 << 29,
    })
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).time_ns);
}

/* A recording that goes on until its input is closed, at the latest at the end of the test `t`. */
export function growing(t, tidemark, tools, file) {
    const child = spawn(tidemark, ["record", "-q", "-o", file, join(tools, "web_growing"), "600"], {
        stdio: ["pipe", "ignore", "ignore"],
    });
    t.after(() => child.stdin.end());
    return child;
}
