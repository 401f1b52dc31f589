/* A brush that writes SVG instead of drawing on a canvas. It has the same calls as a canvas
 * context, but only those that our charts make. What is drawn with Brush therefore looks the
 * same in both. */

function escape(text: string): string {
    return text
        .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
        .replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g, "\ufffd")
        .replace(/[\ud800-\udfff]/gu, "\ufffd");
}

export interface Brush {
    fillStyle: string | CanvasGradient | CanvasPattern;
    strokeStyle: string | CanvasGradient | CanvasPattern;
    lineWidth: number;
    globalAlpha: number;
    font: string;
    textAlign: CanvasTextAlign;
    textBaseline: CanvasTextBaseline;
    fillRect(x: number, y: number, width: number, height: number): void;
    strokeRect(x: number, y: number, width: number, height: number): void;
    fillText(text: string, x: number, y: number): void;
    measureText(text: string): { width: number };
    beginPath(): void;
    moveTo(x: number, y: number): void;
    lineTo(x: number, y: number): void;
    stroke(): void;
    fill(): void;
}

const anchors: Record<string, string> = { center: "middle", right: "end", end: "end" };
const baselines: Record<string, string> = { middle: "central", top: "hanging" };
const digits = (value: number) => String(Math.round(value * 100) / 100);
const paint = (style: Brush["fillStyle"]) => escape(String(style));
const boxOf = (x: number, y: number, width: number, height: number) =>
    `x="${digits(x)}" y="${digits(y)}"` +
    ` width="${digits(Math.max(0, width))}" height="${digits(Math.max(0, height))}"`;

export class SvgBrush implements Brush {
    fillStyle: Brush["fillStyle"] = "#000000";
    strokeStyle: Brush["strokeStyle"] = "#000000";
    lineWidth = 1;
    globalAlpha = 1;
    font = "12px sans-serif";
    textAlign: CanvasTextAlign = "start";
    textBaseline: CanvasTextBaseline = "alphabetic";
    readonly #parts: string[] = [];
    #path = "";

    #opacity(): string {
        return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    }
    fillRect(x: number, y: number, width: number, height: number): void {
        this.#parts.push(
            `<rect ${boxOf(x, y, width, height)} fill="${paint(this.fillStyle)}"${this.#opacity()}/>`,
        );
    }
    strokeRect(x: number, y: number, width: number, height: number): void {
        this.#parts.push(
            `<rect ${boxOf(x, y, width, height)} fill="none" stroke="${paint(this.strokeStyle)}"/>`,
        );
    }
    fillText(text: string, x: number, y: number): void {
        const size = /([\d.]+)px/.exec(this.font)?.[1] ?? "12";
        this.#parts.push(
            `<text x="${digits(x)}" y="${digits(y)}" font-size="${size}" fill="${paint(this.fillStyle)}"` +
                ` text-anchor="${anchors[this.textAlign] ?? "start"}"` +
                ` dominant-baseline="${baselines[this.textBaseline] ?? "auto"}">${escape(text)}</text>`,
        );
    }
    measureText(text: string): { width: number } {
        return {
            width: text.length * 0.6 * parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "12"),
        };
    }
    beginPath(): void {
        this.#path = "";
    }
    moveTo(x: number, y: number): void {
        this.#path += `M${digits(x)} ${digits(y)}`;
    }
    lineTo(x: number, y: number): void {
        this.#path += `L${digits(x)} ${digits(y)}`;
    }
    stroke(): void {
        this.#parts.push(
            `<path d="${this.#path}" fill="none" stroke="${paint(this.strokeStyle)}"` +
                ` stroke-width="${this.lineWidth}"/>`,
        );
    }
    fill(): void {
        this.#parts.push(
            `<path d="${this.#path}Z" fill="${escape(String(this.fillStyle))}"${this.#opacity()}/>`,
        );
    }
    text(width: number, height: number, ground: string): string {
        const size = `width="${digits(width)}" height="${digits(height)}"`;
        return [
            `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif">`,
            `<rect width="100%" height="100%" fill="${escape(ground)}"/>`,
            this.#parts.join("\n"),
            "</svg>\n",
        ].join("\n");
    }
}
