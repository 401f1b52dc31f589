/* The range of a chart's axis. */

/* With room for ticks between its ends: their steps are a tenth of it or less, and a number of 64 bits must
 * tell them apart. A range without room becomes the smallest that has it, around its middle. */
export function axisRange(low: number, high: number): [number, number] {
    const middle = (low + high) / 2,
        least = Math.max(1, Math.abs(middle) * 1e-12);
    return high - low >= least / 2 ? [low, high] : [middle - least / 2, middle + least / 2];
}
