// Light or dark, and the colours of lines in both.

// Few, so that they are easy to tell apart; each at least 3:1 against its background. The last is grey, for all but runs.
const LIGHT = ["#0b62b8", "#c4501b", "#15803d", "#8a3fb5", "#a17c00", "#d6246e", "#0a93a8", "#111827", "#6b7684"];
const DARK = ["#5fa8f5", "#f08a4b", "#4cc36c", "#b98af0", "#e8c53f", "#ff7fb0", "#5fdde0", "#f1f4f7", "#929eab"];
const PATTERNS = ["", "8 4", "2 3", "12 3 2 3", "20 5", "12 3 2 3 2 3"];

export const COLORS = LIGHT.length - 1;
export const GREY = COLORS;
export const DASHES = PATTERNS.length;

const dark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const watchers = new Set<() => void>();

function isDark(): boolean {
  return dark.matches && !printing;
}

export function lineColor(index: number, onPaper = false): string {
  const colors = isDark() && !onPaper ? DARK : LIGHT;
  return colors[index % colors.length] as string;
}

export function dash(index: number): string {
  return PATTERNS[index % DASHES] as string;
}

/// The line of the i-th of several things, told from all others by colour or dash.
export function look(index: number): { color: number; dash: number } {
  return { color: index % COLORS, dash: Math.floor(index / COLORS) };
}

/// Marks are circles or, for the second half of the dashes, diamonds.
export function isDiamond(dash: number): boolean {
  return dash % DASHES >= DASHES / 2;
}

/// A diamond with room for as much as a circle has.
export function diamond(x: number, y: number, radius: number): string {
  const reach = 1.25 * radius;
  return `M${x.toFixed(1)} ${(y - reach).toFixed(1)}l${reach} ${reach}l${-reach} ${reach}l${-reach} ${-reach}Z`;
}

/// How much colour a mark has inside: full, none or some, in turn.
export function fillOpacity(index: number): number {
  return [1, 0, 0.4][index % 3] as number;
}

/// A colour of the style sheet.
export function styleColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/// Calls `draw` whenever the colours change; forget it with the returned function.
export function watchTheme(draw: () => void): () => void {
  watchers.add(draw);
  return () => watchers.delete(draw);
}

function change(): void {
  document.documentElement.toggleAttribute("data-print", printing);
  LIGHT.forEach((_, i) => document.documentElement.style.setProperty(`--c${i}`, lineColor(i)));
  for (const draw of watchers) draw();
}

export function startTheme(): void {
  change();
  dark.addEventListener("change", change);
  addEventListener("beforeprint", () => { printing = true; change(); });
  addEventListener("afterprint", () => { printing = false; change(); });
}
