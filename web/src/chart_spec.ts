// A chart, before it is drawn: on the screen (chart.ts) or as a picture to keep (picture.ts).
import type { Kind } from "./scale";

export interface Series {
  name: string;
  x: number[]; // rising
  y: (number | null)[];
  color: number;
  dash: number;
  points?: boolean; // marks instead of a line
  both?: boolean; // marks on a line
  stepped?: boolean; // a line that keeps its height until the next point
  hidden?: boolean;
}

export interface ChartSpec {
  title: string;
  file: string; // what a saved picture is called
  xLabel: string;
  yLabel: string;
  xScale: Kind;
  yScale: Kind;
  series: Series[];
  summary: string; // what one sees, in words
  hint?: string; // what a reader can do with the legend
}

/// Least and most of what is shown on an axis; what a logarithm cannot show does not count.
export function extent(spec: ChartSpec, axis: "x" | "y"): [number, number] {
  const kind = axis === "x" ? spec.xScale : spec.yScale;
  let [min, max] = [Infinity, -Infinity];
  for (const one of spec.series) {
    if (one.hidden) continue;
    for (const value of one[axis]) {
      if (value === null || !Number.isFinite(value) || (kind === "log" && value <= 0)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }
  return min <= max ? [min, max] : kind === "log" ? [0.1, 1] : [0, 1];
}

/// The point of a series nearest to x: its index, or -1 if it has none.
export function nearest(one: Series, x: number): number {
  let [low, high] = [0, one.x.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((one.x[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs((one.x[low - 1] as number) - x) < Math.abs((one.x[low] as number) - x)) return low - 1;
  return one.x.length === 0 ? -1 : low;
}
