/* The flame graph: call paths from main() down, or from where memory is asked for outwards. */
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { buildFlame, type Flame } from "../model/flame.ts";
import { shortName, type CallTree } from "../model/profile.ts";
import { exact, format, share } from "../model/units.ts";
import { metricOr, wantedSites } from "../state/profiles.ts";
import { go, state } from "../state/state.ts";
import { theme } from "../state/theme.ts";
import { getOption, withOptions } from "../state/url.ts";
import { flameToSvg, Icicle } from "../widgets/icicle.tsx";
import { saveCanvas, saveText } from "../widgets/save.ts";
import { Ready, useLoaded } from "../widgets/states.tsx";
import { showMenu } from "../widgets/tooltip.tsx";
import { functionMenu } from "./functions.tsx";
import type { ViewProps } from "./registry.ts";

const palettes = {
    light: ["#a6cee8", "#f5c59b", "#a5dcc5", "#e8c3dc", "#cfe6f7", "#f7dc9b", "#dfd691", "#ccd0d6", "#c9bfe6", "#f2b8ad"],
    dark: ["#24577c", "#7a4520", "#1d6650", "#70425e", "#31708f", "#7b5c14", "#625a18", "#4a525b", "#4d4280", "#7d3d30"],
};

/* The same module has the same colour whatever else is shown. */
function moduleColour(module: number, dark: boolean): string {
    const palette = palettes[dark ? "dark" : "light"];
    return palette[(module < 0 ? 7 : module) % palette.length]!;
}

export function FlameView({ profile }: ViewProps): JSX.Element {
    const { hide, collapse, fn, node } = state.value;
    const metric = metricOr(profile, "at_peak_bytes");
    const inverted = getOption(state.value, "inverted") === "1";
    const loaded = useLoaded(async () => {
        const tree = await profile.callTree();
        const column = await profile.column(metric);
        const flame = buildFlame(tree.tree, tree.passes, column, wantedSites(tree), { hide, collapse, inverted, least: 0.0001, most: 100_000 });
        return { tree, flame };
    }, [profile, metric, hide, collapse, inverted, fn, node]);
    return (
        <>
            <div class="bar-row">
                <b>{profile.titleOf(metric)}</b>
                <button aria-pressed={inverted} title="From where memory is asked for outwards to main" onClick={() => go({ opt: withOptions(state.value, { zoom: undefined, inverted: inverted ? undefined : "1" }) })}>inverted</button>
                <button aria-pressed={collapse} title="A function that calls itself as one frame" onClick={() => go({ collapse: !collapse })}>collapse recursion</button>
                <button aria-pressed={getOption(state.value, "up") === "1"} title="The root at the bottom" onClick={() => go({ opt: withOptions(state.value, { up: getOption(state.value, "up") === "1" ? undefined : "1" }) }, "replace")}>upwards</button>
                <span class="dim">click: zoom · Esc: out · right click: more</span>
            </div>
            <Ready of={loaded}>{({ tree, flame }) => <FlameGraph of={tree} flame={flame} metric={metric} profile={profile} />}</Ready>
        </>
    );
}

