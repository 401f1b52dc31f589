/* The extension: a profile opens in the web view, and its figures stand beside source lines. Whatever
 * is said of a profile comes from the command (tidemark.js). */
"use strict";
const vscode = require("vscode");
const { pageOf, linesOf, noteFor, detailFor } = require("./tidemark.js");

const manifest = require("./package.json");

const VIEW = manifest.contributes.customEditors[0].viewType;
const metrics = manifest.contributes.configuration.properties["tidemark.metric"].enum;

function settings() {
    const of = vscode.workspace.getConfiguration("tidemark");
    return {
        command: of.get("path") || "tidemark",
        metric: of.get("metric") || "peak",
        sourcePaths: of.get("sourcePaths") || [],
    };
}

const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/* ---- A profile in the web view ---- */

class ProfileEditor {
    constructor(lines) {
        this.lines = lines;
    }

    openCustomDocument(uri) {
        return { uri, dispose() {} };
    }

    async resolveCustomEditor(document, panel) {
        const file = document.uri.fsPath;
        const show = async () => {
            try {
                panel.webview.html = await pageOf(settings().command, file);
            } catch (error) {
                panel.webview.html = `<!doctype html><p>${escaped(error.message)}</p>`;
            }
        };
        panel.webview.options = { enableScripts: true, localResourceRoots: [] };
        /* A recording that goes on replaces its file. */
        const watcher = vscode.workspace.createFileSystemWatcher(
            new vscode.RelativePattern(
                vscode.Uri.joinPath(document.uri, ".."),
                document.uri.path.split("/").pop(),
            ),
        );
        watcher.onDidChange(show);
        watcher.onDidCreate(show);
        panel.onDidDispose(() => watcher.dispose());
        await show();
        await this.lines.take(file);
    }
}

/* ---- Figures beside lines ---- */

class Lines {
    constructor() {
        this.profile = null;
        this.figures = new Map(); /* by path of a source: a promise of what linesOf() says */
        this.mark = vscode.window.createTextEditorDecorationType({
            after: {
                margin: "0 0 0 3em",
                color: new vscode.ThemeColor("editorCodeLens.foreground"),
            },
        });
    }

    async take(profile) {
        this.profile = profile;
        this.forget();
        await this.showAll();
    }

    forget() {
        this.figures.clear();
    }

    async hide() {
        this.profile = null;
        this.forget();
        for (const editor of vscode.window.visibleTextEditors) editor.setDecorations(this.mark, []);
    }

    async showAll() {
        await Promise.all(vscode.window.visibleTextEditors.map((editor) => this.show(editor)));
    }

    figuresOf(source) {
        const { command, ...asked } = settings();
        if (!this.figures.has(source))
            this.figures.set(source, linesOf(command, this.profile, source, asked));
        return this.figures.get(source);
    }

    async show(editor) {
        const { document } = editor,
            profile = this.profile;
        if (!profile || document.uri.scheme !== "file") return;
        let said = null;
        try {
            said = await this.figuresOf(document.uri.fsPath);
        } catch (error) {
            this.figures.delete(document.uri.fsPath);
            void vscode.window.showWarningMessage(`Tidemark: ${error.message}`);
        }
        if (this.profile !== profile) return;
        editor.setDecorations(this.mark, said ? this.marksOf(document, said) : []);
    }

    /* Only where the text is what was compiled: else the figures would stand beside other lines. */
    marksOf(document, said) {
        const total = said.totals?.[said.metric];
        return said.lines.flatMap((line) => {
            const at = line.line - 1;
            if (line.line === null || at >= document.lineCount) return [];
            const { text, range } = document.lineAt(at);
            const note = noteFor(said.metric, line, total);
            if (!note || (line.text !== null && line.text.trimEnd() !== text.trimEnd())) return [];
            return [
                {
                    range,
                    renderOptions: { after: { contentText: note } },
                    hoverMessage: new vscode.MarkdownString(detailFor(line)),
                },
            ];
        });
    }
}

/* ---- Commands ---- */

async function chooseProfile() {
    const [chosen] =
        (await vscode.window.showOpenDialog({ filters: { "Tidemark profiles": ["tmk"] } })) ?? [];
    return chosen;
}

async function chooseMetric(lines) {
    const of = vscode.workspace.getConfiguration("tidemark");
    const chosen = await vscode.window.showQuickPick(metrics, {
        placeHolder: "Metric beside lines",
    });
    if (!chosen) return;
    await of.update("metric", chosen, vscode.ConfigurationTarget.Global);
    lines.forget();
    await lines.showAll();
}

function activate(context) {
    const lines = new Lines();
    context.subscriptions.push(
        lines.mark,
        vscode.window.registerCustomEditorProvider(VIEW, new ProfileEditor(lines), {
            webviewOptions: { retainContextWhenHidden: true },
            supportsMultipleEditorsPerDocument: true,
        }),
        vscode.commands.registerCommand("tidemark.showLines", async (uri) => {
            const chosen = uri ?? (await chooseProfile());
            if (chosen) await lines.take(chosen.fsPath);
        }),
        vscode.commands.registerCommand("tidemark.hideLines", () => lines.hide()),
        vscode.commands.registerCommand("tidemark.chooseMetric", () => chooseMetric(lines)),
        vscode.window.onDidChangeVisibleTextEditors(() => lines.showAll()),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (!event.affectsConfiguration("tidemark")) return;
            lines.forget();
            void lines.showAll();
        }),
    );
    return { lines }; /* for tests */
}

module.exports = { activate, deactivate() {} };
