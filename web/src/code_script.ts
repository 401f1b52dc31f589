/* Draws source text for widgets/code.tsx: CodeMirror and its languages, a script of its own
 * (code.js), because they are half of all code and only one view needs them. */
import { cpp } from "@codemirror/lang-cpp";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { fortran } from "@codemirror/legacy-modes/mode/fortran";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { EditorState, RangeSetBuilder, type Extension } from "@codemirror/state";
import {
    Decoration,
    EditorView,
    gutter,
    GutterMarker,
    keymap,
    lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { CodeDrawing, DrawCode, LineFigures } from "./widgets/code.tsx";

function language(file: string): Extension {
    if (/\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|ipp|tcc|inl|cu)$/i.test(file) || !/\.[^/]*$/.test(file))
        return cpp();
    if (/\.rs$/i.test(file)) return StreamLanguage.define(rust);
    if (/\.pyx?$/i.test(file)) return StreamLanguage.define(python);
    if (/\.(f|for|ftn|f77|f90|f95|f03|f08|f18)$/i.test(file)) return StreamLanguage.define(fortran);
    return [];
}

class Figures extends GutterMarker {
    constructor(readonly of: LineFigures) {
        super();
    }
    override eq(other: Figures): boolean {
        return this.of === other.of;
    }
    override toDOM(): Node {
        const box = document.createElement("div");
        box.className = "figures";
        const bar = document.createElement("span");
        bar.className = "bar";
        bar.style.width = `${Math.max(1, Math.round(100 * this.of.share))}%`;
        const own = document.createElement("span"),
            all = document.createElement("span");
        own.className = all.className = "value";
        own.textContent = this.of.exclusive;
        all.textContent = this.of.inclusive;
        box.append(bar, own, all);
        return box;
    }
}

function look(dark: boolean): Extension {
    return [
        EditorView.theme(
            {
                "&": {
                    height: "100%",
                    fontSize: "12.5px",
                    color: "var(--text)",
                    backgroundColor: "var(--ground)",
                },
                ".cm-scroller": { fontFamily: "var(--mono)", overflow: "auto" },
                ".cm-gutters": {
                    backgroundColor: "var(--raised)",
                    color: "var(--dim)",
                    borderRight: "1px solid var(--line)",
                },
                ".figures": {
                    position: "relative",
                    width: "150px",
                    display: "flex",
                    justifyContent: "space-between",
                    padding: "0 6px",
                    cursor: "pointer",
                    fontVariantNumeric: "tabular-nums",
                    color: "var(--text)",
                },
                ".figures .bar": {
                    position: "absolute",
                    left: "0",
                    top: "1px",
                    bottom: "1px",
                    backgroundColor: "var(--bar)",
                },
                ".figures .value": { position: "relative", width: "66px", textAlign: "right" },
                ".cm-chosen": { backgroundColor: "var(--mark)" },
                ".cm-activeLine": { backgroundColor: "transparent" },
                "&.cm-focused": { outline: "none" },
            },
            { dark },
        ),
        syntaxHighlighting(
            HighlightStyle.define([
                {
                    tag: [tags.keyword, tags.controlKeyword, tags.modifier],
                    color: dark ? "#7cc8f2" : "#00558e",
                },
                { tag: [tags.string, tags.character], color: dark ? "#e8a58f" : "#9a2a06" },
                { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
                { tag: [tags.number, tags.bool], color: dark ? "#4cc79f" : "#00664a" },
                {
                    tag: [tags.typeName, tags.className, tags.namespace],
                    color: dark ? "#f0b73a" : "#6f5200",
                },
                {
                    tag: [tags.processingInstruction, tags.macroName, tags.meta],
                    color: dark ? "#dc93bd" : "#8c3f6c",
                },
            ]),
        ),
    ];
}

const draw: DrawCode = (
    shadow,
    place,
    { file, text, figures, line, dark, onLine }: CodeDrawing,
) => {
    const chosen = (state: EditorState) => {
        const builder = new RangeSetBuilder<Decoration>();
        if (line > 0 && line <= state.doc.lines) {
            const at = state.doc.line(line).from;
            builder.add(at, at, Decoration.line({ class: "cm-chosen" }));
        }
        return builder.finish();
    };
    const made = EditorState.create({
        doc: text,
        extensions: [
            EditorState.readOnly.of(true),
            EditorView.editable.of(false),
            EditorView.contentAttributes.of({
                tabindex: "0",
                "aria-label": `Source of ${file}`,
            }),
            keymap.of([]),
            gutter({
                class: "cm-figures",
                lineMarker: (editor, block) => {
                    const of = figures.get(editor.state.doc.lineAt(block.from).number);
                    return of ? new Figures(of) : null;
                },
                initialSpacer: () => new Figures({ exclusive: "", inclusive: "", share: 0 }),
                domEventHandlers: {
                    click: (editor, block) => {
                        onLine(editor.state.doc.lineAt(block.from).number);
                        return true;
                    },
                },
            }),
            lineNumbers({
                domEventHandlers: {
                    click: (editor, block) => {
                        onLine(editor.state.doc.lineAt(block.from).number);
                        return true;
                    },
                },
            }),
            language(file),
            look(dark),
            EditorView.decorations.of((editor) => chosen(editor.state)),
        ],
    });
    const view = new EditorView({ state: made, parent: place, root: shadow });
    if (line > 0 && line <= made.doc.lines)
        view.dispatch({
            effects: EditorView.scrollIntoView(made.doc.line(line).from, { y: "center" }),
        });
    return () => view.destroy();
};

window.tidemarkDrawCode = draw;
