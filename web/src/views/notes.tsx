/* Notes about functions and moments, and saved views. `tidemark serve` keeps them in a file beside the
 * profile; elsewhere the page saves and opens such a file. */
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { LONGEST, writeNotes, type Note, type SavedView } from "../model/notes.ts";
import { shortName } from "../model/names.ts";
import { duration } from "../model/units.ts";
import {
    addNotes,
    changeNotes,
    isKeptBeside,
    lastSeen,
    notes,
    notesFailure,
    unsavedNotes,
} from "../state/notes.ts";
import { profileNames, shownIndex } from "../state/profiles.ts";
import { state } from "../state/state.ts";
import { getOption, toHash, type ViewState } from "../state/url.ts";
import { saveText } from "../widgets/save.ts";
import { Card, useLoaded } from "../widgets/states.tsx";
import type { ViewProps } from "./registry.ts";

/* ---- What a note can be about ---- */

/* What was looked at before this view, of the focus as it is now. */
function seen(): ViewState {
    const { view, opt, sort } = lastSeen.value;
    return { ...state.value, view, opt, sort };
}

/* A range, or the moment that was chosen on the timeline. */
function rangeOf(of: ViewState, end: number): Pick<Note, "from_ns" | "to_ns"> {
    const { view, from, to } = of,
        moment = Number(getOption(of, "at") ?? -1);
    if (from < 0 && to < 0)
        return view === "timeline" && Number.isSafeInteger(moment) && moment >= 0
            ? { from_ns: moment, to_ns: moment }
            : { from_ns: null, to_ns: null };
    return { from_ns: Math.max(0, from), to_ns: to < 0 ? Math.max(from, end) : to };
}

function useFunction({ profile }: ViewProps): string | null {
    const { fn } = state.value;
    const loaded = useLoaded(
        async () =>
            fn >= 0 && profile.has("sites") ? (await profile.callTree()).names.ofKey(fn) : null,
        [profile, fn],
    );
    return loaded.state === "there" ? loaded.value : null;
}

const rangeWords = (from: number, to: number) =>
    from === to ? `the moment ${duration(from)}` : `${duration(from)} to ${duration(to)}`;

function aboutWords(name: string | null, from: number | null, to: number | null): string {
    const parts = [
        ...(name ? [shortName(name)] : []),
        ...(from !== null ? [rangeWords(from, to ?? from)] : []),
    ];
    return parts.join(", ") || "the whole run";
}

const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

/* ---- Writing ---- */

function NewNote({ profile }: ViewProps): JSX.Element {
    const [text, setText] = useState("");
    const name = useFunction({ profile });
    const { from_ns, to_ns } = rangeOf(seen(), Math.ceil(profile.durationNs));
    const save = async () => {
        const note: Note = {
            id: newId(),
            text: text.trim().slice(0, LONGEST),
            unix_ms: Date.now(),
            address: toHash(seen()),
            function: name,
            from_ns,
            to_ns,
        };
        if (await changeNotes((all) => ({ ...all, notes: [...all.notes, note] }))) setText("");
    };
    return (
        <Card title="A new note">
            <p>
                About <b data-about>{aboutWords(name, from_ns, to_ns)}</b>.{" "}
                <span class="dim">
                    A function in focus, or a range on the timeline, is what a note is about.
                </span>
            </p>
            <textarea
                class="note"
                aria-label="Note"
                rows={3}
                maxLength={LONGEST}
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
            />
            <p>
                <button disabled={!text.trim()} onClick={() => void save()}>
                    keep this note
                </button>
            </p>
        </Card>
    );
}

