/* The notes of the profile that is shown. A change is written at once; where somebody else has
 * written meanwhile it is made anew on what they wrote. Without a server they are the page's until
 * they are saved as a file. */
import { computed, effect, signal } from "@preact/signals";
import { Outdated, type DataSource, type NotesKeeper } from "../data/source.ts";
import { busyWith } from "./busy.ts";
import { mergeNotes, readNotes, writeNotes, type Notes } from "../model/notes.ts";
import { shownIndex } from "./profiles.ts";
import { state } from "./state.ts";
import { initial, type ViewState } from "./url.ts";

interface Kept {
    notes: Notes;
    tag: string;
}

/* What was looked at before the notes were. */
export const lastSeen = signal<ViewState>({ ...initial });

const none: Notes = { notes: [], views: [] };
const kept = signal<ReadonlyMap<number, Kept>>(new Map());
let keeper: NotesKeeper | null = null;

export const isKeptBeside = signal(false);
/* Why the last change was not kept, or the notes could not be read; "": all is well. */
export const notesFailure = signal("");
export const unsavedNotes = signal(false);

export const notes = computed(() => kept.value.get(shownIndex.value)?.notes ?? none);

function set(index: number, value: Kept): void {
    kept.value = new Map(kept.peek()).set(index, value);
}

const sentence = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function read(index: number, from: NotesKeeper): Promise<Kept> {
    const { text, tag } = await from.read(index),
        said = readNotes(text);
    /* Taken for none they would be replaced by the next note. */
    if (!said)
        throw new Error("The file of notes beside the profile is damaged: it is left alone.");
    return { notes: said, tag };
}

const TRIES = 3;

async function write(
    index: number,
    from: NotesKeeper,
    change: (notes: Notes) => Notes,
): Promise<void> {
    for (let tries = 1; ; tries++) {
        const before = await read(index, from);
        try {
            const wanted = change(before.notes);
            const { tag } = await from.write(index, writeNotes(wanted), before.tag);
            set(index, { notes: wanted, tag });
            return;
        } catch (error) {
            if (!(error instanceof Outdated) || tries === TRIES) throw error;
        }
    }
}

/* Whether it was kept; why not stands in notesFailure. */
export async function changeNotes(change: (notes: Notes) => Notes): Promise<boolean> {
    const index = shownIndex.peek(),
        isKept = busyWith();
    notesFailure.value = "";
    try {
        if (keeper) await write(index, keeper, change);
        else {
            set(index, { notes: change(kept.peek().get(index)?.notes ?? none), tag: "" });
            unsavedNotes.value = true;
        }
        return true;
    } catch (error) {
        notesFailure.value = sentence(error);
        return false;
    } finally {
        isKept();
    }
}

/* Notes of a file that somebody chose, beside what there is. */
export async function addNotes(text: string): Promise<boolean> {
    const more = readNotes(text);
    if (!more) notesFailure.value = "That is no file of notes.";
    return more !== null && (await changeNotes((notes) => mergeNotes(notes, more)));
}

export function startNotes(from: DataSource): void {
    const asked = new Set<number>();
    keeper = from.notes;
    isKeptBeside.value = keeper !== null;
    effect(() => {
        if (state.value.view !== "notes") lastSeen.value = state.value;
    });
    effect(() => {
        const index = shownIndex.value;
        if (!keeper || asked.has(index) || index < 0 || index >= from.profiles.length) return;
        asked.add(index);
        read(index, keeper).then(
            (value) => set(index, value),
            (error: unknown) => {
                notesFailure.value = sentence(error);
            },
        );
    });
}
