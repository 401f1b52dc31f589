/* Canvases as SVG: what draws on a canvas here draws the same on this, call by call. Only the calls
 * that our charts make are there. */

function escape(text: string): string {
    return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[\ud800-\udfff]/gu, "\ufffd");
}

export interface Brush {
    fillStyle: string | CanvasGradient | CanvasPattern; strokeStyle: string | CanvasGradient | CanvasPattern;
    lineWidth: number; globalAlpha: number; font: string; textAlign: CanvasTextAlign; textBaseline: CanvasTextBaseline;
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
        this.#parts.push(`<rect x="${digits(x)}" y="${digits(y)}" width="${digits(Math.max(0, width))}" height="${digits(Math.max(0, height))}" fill="${escape(String(this.fillStyle))}"${this.#opacity()}/>`);
    }
    strokeRect(x: number, y: number, width: number, height: number): void {
        this.#parts.push(`<rect x="${digits(x)}" y="${digits(y)}" width="${digits(Math.max(0, width))}" height="${digits(Math.max(0, height))}" fill="none" stroke="${escape(String(this.strokeStyle))}"/>`);
    }
    fillText(text: string, x: number, y: number): void {
        const size = /([\d.]+)px/.exec(this.font)?.[1] ?? "12";
        this.#parts.push(`<text x="${digits(x)}" y="${digits(y)}" font-size="${size}" fill="${escape(String(this.fillStyle))}" text-anchor="${anchors[this.textAlign] ?? "start"}" dominant-baseline="${baselines[this.textBaseline] ?? "auto"}">${escape(text)}</text>`);
    }
    measureText(text: string): { width: number } {
        return { width: text.length * 0.55 * parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "12") };
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
        this.#parts.push(`<path d="${this.#path}" fill="none" stroke="${escape(String(this.strokeStyle))}" stroke-width="${this.lineWidth}"/>`);
    }
    fill(): void {
        this.#parts.push(`<path d="${this.#path}Z" fill="${escape(String(this.fillStyle))}"${this.#opacity()}/>`);
    }
    text(width: number, height: number, ground: string): string {
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${digits(width)}" height="${digits(height)}" font-family="sans-serif">\n<rect width="100%" height="100%" fill="${escape(ground)}"/>\n${this.#parts.join("\n")}\n</svg>\n`;
    }
}
