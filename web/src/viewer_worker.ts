/* The worker that reads dropped files: the page stays awake while a large one is unpacked. It gets
 * the module first, then questions, each with a number that its answer bears. */
import { Reader } from "./data/reader.ts";
import { MissingResource } from "./data/source.ts";
import type { Answer, Question } from "./data/dropped.ts";

let module: WebAssembly.Module | null = null;
/* By the page's number of a profile: whose it is, and its number there. */
interface Shown {
    reader: Reader;
    name: string; /* of the dropped file, and what it holds */
    bytes: Uint8Array;
    file: string;
    number: number;
}
const profiles: Shown[] = [];
/* Who answers SQL: an instance of its own, so that a question that takes all memory ends no view. */
let asked: { reader: Reader; bytes: Uint8Array } | null = null;

function add(name: string, bytes: ArrayBuffer) {
    const content = new Uint8Array(bytes),
        reader = new Reader(module!, name, content);
    const listed = reader.list();
    for (const each of listed)
        profiles.push({ reader, name, bytes: content, file: each.file, number: -1 });
    return listed;
}

function sql(profile: number, statement: string): string {
    const { name, bytes, file } = profiles[profile]!;
    if (asked?.bytes !== bytes) asked = { reader: new Reader(module!, name, bytes), bytes };
    try {
        return statement ? asked.reader.query(file, statement) : asked.reader.tables(file);
    } catch (error) {
        if (asked.reader.isBroken) asked = null;
        throw error;
    }
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
    if (question.ask === "add") return add(question.name, question.bytes);
    if (question.ask === "sql") return sql(question.profile, question.statement);
    return make(question.profile, question.name);
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
