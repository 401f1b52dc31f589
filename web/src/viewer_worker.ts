/* The worker that reads dropped files: the page stays awake while a large one is unpacked. It gets
 * the module first, then questions, each with a number that its answer bears. */
import { Reader } from "./data/reader.ts";
import { MissingResource } from "./data/source.ts";
import type { Answer, Question } from "./data/dropped.ts";

let module: WebAssembly.Module | null = null;
const readers: Reader[] = [];
/* By the page's number of a profile: whose it is, and its number there. */
const profiles: { reader: Reader; file: string; number: number }[] = [];

function add(name: string, bytes: ArrayBuffer) {
    const reader = new Reader(module!, name, new Uint8Array(bytes));
    const listed = reader.list();
    readers.push(reader);
    for (const each of listed) profiles.push({ reader, file: each.file, number: -1 });
    return listed;
}

function make(profile: number, name: string): ArrayBuffer {
    const shown = profiles[profile];
    if (!shown) throw new Error(`There is no profile number ${profile} here.`);
    if (shown.number < 0) shown.number = shown.reader.open(shown.file);
    return shown.reader.make(shown.number, name);
}

function answer(question: Question): Answer["value"] {
    if (question.ask === "module") {
        module = new WebAssembly.Module(question.bytes);
        return null;
    }
    return question.ask === "add"
        ? add(question.name, question.bytes)
        : make(question.profile, question.name);
}

addEventListener("message", (event: MessageEvent<{ id: number; question: Question }>) => {
    const { id, question } = event.data;
    let said: Answer;
    try {
        said = { id, value: answer(question) };
    } catch (error) {
        said = {
            id,
            value: null,
            error: error instanceof Error ? error.message : String(error),
            missing: error instanceof MissingResource,
        };
    }
    const moved = said.value instanceof ArrayBuffer ? [said.value] : [];
    (postMessage as (message: unknown, moved: Transferable[]) => void)(said, moved);
});