function NewView(): JSX.Element {
    const [title, setTitle] = useState("");
    const at = seen();
    const save = async () => {
        const view: SavedView = {
            id: newId(),
            title: title.trim().slice(0, 200),
            unix_ms: Date.now(),
            address: toHash(at),
        };
        if (await changeNotes((all) => ({ ...all, views: [...all.views, view] }))) setTitle("");
    };
    return (
        <p>
            <label>
                Save what you saw last ({at.view}) as{" "}
                <input
                    type="text"
                    maxLength={200}
                    aria-label="Name of the view"
                    value={title}
                    onInput={(event) => setTitle(event.currentTarget.value)}
                />
            </label>{" "}
            <button disabled={!title.trim()} onClick={() => void save()}>
                save the view
            </button>
        </p>
    );
}

/* ---- Lists ---- */

const when = (unix_ms: number) => (unix_ms ? new Date(unix_ms).toLocaleString() : "");

function Remove({ what, id }: { what: string; id: string }): JSX.Element {
    return (
        <button
            class="plain"
            aria-label={`Remove ${what}`}
            onClick={() =>
                void changeNotes((all) => ({
                    notes: all.notes.filter((each) => each.id !== id),
                    views: all.views.filter((each) => each.id !== id),
                }))
            }>
            remove
        </button>
    );
}

function NoteList(): JSX.Element {
    const list = [...notes.value.notes].sort((a, b) => b.unix_ms - a.unix_ms);
    if (!list.length) return <p class="dim">There are no notes yet.</p>;
    return (
        <ul class="notes" aria-label="Notes">
            {list.map((note) => {
                const about = aboutWords(note.function, note.from_ns, note.to_ns);
                return (
                    <li key={note.id} data-note>
                        <a href={note.address} title={note.function ?? about}>
                            {about}
                        </a>{" "}
                        <span class="dim">{when(note.unix_ms)}</span>{" "}
                        <Remove what={`the note about ${about}`} id={note.id} />
                        <p class="said">{note.text}</p>
                    </li>
                );
            })}
        </ul>
    );
}

function ViewList(): JSX.Element {
    if (!notes.value.views.length) return <p class="dim">No view is saved yet.</p>;
    return (
        <ul class="notes" aria-label="Saved views">
            {notes.value.views.map((view) => (
                <li key={view.id} data-saved-view>
                    <a href={view.address}>{view.title}</a>{" "}
                    <span class="dim">{when(view.unix_ms)}</span>{" "}
                    <Remove what={`the view ${view.title}`} id={view.id} />
                </li>
            ))}
        </ul>
    );
}

function nameOfFile(): string {
    const entry = profileNames.value[shownIndex.value];
    return `${(entry?.file ?? entry?.name ?? "profile").split("/").pop()}.notes`;
}

function Files(): JSX.Element {
    return (
        <p>
            <span class="dim">
                {isKeptBeside.value
                    ? `They are kept in ${nameOfFile()}, beside the profile. `
                    : "This page keeps them as long as it is open: "}
            </span>
            <button
                onClick={() => {
                    saveText(nameOfFile(), "application/json", writeNotes(notes.value));
                    unsavedNotes.value = false;
                }}>
                save a copy
            </button>{" "}
            {!isKeptBeside.value && unsavedNotes.value && <b data-unsaved>not saved yet</b>}{" "}
            <label>
                add those of a file{" "}
                <input
                    type="file"
                    accept=".notes,.json"
                    aria-label="File of notes"
                    onChange={(event) => {
                        const input = event.currentTarget;
                        void input.files?.[0]
                            ?.text()
                            .then(addNotes)
                            .then(() => (input.value = ""));
                    }}
                />
            </label>
        </p>
    );
}

export function NotesView({ profile }: ViewProps): JSX.Element {
    return (
        <div class="pad stack scrolls">
            {notesFailure.value && (
                <p class="notice bad" role="alert">
                    {notesFailure.value}
                </p>
            )}
            <NewNote profile={profile} />
            <Card title="Notes">
                <NoteList />
            </Card>
            <Card title="Saved views">
                <ViewList />
                <NewView />
            </Card>
            <Files />
        </div>
    );
}
