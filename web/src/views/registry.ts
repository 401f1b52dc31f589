/* All views, in the order of the navigation. A view says for which profiles it has something to show;
 * where it has not it still opens, and says what was not recorded and how it can be. */
import type { ComponentType } from "preact";
import type { Profile } from "../model/profile.ts";
import { SummaryView } from "./summary.tsx";
import { FunctionsView } from "./functions.tsx";
import { FlameView } from "./flame.tsx";
import { TimelineView } from "./timeline.tsx";
import { SizesView } from "./sizes.tsx";
import { ReallocView } from "./realloc.tsx";

export interface ViewProps { profile: Profile }
export interface View {
    id: string;
    title: string;
    group: string;
    show: ComponentType<ViewProps>;
    has: (profile: Profile) => boolean;
}

export const views: readonly View[] = [
    { id: "summary", title: "Summary", group: "", show: SummaryView, has: () => true },
    { id: "timeline", title: "Timeline", group: "When", show: TimelineView, has: (profile) => profile.has("timeline") },
    { id: "functions", title: "Functions", group: "Where", show: FunctionsView, has: (profile) => profile.has("sites") },
    { id: "flame", title: "Flame graph", group: "Where", show: FlameView, has: (profile) => profile.has("sites") },
    { id: "sizes", title: "Sizes and lifetimes", group: "How", show: SizesView, has: (profile) => profile.has("distributions") },
    { id: "realloc", title: "Realloc", group: "How", show: ReallocView, has: (profile) => !!profile.summary.program?.["realloc_count"] },
];
