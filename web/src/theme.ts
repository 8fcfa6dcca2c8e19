// Light or dark, and the colours of lines in both.

// Distinct in hue and in lightness; each at least 3:1 against its background.
const LIGHT = ["#0b62b8", "#c4501b", "#12805c", "#8a3fb5", "#a8750a", "#c2255c", "#0f7f94", "#6b5b4f", "#5468d4", "#5f7d0e", "#111827", "#495566"];
const DARK = ["#6bb1f5", "#f29566", "#4fc99c", "#c696ec", "#e3b341", "#f582a7", "#56c8dc", "#c2b2a5", "#9ba9ff", "#b1cc55", "#f1f4f7", "#aab6c6"];
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 4", "4 2"];

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
  return DASHES[index % DASHES.length] as string;
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
