// Axes: where numbers lie, and which of them are written down. The charts on the screen and the saved
// pictures use the same.

export type Kind = "linear" | "log" | "asinh";

/// Below this an asinh axis is linear, above it logarithmic on both sides of 0.
export const ASINH_UNIT = 1e-3;

export function transform(kind: Kind, value: number): number {
  if (kind === "log") return Math.log10(value);
  return kind === "asinh" ? Math.asinh(value / ASINH_UNIT) : value;
}

/// A range that shows all of min .. max, with some air.
export function padded(kind: Kind, min: number, max: number): [number, number] {
  if (kind === "log") return min === max ? [min / 2, max * 2] : [min * 0.85, max * 1.18];
  if (min === max) return [min - Math.max(1e-3, Math.abs(min) / 2), max + Math.max(1e-3, Math.abs(max) / 2)];
  if (kind === "asinh") return [min < 0 ? min * 1.3 : min / 1.3, max > 0 ? max * 1.3 : max / 1.3];
  const air = (max - min) * 0.04;
  return [min >= 0 && min < air ? 0 : min - air, max + air];
}

function thin(values: number[], most: number): number[] {
  const every = Math.ceil(values.length / most);
  return values.filter((_, i) => (values.length - 1 - i) % every === 0);
}

function powers(from: number, to: number, factors: number[]): number[] {
  const values: number[] = [];
  for (let exponent = Math.floor(Math.log10(from)); exponent <= Math.ceil(Math.log10(to)); ++exponent) {
    for (const factor of factors) {
      const value = Number(`${factor}e${exponent}`);
      if (value >= from && value <= to) values.push(value);
    }
  }
  return values;
}

/// About `most` round numbers between min and max.
export function ticks(kind: Kind, min: number, max: number, most: number): number[] {
  if (!(max > min)) return [min];
  if (kind === "log") {
    for (const factors of [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      const values = powers(min, max, factors);
      if (values.length >= Math.min(3, most) || factors.length === 9) return thin(values, most);
    }
  }
  if (kind === "asinh" && max - min > 20 * ASINH_UNIT) {
    const up = max > ASINH_UNIT ? powers(Math.max(ASINH_UNIT, min), max, [1]) : [];
    const down = min < -ASINH_UNIT ? powers(Math.max(ASINH_UNIT, -max), -min, [1]).map((v) => -v).reverse() : [];
    return [...down, ...(min <= 0 && max >= 0 ? [0] : []), ...up];
  }
  const rough = (max - min) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const values: number[] = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + 1e-9 * step; ++i) values.push(Number((i * step).toPrecision(12)));
  return values;
}
