/* Global and thread-local variables. A treemap groups them by module, file or section, a list
 * has the largest, and a table has what each section holds. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { baseName, filePlace } from "../model/profile.ts";
import { bytes, exact } from "../model/units.ts";
import { searcher } from "../model/search.ts";
import { go, link, state } from "../state/state.ts";
import { getOption, withOptions } from "../state/url.ts";
import { Table, type Column } from "../widgets/table.tsx";
import { Treemap, type TreemapGroup } from "../widgets/treemap.tsx";
import { Card, NotRecorded, Ready, useLoaded } from "../widgets/states.tsx";
import type { ViewProps } from "./registry.ts";

interface Variable {
    name: string;
    linkage: string | null;
    bytes: number;
    module: number;
    section: string;
    file: string | null;
    line: number | null;
}
interface Section {
    module: number;
    section: string;
    bytes: number;
    named_bytes: number;
    variables: number;
    exported_only: boolean;
}
interface Globals {
    tls_per_thread_bytes: number;
    tls_image_bytes: number;
    tls_bytes: number;
    sections: Section[];
    variables: Variable[];
}

export function GlobalsView({ profile }: ViewProps): JSX.Element {
    const loaded = useLoaded(async () => {
        if (!profile.has("globals")) return null;
        const [{ globals }, { modules }] = await Promise.all([
            profile.json<{ globals: Globals | null }>("globals"),
            profile.json<{ modules: { path: string }[] | null }>("modules"),
        ]);
        return (
            globals && {
                globals: {
                    ...globals,
                    sections: globals.sections ?? [],
                    variables: globals.variables ?? [],
                },
                modules: modules ?? [],
            }
        );
    }, [profile]);
    return (
        <Ready of={loaded}>
            {(all) =>
                all ? (
                    <Variables {...all} />
                ) : (
                    <NotRecorded
                        of={profile}
                        what="Variables are not in this profile."
                        how="They are read when the recording ends: a profile that was cut short has none."
                    />
                )
            }
        </Ready>
    );
}

/* Variables added up by what `of` says; beyond the largest of a group the rest is one. */
function gather(globals: Globals, of: (variable: Variable) => string): TreemapGroup[] {
    const groups = new Map<string, Variable[]>();
    for (const each of globals.variables) {
        const name = of(each),
            list = groups.get(name);
        if (list) list.push(each);
        else groups.set(name, [each]);
    }
    const sum = (list: readonly Variable[]) => list.reduce((total, each) => total + each.bytes, 0);
    return [...groups].map(([name, list]) => {
        const sorted = list.sort((a, b) => b.bytes - a.bytes),
            rest = sum(sorted.slice(60));
        return {
            name,
            value: sum(sorted),
            children: [
                ...sorted.slice(0, 60).map((each) => ({ name: each.name, value: each.bytes })),
                ...(rest ? [{ name: `${baseName(name)}, smaller`, value: rest }] : []),
            ],
        };
    });
}

const byFile = (globals: Globals) => gather(globals, (each) => each.file ?? "file not known");

/* Modules hold what has no name, too. */
function byModule(globals: Globals, module: (at: number) => string): TreemapGroup[] {
    const groups = gather(globals, (each) => module(each.module));
    for (const group of groups) {
        const whole = globals.sections
            .filter((each) => module(each.module) === group.name)
            .reduce((total, each) => total + each.bytes, 0);
        if (whole > group.value)
            (group.children as { name: string; value: number }[]).push({
                name: `${baseName(group.name)}, without a name`,
                value: whole - group.value,
            });
        group.value = Math.max(whole, group.value);
        group.name = baseName(group.name);
    }
    return groups;
}

function bySection(globals: Globals, module: (at: number) => string): TreemapGroup[] {
    return globals.sections.map((section) => {
        const own = globals.variables
            .filter((each) => each.module === section.module && each.section === section.section)
            .sort((a, b) => b.bytes - a.bytes)
            .slice(0, 60);
        const named = own.reduce((sum, each) => sum + each.bytes, 0);
        return {
            name: `${baseName(module(section.module))} ${section.section}`,
            value: section.bytes,
            children: [
                ...own.map((each) => ({ name: each.name, value: each.bytes })),
                {
                    name: `${section.section} of ${baseName(module(section.module))}, smaller and without a name`,
                    value: Math.max(0, section.bytes - named),
                },
            ],
        };
    });
}

type Row = Variable & { index: number };

