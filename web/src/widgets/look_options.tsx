/* The looks of a recording, as the options of a choice among them. */
import type { JSX } from "preact";
import type { Sample } from "../data/types.ts";
import { duration, format } from "../model/units.ts";

export function LookOptions({ samples }: { samples: readonly Sample[] }): JSX.Element {
    return (
        <>
            {samples.map((each) => (
                <option key={each.sample} value={each.sample}>
                    {each.why} at {duration(each.time_ns)}: {format(each.resident_bytes, "bytes")}
                </option>
            ))}
        </>
    );
}
