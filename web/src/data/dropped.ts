/* The data source of the page that `tidemark viewer` writes: files that are dropped on it, read by a
 * worker with the command's own readers (reader.ts). Nothing leaves the page. */
import { asset, assetUrl } from "./embedded.ts";
import { MissingResource, type DataSource, type ProfileEntry } from "./source.ts";

export type Question =
    | { ask: "module"; bytes: ArrayBuffer }
    | { ask: "add"; name: string; bytes: ArrayBuffer }
    | { ask: "make"; profile: number; name: string }
    | { ask: "sql"; profile: number; statement: string };

export interface Answer {
    id: number;
    value: ProfileEntry[] | ArrayBuffer | string | null;
    error?: string;
    missing?: boolean;
}

/* Is this that page? */
export function isViewer(): boolean {
    return document.documentElement.dataset["tidemark"] === "viewer";
}

/* ---- The worker ---- */

interface Waiting {
    resolve: (value: Answer["value"]) => void;
    reject: (error: Error) => void;
}

class Asked {
    private readonly waiting = new Map<number, Waiting>();
    private last = 0;

    constructor(private readonly worker: Worker) {
        worker.onmessage = (event: MessageEvent<Answer>) => {
            const { id, value, error, missing } = event.data,
                waiter = this.waiting.get(id);
            this.waiting.delete(id);
            if (error === undefined) waiter?.resolve(value);
            else waiter?.reject(missing ? new MissingResource(error) : new Error(error));
        };
        worker.onerror = (event) => {
            for (const waiter of this.waiting.values())
                waiter.reject(new Error(event.message || "The reader could not be started."));
            this.waiting.clear();
        };
    }

    ask(question: Question): Promise<Answer["value"]> {
        const id = ++this.last;
        const moved = "bytes" in question ? [question.bytes] : [];
        return new Promise((resolve, reject) => {
            this.waiting.set(id, { resolve, reject });
            this.worker.postMessage({ id, question }, moved);
        });
    }
}

let started: Promise<Asked> | null = null;

async function startWorker(): Promise<Asked> {
    const asked = new Asked(new Worker(await assetUrl("viewer.js")));
    await asked.ask({ ask: "module", bytes: await asset("viewer.wasm") });
    return asked;
}

/* ---- The source ---- */

/* Grows with each file: an index stays what it is. */
const profiles: ProfileEntry[] = [];

/* Adds the files' profiles; a sentence for each file that has none. */
export async function addFiles(files: readonly File[]): Promise<string[]> {
    const asked = await (started ??= startWorker()),
        refused: string[] = [];
    for (const file of files)
        try {
            const bytes = await file.arrayBuffer();
            const listed = await asked.ask({ ask: "add", name: file.name, bytes });
            profiles.push(...(listed as ProfileEntry[]));
        } catch (error) {
            refused.push(error instanceof Error ? error.message : String(error));
        }
    return refused;
}

async function bytesOf(profile: number, name: string): Promise<ArrayBuffer> {
    const asked = await started!;
    return (await asked.ask({ ask: "make", profile, name })) as ArrayBuffer;
}

async function json<T>(profile: number, name: string): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await bytesOf(profile, name))) as T;
}

export const dropped: DataSource = {
    profiles,
    sql: async (profile, statement) => {
        const asked = await started!;
        return (await asked.ask({ ask: "sql", profile, statement })) as string;
    },
    notes: null,
    asks: false,
    summary: async (profile, prefix = "") => ({
        summary: await json(profile, `${prefix}summary`),
        generation: "",
    }),
    json: (profile, name) => json(profile, name),
    binary: (profile, name) => bytesOf(profile, name),
    watch: () => () => {},
};
