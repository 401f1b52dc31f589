/* What is focused on: it holds for every view, so it is always in sight and can be taken off. */
import type { JSX } from "preact";
import { shortName, type Profile } from "../model/profile.ts";
import { duration } from "../model/units.ts";
import { go, state } from "../state/state.ts";
import { useLoaded } from "./states.tsx";

export function Chips({ of }: { of: Profile | null }): JSX.Element | null {
    const { fn, node, from, to, thread, rank } = state.value;
    const needNames = fn >= 0 || node >= 0;
    const tree = useLoaded(async () => (of && needNames ? of.callTree() : null), [of, needNames]);
    const chips: [string, () => void][] = [];
    const names = tree.state === "there" ? tree.value?.names : undefined;
    if (fn >= 0) chips.push([`function ${names && fn < names.tree.keyCount ? shortName(names.ofKey(fn)) : fn}`, () => go({ fn: -1 })]);
    if (node >= 0) {
        const line = names && node < names.tree.nodeCount ? names.tree.codeFirstLine[names.tree.code[node]!] : undefined;
        chips.push([`call path to ${line !== undefined ? shortName(names!.ofLine(line)) : node}`, () => go({ node: -1 })]);
    }
    if (from >= 0 || to >= 0) chips.push([`time ${duration(Math.max(0, from))} to ${to < 0 ? "the end" : duration(to)}`, () => go({ from: -1, to: -1 })]);
    if (thread >= 0) chips.push([`thread ${thread}`, () => go({ thread: -1 })]);
    if (rank >= 0) chips.push([`rank ${rank}`, () => go({ rank: -1 })]);
    if (!chips.length) return null;
    return (
        <div class="chips" aria-label="Focus">
            {chips.map(([text, off]) => (
                <span class="chip nowrap" key={text} title={text}>{text} <button class="plain" aria-label={`Take off: ${text}`} onClick={off}>✕</button></span>))}
        </div>
    );
}
