/* Source text, read-only, with a column of figures beside it, in a shadow tree: the page's policy
 * allows no style elements, and a shadow tree takes style sheets as objects. What draws it is a
 * script of its own (code_script.ts), which is loaded when source is looked at for the first time. */
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { runAsset } from "../data/embedded.ts";
import { theme } from "../state/theme.ts";
import { Ready, useLoaded } from "./states.tsx";

export interface LineFigures {
    exclusive: string;
    inclusive: string;
    share: number;
} /* share of the largest line: the bar */

export interface CodeDrawing {
    file: string;
    text: string;
    figures: ReadonlyMap<number, LineFigures>;
    line: number;
    dark: boolean;
    onLine: (line: number) => void;
}
/* Draws into `place`, which is in `shadow`; what it returns takes that away. */
export type DrawCode = (shadow: ShadowRoot, place: HTMLElement, drawing: CodeDrawing) => () => void;

declare global {
    interface Window {
        tidemarkDrawCode?: DrawCode;
    }
}

let script: Promise<void> | null = null;
async function loadDraw(): Promise<DrawCode> {
    if (!window.tidemarkDrawCode) {
        script ??= runAsset("code.js");
        await script.catch((error: unknown) => {
            script = null; /* the next attempt asks again */
            throw error;
        });
    }
    return window.tidemarkDrawCode!;
}

type CodeProps = Omit<CodeDrawing, "dark">;

export function Code(of: CodeProps): JSX.Element {
    const loaded = useLoaded(loadDraw, []);
    return <Ready of={loaded}>{(draw) => <Drawn draw={draw} {...of} />}</Ready>;
}

function Drawn({ draw, file, text, figures, line, onLine }: CodeProps & { draw: DrawCode }) {
    const host = useRef<HTMLDivElement>(null);
    const pick = useRef(onLine);
    pick.current = onLine;
    const dark = theme.value === "dark";
    useEffect(() => {
        const shadow = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
        const place = document.createElement("div");
        place.style.height = "100%";
        shadow.replaceChildren(place);
        const drawing = { file, text, figures, line, dark };
        return draw(shadow, place, { ...drawing, onLine: (at) => pick.current(at) });
    }, [draw, file, text, figures, line, dark]);
    return <div ref={host} class="source-text" />;
}
