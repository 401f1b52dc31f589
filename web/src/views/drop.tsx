/* Where profiles come from in the page of `tidemark viewer`: files that are dropped on it, or chosen.
 * Drop is the page before the first file; DropArea takes more files later. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { addFiles, dropped } from "../data/dropped.ts";

const busy = signal("");
const refused = signal<string[]>([]);
const over = signal(false);

/* Then `added` is told the place of the first profile of them. */
async function take(files: readonly File[], added: (first: number) => void): Promise<void> {
    const first = dropped.profiles.length;
    if (!files.length || busy.value) return;
    busy.value = files.length > 1 ? `Reading ${files.length} files…` : `Reading ${files[0]!.name}…`;
    refused.value = await addFiles(files).catch((error: Error) => [error.message]);
    busy.value = "";
    if (dropped.profiles.length > first) added(first);
}

function useDrops(added: (first: number) => void): void {
    useEffect(() => {
        const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
        const onOver = (event: DragEvent) => {
            if (!hasFiles(event)) return;
            event.preventDefault();
            over.value = true;
        };
        const onLeave = (event: DragEvent) => {
            if (!event.relatedTarget) over.value = false;
        };
        const onDrop = (event: DragEvent) => {
            if (!hasFiles(event)) return;
            event.preventDefault();
            over.value = false;
            void take([...event.dataTransfer!.files], added);
        };
        addEventListener("dragover", onOver);
        addEventListener("dragleave", onLeave);
        addEventListener("drop", onDrop);
        return () => {
            removeEventListener("dragover", onOver);
            removeEventListener("dragleave", onLeave);
            removeEventListener("drop", onDrop);
        };
    }, [added]);
}

function Refused(): JSX.Element | null {
    if (!refused.value.length) return null;
    return (
        <div class="notice bad" role="alert" data-refused>
            {refused.value.map((sentence) => (
                <p key={sentence}>{sentence}.</p>
            ))}
        </div>
    );
}

function Chosen({ added }: { added: (first: number) => void }): JSX.Element {
    return (
        <input
            type="file"
            multiple
            accept=".tmk"
            aria-label="Profiles"
            onChange={(event) => {
                const input = event.currentTarget;
                void take([...(input.files ?? [])], added).then(() => {
                    input.value = "";
                });
            }}
        />
    );
}

export function Drop({ begin }: { begin: () => void }): JSX.Element {
    useDrops(begin);
    return (
        <main class={over.value ? "drop over" : "drop"} aria-busy={!!busy.value}>
            <h1>Tidemark</h1>
            <p>
                Drop profiles here: what <code>tidemark record</code> writes as{" "}
                <code>PROGRAM.PID.tmk</code>. Several can be compared.
            </p>
            <p>
                <Chosen added={begin} />
            </p>
            <p class="dim">
                {busy.value ||
                    "Files are read in this page and go nowhere. A trace (.tmt) is for tidemark serve."}
            </p>
            <Refused />
        </main>
    );
}

/* A strip over the page while a file is dragged or read, and what was refused. */
export function DropArea({ added }: { added: (first: number) => void }): JSX.Element | null {
    useDrops(added);
    if (!over.value && !busy.value && !refused.value.length) return null;
    return (
        <div class="drop-strip" role="status">
            {over.value ? "Drop it: it is shown beside the others." : busy.value}
            <Refused />
            {refused.value.length > 0 && (
                <button
                    onClick={() => {
                        refused.value = [];
                    }}>
                    close
                </button>
            )}
        </div>
    );
}
