/* The table of all views, in the order of the navigation. A row says for which profiles the view
 * has something to show. A view without data still opens, and says what was not recorded and how
 * to record it. */
import type { ComponentType } from "preact";
import type { Profile } from "../model/profile.ts";
import { asksSql, profileNames } from "../state/profiles.ts";
import { CompareView } from "./compare.tsx";
import { FlameView } from "./flame.tsx";
import { FunctionsView } from "./functions.tsx";
import { GlobalsView } from "./globals.tsx";
import { GrowthView } from "./growth.tsx";
import { HeatView } from "./heat.tsx";
import { HeldView } from "./held.tsx";
import { JobsView } from "./jobs.tsx";
import { LeaksView } from "./leaks.tsx";
import { NotesView } from "./notes.tsx";
import { ReallocView } from "./realloc.tsx";
import { ResidentView } from "./resident.tsx";
import { SizesView } from "./sizes.tsx";
import { SpaceView } from "./space.tsx";
import { SourceView } from "./source.tsx";
import { SqlView } from "./sql.tsx";
import { StacksView } from "./stacks.tsx";
import { SummaryView } from "./summary.tsx";
import { ThreadsView } from "./threads.tsx";
import { TimelineView } from "./timeline.tsx";
import { TreeView } from "./tree.tsx";

export interface ViewProps {
    profile: Profile;
}
export interface View {
    id: string;
    title: string;
    group: string;
    show: ComponentType<ViewProps>;
    has: (profile: Profile) => boolean;
    range?:
        | "shown"
        | "curves"
        | "whole"; /* of time: the view shows it, or the levels in it, or all of the run
     * even of a trace; else it does nothing here but of a trace */
    job?: boolean; /* the view shows all of a job where one rank is chosen */
    threads?: boolean; /* the view shows one thread where one is chosen */
    sizes?: boolean; /* the view shows call paths by the size of blocks where one is searched for */
    notByRegion?: string; /* a sentence: what it shows is not known of a region */
    notByLevel?: string; /* likewise: nor of a level of memory */
}

const hasSites = (profile: Profile) => profile.has("sites");

/* What is left of resident memory is no leak. */
const hasLeaks = (profile: Profile) =>
    hasSites(profile) &&
    profile.level !== "resident" &&
    profile.metric("live_bytes")?.recorded !== false;

/* What each thread did is known of a process that Tidemark recorded. */
const hasThreads = (profile: Profile) =>
    profile.has("threads") && !profile.isJob && !profile.importedFrom;

export const views: readonly View[] = [
    { id: "summary", title: "Summary", group: "", show: SummaryView, has: () => true },
    {
        id: "timeline",
        sizes: true,
        title: "Timeline",
        group: "When",
        show: TimelineView,
        has: (profile) => profile.has("timeline"),
        range: "shown",
        notByRegion: "Levels over time are kept of the whole program, not by region.",
    },
    {
        id: "growth",
        sizes: true,
        title: "Growth",
        group: "When",
        show: GrowthView,
        has: (profile) => hasSites(profile) && profile.has("timeline"),
        range: "shown",
        notByRegion: "What grew between two moments is known of the whole program, not by region.",
    },
    {
        id: "functions",
        sizes: true,
        title: "Functions",
        group: "Where",
        show: FunctionsView,
        has: hasSites,
        range: "curves",
    },
    {
        id: "flame",
        sizes: true,
        title: "Flame graph",
        group: "Where",
        show: FlameView,
        has: hasSites,
        range: "curves",
    },
    {
        id: "tree",
        sizes: true,
        title: "Call tree",
        group: "Where",
        show: TreeView,
        has: hasSites,
        range: "curves",
    },
    {
        id: "source",
        sizes: true,
        title: "Source",
        group: "Where",
        show: SourceView,
        has: hasSites,
        range: "curves",
    },
    {
        id: "sizes",
        sizes: true,
        title: "Sizes and lifetimes",
        group: "How",
        show: SizesView,
        has: (profile) => profile.has("distributions"),
    },
    {
        id: "realloc",
        title: "Realloc",
        group: "How",
        show: ReallocView,
        has: (profile) => !!profile.summary.program?.["realloc_count"],
    },
    {
        id: "threads",
        title: "Threads",
        group: "How",
        show: ThreadsView,
        has: hasThreads,
        threads: true,
        notByRegion: "What each thread asked for is kept of the whole program, not by region.",
        notByLevel: "What each thread asked for is kept of the heap.",
    },
    {
        id: "stacks",
        title: "Stacks",
        group: "What else",
        show: StacksView,
        has: hasThreads,
        threads: true,
        notByRegion: "Threads have stacks, regions have none of their own.",
        notByLevel: "Stacks are no part of what is shown: take the choice of memory off.",
    },
    {
        id: "globals",
        title: "Globals and TLS",
        group: "What else",
        show: GlobalsView,
        has: (profile) => profile.has("globals"),
        notByRegion:
            "Globals and thread-local variables are the whole program's: nobody asks for them in a region.",
        notByLevel: "Globals are no part of what is shown: take the choice of memory off.",
    },
    {
        id: "resident",
        sizes: true,
        title: "Resident",
        group: "What else",
        show: ResidentView,
        has: (profile) => profile.has("samples") || !!profile.summary.samples?.length,
        notByRegion: "What is resident is looked at for the whole process, not by region.",
        notByLevel: "This view shows all resident memory: take the choice of memory off.",
    },
    {
        id: "space",
        title: "Address space",
        group: "What else",
        show: SpaceView,
        has: (profile) => profile.has("mappings"),
        range: "whole",
        notByRegion: "What is mapped is looked at for the whole process, not by region.",
        notByLevel: "The map shows all that is mapped: take the choice of memory off.",
    },
    {
        id: "leaks",
        sizes: true,
        title: "Leaks",
        group: "What else",
        show: LeaksView,
        has: hasLeaks,
    },
    {
        id: "held",
        title: "Held by",
        group: "What else",
        show: HeldView,
        has: (profile) => profile.has("held"),
        notByRegion: "Who holds what is known of the whole program, not by region.",
        notByLevel: "Who holds what is known of the heap: take the choice of memory off.",
    },
    {
        id: "heat",
        title: "Lag and drag",
        group: "What else",
        show: HeatView,
        has: (profile) => profile.has("page_uses"),
        notByRegion: "When blocks were written is known of the whole program, not by region.",
        notByLevel: "When blocks were written is known of the heap: take the choice of memory off.",
    },
    {
        id: "sql",
        title: "SQL",
        group: "What else",
        show: SqlView,
        has: () => asksSql.value !== null,
        range: "whole",
        notByRegion: "SQL asks the whole profile; its tables have the regions.",
        notByLevel: "SQL asks the whole profile; its tables have what is mapped and resident.",
    },
    {
        id: "jobs",
        title: "Job",
        group: "Several",
        show: JobsView,
        has: (profile) => profile.has("ranks"),
        range: "whole",
        job: true,
    },
    {
        id: "compare",
        title: "Compare",
        group: "Several",
        show: CompareView,
        has: () => profileNames.value.length > 1,
        range: "whole",
    },
    {
        id: "notes",
        title: "Notes",
        group: "Yours",
        show: NotesView,
        has: () => true,
        range: "shown",
    },
];

/* The summary where there is none of that name: an old link, a typing error. */
export function viewNamed(id: string): View {
    return views.find((view) => view.id === id) ?? views[0]!;
}