function FlameGraph({ of, flame, metric, profile }: ViewProps & { of: CallTree; flame: Flame; metric: string }): JSX.Element {
    const { names, tree } = of;
    const { search } = state.value;
    const dark = theme.value === "dark";
    const unit = profile.unitOf(metric);
    const total = flame.frames[0]!.value;
    const zoomed = Number(getOption(state.value, "zoom") ?? 0);
    const zoom = zoomed < flame.frames.length ? zoomed : 0;
    const name = (at: number) => (at === 0 ? `all ${format(total, unit)}` : shortName(names.ofLine(flame.frames[at]!.line)));
    const fill = useMemo(() => (at: number) => at === 0 ? (dark ? "#0f1113" : "#eceef1") : moduleColour(tree.codeModule[names.codeOfLine(flame.frames[at]!.line)]!, dark), [flame, dark]);
    const found = useMemo(() => {
        if (!search) return null;
        const wanted = search.toLowerCase();
        const hit = new Map<number, boolean>();
        const matches = new Uint8Array(flame.frames.length);
        const inside = new Uint8Array(flame.frames.length);
        let value = 0;
        flame.frames.forEach((frame, at) => {
            if (at === 0) return;
            let is = hit.get(frame.line);
            if (is === undefined) hit.set(frame.line, (is = `${names.ofLine(frame.line)}\n${names.place(frame.line)}`.toLowerCase().includes(wanted)));
            matches[at] = is ? 1 : 0;
            inside[at] = matches[at]! | inside[frame.parent]!;
            if (is && !inside[frame.parent]) value += frame.value; /* each path once */
        });
        return { matches, value };
    }, [flame, search]);
    const tip = (at: number) => {
        const frame = flame.frames[at]!;
        if (at === 0) return <>{exact(frame.value, unit)}</>;
        return <>
            <b>{names.ofLine(frame.line).slice(0, 1000)}</b>
            <div class="dim">{names.place(frame.line)}</div>
            <div>{format(frame.value, unit)} ({share(frame.value / total)}): {exact(frame.value, unit)}</div>
            {frame.self > 0 && frame.self !== frame.value && <div class="dim">of it itself {format(frame.self, unit)}</div>}
        </>;
    };
    if (!total) return <div class="empty">No call path has any “{profile.titleOf(metric)}”{state.value.fn >= 0 || state.value.node >= 0 ? " in this focus" : ""}.</div>;
    return (
        <>
            <Icicle flame={flame} label={`Flame graph of ${profile.titleOf(metric)}, ${flame.frames.length} frames`} name={name} fill={fill} tip={tip}
                matches={found?.matches ?? null} zoom={zoom} upwards={getOption(state.value, "up") === "1"} epoch={theme.value}
                onZoom={(at) => go({ opt: withOptions(state.value, { zoom: at ? String(at) : undefined }) })}
                onMenu={(at, x, y) => at > 0 && showMenu(x, y, functionMenu(flame.frames[at]!.key, names.ofLine(flame.frames[at]!.line)))} />
            <div class="bar-row dim">
                <span>{exact(flame.frames.length - 1, "count")} frames{flame.cut ? `; ${exact(flame.cut, "count")} too narrow to be opened further` : ""}</span>
                {found && <span>search: {format(found.value, unit)} ({share(found.value / total)})</span>}
                <span style={{ flex: 1 }} />
                <button class="plain" onClick={() => saveText("flame.svg", "image/svg+xml", flameToSvg(flame, 1600, name, fill))}>SVG</button>
                <button class="plain" onClick={() => saveCanvas("flame.png", document.querySelector<HTMLCanvasElement>(".icicle canvas")!)}>PNG</button>
                <button class="plain" onClick={() => saveText("flame.folded", "text/plain", folded(flame, names.ofKey.bind(names)))}>folded stacks</button>
            </div>
        </>
    );
}

/* "main;solve;push_back 1234", as flame graph tools read it: every frame with something of its own, or
 * with children that were too narrow to be opened. */
export function folded(flame: Flame, name: (key: number) => string): string {
    const below = new Float64Array(flame.frames.length);
    for (const frame of flame.frames) if (frame.parent >= 0) below[frame.parent]! += frame.value;
    const lines: string[] = [];
    flame.frames.forEach((frame, at) => {
        const own = Math.round(frame.value - below[at]!);
        if (at === 0 || own <= 0) return;
        const path: string[] = [];
        for (let up = at; up > 0; up = flame.frames[up]!.parent) path.push(name(flame.frames[up]!.key).replace(/[;\n]/g, ":"));
        lines.push(`${path.reverse().join(";")} ${own}`);
    });
    return lines.join("\n") + "\n";
}
