/* Where resources of profiles come from: the server (http.ts) or the page itself (embedded.ts).
 * doc/API.md names the resources and says what is in them. Everything else in the page reads
 * data through the interface DataSource. */

import type { Summary } from "./types.ts";

/* A profile as the list of them names it. */
export interface ProfileEntry {
    name: string;
    file: string;
    kind?: string;
    job?: number; /* of a rank: the number of its job's profile, and its id there */
    rank_id?: number;
}

/* A text and its tag, by which is known whether it has changed meanwhile. */
export interface KeptNotes {
    text: string;
    tag: string;
}
export interface NotesKeeper {
    read(profile: number): Promise<KeptNotes>;
    /* In place of what has that tag; rejects with Outdated where something else is there. */
    write(profile: number, text: string, tag: string): Promise<KeptNotes>;
}

/* What an event says of a profile; of a job that is being read, how far: `listed` of `to_list` entries
 * of its directory, and when all of these are known `read` of `to_read` profiles. */
export interface Change {
    generation: number;
    state: string;
    listed?: number;
    to_list?: number;
    read?: number;
    to_read?: number;
    error?: string | null;
}

export interface DataSource {
    /* Titles of the profiles that there are. */
    readonly profiles: readonly ProfileEntry[];
    /* The same now: ranks of a job may have been found meanwhile. Not there: none is. */
    list?(): Promise<readonly ProfileEntry[]>;
    /* Has all of a job read. Not there: all is. */
    want?(profile: number): Promise<void>;
    /* What a profile is now, or the part of it that a prefix of names stands for, and its
     * generation. Rejects with a sentence for people, as all of these do; with Unanswered where
     * nobody is there to ask. */
    summary(
        profile: number,
        prefix?: string,
        stop?: AbortSignal,
    ): Promise<{ summary: Summary; generation: string }>;
    /* Of that generation: numbers of another one mean something else. Rejects with Outdated where
     * there is a newer one. */
    json<T>(profile: number, name: string, generation: string, stop?: AbortSignal): Promise<T>;
    binary(profile: number, name: string, generation: string): Promise<ArrayBuffer>;
    /* Calls when the profile has grown (it is still being recorded, or the ranks of a job are being
     * read), and with true when nobody tells any more, with false when somebody does again. Returns
     * how to stop. */
    watch(
        profile: number,
        changed: (change: Change) => void,
        silent: (is: boolean) => void,
    ): () => void;
    /* The rows of a statement of SQL about the profile (model/sheet.ts); of none: what can be asked, as
     * text. Null: nobody is there to ask it. */
    readonly sql: ((profile: number, statement: string) => Promise<string>) | null;
    /* Who keeps notes beside a profile (model/notes.ts). Null: the page does, and saves a file. */
    readonly notes: NotesKeeper | null;
    /* Is there a server to ask things that are made on request (traces)? */
    readonly asks: boolean;
}

export class MissingResource extends Error {}
export class Outdated extends Error {}
export class Unanswered extends Error {}
