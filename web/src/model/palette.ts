/* Colours of modules in the flame graph. There are ten hues that can be told apart in all common
 * kinds of colour vision (Okabe and Ito's, lightened so that words can be read on them). Further
 * modules get the same hues striped, then both in a deeper tone: forty modules can be told
 * apart. */

const palettes = {
    light: [
        "#a6cee8",
        "#f5c59b",
        "#a5dcc5",
        "#e8c3dc",
        "#cfe6f7",
        "#f7dc9b",
        "#dfd691",
        "#ccd0d6",
        "#c9bfe6",
        "#f2b8ad",
    ],
    dark: [
        "#24577c",
        "#7a4520",
        "#1d6650",
        "#70425e",
        "#31708f",
        "#7b5c14",
        "#625a18",
        "#4a525b",
        "#4d4280",
        "#7d3d30",
    ],
};
const HUES = 10,
    NO_MODULE = 7;
/* Of each part of a colour, for the second lightness; words stay readable on it. */
const deeper = { light: 0.8, dark: 0.66 };

function scaled(colour: string, by: number): string {
    return (
        "#" +
        [1, 3, 5]
            .map((at) =>
                Math.round(parseInt(colour.slice(at, at + 2), 16) * by)
                    .toString(16)
                    .padStart(2, "0"),
            )
            .join("")
    );
}

/* The same module has the same colour whatever else is shown. `place`: Names.placeOfModule; -1: no
 * module. */
export function moduleColour(place: number, dark: boolean): string {
    const theme = dark ? "dark" : "light";
    const tone = palettes[theme][(place < 0 ? NO_MODULE : place) % HUES]!;
    return place >= 0 && Math.floor(place / HUES) % 4 >= 2 ? scaled(tone, deeper[theme]) : tone;
}
export function isStriped(place: number): boolean {
    return place >= 0 && Math.floor(place / HUES) % 2 === 1;
}

/* Black or white, whichever can be read on it. */
export function textColour(background: string): string {
    return luminance(background) > 0.18 ? "#000000" : "#ffffff";
}

/* As WCAG 2 defines it, 0 to 1. */
export function luminance(colour: string): number {
    const match = /^#(..)(..)(..)/.exec(colour);
    if (!match) return 1;
    const [r, g, b] = match.slice(1).map((hex) => parseInt(hex, 16) / 255) as [
        number,
        number,
        number,
    ];
    const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}
