/* One file and the readers of it in WebAssembly (viewer/viewer.c): what it has, and the resources of
 * its profiles. An instance that ran out of memory is done with: the error says so, once and for
 * all later questions. */
import { MissingResource, type ProfileEntry } from "./source.ts";
import { Wasi } from "./wasi.ts";

interface Exports {
    memory: WebAssembly.Memory;
    viewer_text(): number;
    viewer_text_bytes(): number;
    viewer_room(bytes: number): number;
    viewer_give_back(room: number): void;
    viewer_list(path: number): number;
    viewer_open(path: number): number;
    viewer_make(profile: number, name: number): number;
    viewer_tables(path: number): number;
    viewer_query(question: number): number;
}

const MISSING = -2;

export class Reader {
    private readonly exports: Exports;
    private broken: Error | null = null;

    constructor(
        module: WebAssembly.Module,
        private readonly name: string,
        bytes: Uint8Array,
    ) {
        const system = new Wasi();
        system.add(name, bytes);
        const instance = new WebAssembly.Instance(module, system.imports);
        system.start(instance);
        this.exports = instance.exports as unknown as Exports;
    }

    get isBroken(): boolean {
        return this.broken !== null;
    }

    /* A call with a text as its last argument. */
    private call(run: (text: number) => number, text: string): number {
        if (this.broken) throw this.broken;
        const bytes = new TextEncoder().encode(text + "\0");
        try {
            const room = this.exports.viewer_room(bytes.length);
            new Uint8Array(this.exports.memory.buffer, room, bytes.length).set(bytes);
            const result = run(room);
            this.exports.viewer_give_back(room);
            return result;
        } catch {
            this.broken = new Error(
                `${this.name} is too large for this page: it takes more memory than a page gets. ` +
                    "`tidemark serve` shows it.",
            );
            throw this.broken;
        }
    }

    /* What the last call had to say. Never a view of memory, which moves. */
    private said(): Uint8Array<ArrayBuffer> {
        const { memory, viewer_text, viewer_text_bytes } = this.exports;
        return new Uint8Array(memory.buffer, viewer_text(), viewer_text_bytes()).slice() as never;
    }

    private sentence(): string {
        return new TextDecoder().decode(this.said());
    }

    /* `file` of each is for open(). */
    list(): ProfileEntry[] {
        if (this.call((path) => this.exports.viewer_list(path), this.name) < 0)
            throw new Error(this.sentence());
        return (JSON.parse(this.sentence()) as { profiles: ProfileEntry[] }).profiles;
    }

    open(file: string): number {
        const number = this.call((path) => this.exports.viewer_open(path), file);
        if (number < 0) throw new Error(this.sentence());
        return number;
    }

    make(profile: number, name: string): ArrayBuffer {
        const type = this.call((text) => this.exports.viewer_make(profile, text), name);
        if (type === MISSING) throw new MissingResource(this.sentence());
        if (type < 0) throw new Error(this.sentence());
        return this.said().buffer;
    }

    /* What SQL can ask of `file`, as text. */
    tables(file: string): string {
        if (this.call((path) => this.exports.viewer_tables(path), file) < 0)
            throw new Error(this.sentence());
        return this.sentence();
    }

    /* A statement's rows (model/sheet.ts). */
    query(file: string, sql: string): string {
        const question = `${file}\n${sql}`;
        if (this.call((text) => this.exports.viewer_query(text), question) < 0)
            throw new Error(this.sentence());
        return this.sentence();
    }
}