function columnsOf(module: (at: number) => string, most: number): Column<Row>[] {
    return [
        {
            id: "bytes",
            title: "bytes",
            width: "110px",
            unit: "bytes",
            number: (row) => row.bytes,
            fill: (row) => row.bytes / most,
        },
        { id: "name", title: "variable", width: "minmax(200px, 2fr)", text: (row) => row.name },
        { id: "section", title: "section", width: "80px", text: (row) => row.section },
        {
            id: "file",
            title: "file",
            width: "minmax(140px, 1fr)",
            text: (row) => row.file ?? "",
            show: (row) =>
                row.file ? (
                    <a href={link({ view: "source", file: row.file, line: row.line ?? 0 })}>
                        {filePlace(row.file, row.line)}
                    </a>
                ) : (
                    ""
                ),
        },
        {
            id: "module",
            title: "module",
            width: "minmax(110px, 0.7fr)",
            text: (row) => module(row.module),
            show: (row) => baseName(module(row.module)),
        },
    ];
}

function Sections({
    globals,
    module,
}: {
    globals: Globals;
    module: (at: number) => string;
}): JSX.Element {
    return (
        <Card title="Sections">
            <div class="sections" tabIndex={0} role="region" aria-label="Sections">
                <table class="wide">
                    <tbody>
                        {globals.sections
                            .slice()
                            .sort((a, b) => b.bytes - a.bytes)
                            .map((each) => (
                                <tr key={`${each.module} ${each.section}`}>
                                    <td class="number nowrap" title={exact(each.bytes, "bytes")}>
                                        {bytes(each.bytes)}
                                    </td>
                                    <td>{each.section}</td>
                                    <td class="file" title={module(each.module)}>
                                        {baseName(module(each.module))}
                                    </td>
                                    <td class="dim nowrap">
                                        {each.exported_only ? "exported names only" : ""}
                                    </td>
                                </tr>
                            ))}
                    </tbody>
                </table>
            </div>
            <p class="dim">
                Thread-local: {bytes(globals.tls_per_thread_bytes)} in each thread,{" "}
                {bytes(globals.tls_bytes)} in all.
            </p>
        </Card>
    );
}

function Variables({
    globals,
    modules,
}: {
    globals: Globals;
    modules: { path: string }[];
}): JSX.Element {
    const { search, sort } = state.value;
    const module = (at: number) => modules[at]?.path ?? "?";
    const rows = useMemo(() => {
        const has = searcher(search);
        return globals.variables
            .map((each, index) => ({ ...each, index }))
            .filter(
                ({ name, file, module: at }) =>
                    !has || has({ function: name, file: file ?? "", module: module(at) }),
            );
    }, [globals, search]);
    const found = rows.reduce((sum, each) => sum + each.bytes, 0);
    const most = rows.reduce((best, each) => Math.max(best, each.bytes), 1);
    const columns = useMemo(() => columnsOf(module, most), [rows]);
    const by = getOption(state.value, "by") ?? "section";
    const tree = useMemo(
        () =>
            by === "file"
                ? byFile(globals)
                : by === "module"
                  ? byModule(globals, module)
                  : bySection(globals, module),
        [globals, by],
    );
    return (
        <>
            <div class="split own-height">
                <Card
                    title={`Variables by ${by === "section" ? "module and section" : by}`}
                    tools={
                        <select
                            aria-label="Grouped by"
                            value={by}
                            onChange={(event) =>
                                go(
                                    {
                                        opt: withOptions(state.value, {
                                            by:
                                                event.currentTarget.value === "section"
                                                    ? undefined
                                                    : event.currentTarget.value,
                                        }),
                                    },
                                    "replace",
                                )
                            }>
                            <option value="section">by section</option>
                            <option value="module">by module</option>
                            <option value="file">by file</option>
                        </select>
                    }>
                    <Treemap
                        name="globals"
                        label="Variables as areas"
                        groups={tree}
                        height={250}
                        format={bytes}
                    />
                </Card>
                <Sections globals={globals} module={module} />
            </div>
            <Table
                name="variables"
                label="Variables"
                rows={rows}
                whole={globals.variables.length}
                columns={columns}
                sort={sort || "-bytes"}
                onSort={(next) => go({ sort: next }, "replace")}
                rowKey={(row) => row.index}
                empty={search ? `No variable, file or module with “${search}” in it.` : undefined}
                foot={
                    <span data-sum title={exact(found, "bytes")}>
                        {bytes(found)}
                    </span>
                }
            />
        </>
    );
}
