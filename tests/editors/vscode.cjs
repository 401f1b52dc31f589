/* vscode.cjs EXTENSION TIDEMARK PROGRAM: the extension against a stand-in of the editor's interface, with
 * the real command on a recording of PROGRAM, which was compiled from tests/web/threads.cpp. */
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { after, test } = require("node:test");

const [extensionPath, tidemark, program] = process.argv.slice(2).map((path) => resolve(path));
const source = resolve(__dirname, "../web/threads.cpp");
const work = mkdtempSync(join(tmpdir(), "tidemark-vscode-"));
after(() => rmSync(work, { recursive: true, force: true }));

/* ---- The editor ---- */

const editor = {
    commands: new Map(),
    provider: null,
    warnings: [],
    settings: { path: tidemark, metric: "peak", sourcePaths: [] },
    visible: [],
    watched: [],
    listeners: {},
};
const disposable = { dispose() {} };
const listener = (name) => (run) => {
    editor.listeners[name] = run;
    return disposable;
};

class Uri {
    constructor(path) {
        this.scheme = "file";
        this.path = this.fsPath = path;
    }
    static joinPath(uri, ...parts) {
        return new Uri(join(uri.path, ...parts));
    }
}

const vscode = {
    Uri,
    ThemeColor: class {},
    MarkdownString: class {
        constructor(value) {
            this.value = value;
        }
    },
    RelativePattern: class {
        constructor(base, pattern) {
            Object.assign(this, { base, pattern });
        }
    },
    ConfigurationTarget: { Global: 1 },
    window: {
        get visibleTextEditors() {
            return editor.visible;
        },
        createTextEditorDecorationType: () => disposable,
        registerCustomEditorProvider(view, provider) {
            editor.view = view;
            editor.provider = provider;
            return disposable;
        },
        onDidChangeVisibleTextEditors: listener("visible"),
        showWarningMessage: async (text) => void editor.warnings.push(text),
        showQuickPick: async (all) => all.find((each) => each === editor.picks),
        showOpenDialog: async () => editor.opens,
    },
    workspace: {
        getConfiguration: () => ({
            get: (name) => editor.settings[name],
            update: async (name, value) => void (editor.settings[name] = value),
        }),
        onDidChangeConfiguration: listener("settings"),
        createFileSystemWatcher(pattern) {
            const watcher = { pattern, ...disposable };
            watcher.onDidChange = (run) => (watcher.change = run);
            watcher.onDidCreate = () => {};
            editor.watched.push(watcher);
            return watcher;
        },
    },
    commands: {
        registerCommand(name, run) {
            editor.commands.set(name, run);
            return disposable;
        },
    },
};

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

function textEditor(path) {
    const lines = readFileSync(path, "utf8").split("\n");
    return {
        document: {
            uri: new Uri(path),
            lineCount: lines.length,
            lineAt: (at) => ({ text: lines[at], range: at }),
        },
        marks: null,
        setDecorations(_, marks) {
            this.marks = marks;
        },
    };
}

const panel = () => ({ webview: { html: "", options: {} }, onDidDispose() {} });

/* ---- The tests ---- */

const profile = join(work, "run.tmk");
execFileSync(tidemark, ["record", "-q", "-o", profile, "--", program], { stdio: "ignore" });
require(extensionPath).activate({ subscriptions: [] });
const manifest = require(join(extensionPath, "package.json"));

const said = (metric) =>
    JSON.parse(
        execFileSync(tidemark, ["annotate", "--json", "-m", metric, profile, source], {
            encoding: "utf8",
        }),
    );

test("the manifest names what the extension has", () => {
    assert.equal(manifest.contributes.customEditors[0].viewType, editor.view);
    assert.deepEqual(
        manifest.contributes.commands.map((each) => each.command).sort(),
        [...editor.commands.keys()].sort(),
    );
});

test("a profile opens as the web view", async () => {
    const shown = panel();
    await editor.provider.resolveCustomEditor(
        editor.provider.openCustomDocument(new Uri(profile)),
        shown,
    );
    assert.match(shown.webview.html, /<html[^>]* data-tidemark="file"/);
    assert.match(shown.webview.html, /data-name="p\/0\/summary"/);
    assert.equal(shown.webview.options.enableScripts, true);
    assert.equal(editor.watched[0].pattern.pattern, "run.tmk");
    shown.webview.html = "";
    await editor.watched[0].change();
    assert.match(shown.webview.html, /data-tidemark="file"/);
});

test("lines have annotate's figures", async () => {
    const of = textEditor(source);
    editor.visible = [of, textEditor(__filename)];
    for (const metric of ["peak", "count"]) {
        editor.picks = metric;
        await editor.commands.get("tidemark.chooseMetric")();
        const lines = said(metric).lines.filter((line) => line.inclusive[metric]);
        assert.ok(lines.length > 3);
        assert.deepEqual(
            of.marks.map((mark) => mark.range + 1),
            lines.map((line) => line.line),
        );
        const total = said(metric).totals[metric];
        for (const [at, line] of lines.entries()) {
            const text = of.marks[at].renderOptions.after.contentText;
            assert.match(
                text,
                new RegExp(`${((100 * line.inclusive[metric]) / total).toFixed(1)} %$`),
            );
            if (metric === "count")
                assert.ok(text.startsWith(line.inclusive.count.toLocaleString("en") + " "));
            assert.match(of.marks[at].hoverMessage.value, new RegExp(`\\| ${metric} \\|`));
            if (line.inclusive.longest)
                assert.match(of.marks[at].hoverMessage.value, /\| longest \| .*(ns|µs|ms|s) \|/);
        }
    }
    assert.deepEqual(editor.visible[1].marks, []);
    assert.deepEqual(editor.warnings, []);
});

test("a line that has changed since has no figure", async () => {
    const changed = join(work, "threads.cpp"),
        text = readFileSync(source, "utf8").split("\n");
    const [first] = said("count").lines.filter((line) => line.inclusive.count && line.line);
    text[first.line - 1] += " // now otherwise";
    writeFileSync(changed, text.join("\n"));
    const embedded = join(work, "embedded.tmk");
    execFileSync(tidemark, ["record", "-q", "--embed-sources", "-o", embedded, "--", program], {
        stdio: "ignore",
    });
    await editor.commands.get("tidemark.showLines")(new Uri(embedded));
    const of = textEditor(changed);
    of.document.uri = new Uri(source); /* the editor has what is not saved */
    editor.visible = [of];
    await editor.listeners.visible();
    assert.ok(of.marks.length > 2);
    assert.ok(!of.marks.some((mark) => mark.range === first.line - 1));
});

test("what goes wrong is one sentence", async () => {
    const bad = join(work, "<b>bad.tmk");
    copyFileSync(source, bad);
    const shown = panel();
    editor.visible = [];
    await editor.provider.resolveCustomEditor(
        editor.provider.openCustomDocument(new Uri(bad)),
        shown,
    );
    assert.match(shown.webview.html, /^<!doctype html><p>.*is no tidemark profile<\/p>$/);
    assert.ok(!shown.webview.html.includes("<b>"));
    editor.settings.path = "/no/such/tidemark";
    await editor.provider.resolveCustomEditor(
        editor.provider.openCustomDocument(new Uri(profile)),
        shown,
    );
    assert.match(shown.webview.html, /There is no command/);
    editor.visible = [textEditor(source)];
    await editor.commands.get("tidemark.showLines")(new Uri(profile));
    assert.match(editor.warnings.join(), /^Tidemark: There is no command/);
    await editor.commands.get("tidemark.hideLines")();
    assert.deepEqual(editor.visible[0].marks, []);
});
