// Numbers for readers.

/// Four digits that count, or as many as asked for.
export function short(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 1).replace("e-", "e\u2212").replace("e+", "e").replace(/^-/, "\u2212");
  const text = size >= 10 ** digits ? String(Math.round(value)) : value.toPrecision(digits);
  return text.replace(/^-/, "\u2212");
}

/// A mean and its deviation, with as many digits after the point as the mean; none of a single number.
export function spread(mean: number | null, deviation: number | null): string {
  if (mean === null || deviation === null) return "–";
  const text = short(mean);
  if (deviation === 0) return text;
  const places = text.split(".")[1]?.length ?? 0;
  return `${text} ± ${/e/.test(text) ? short(deviation, 2) : deviation.toFixed(places)}`;
}

/// As a chart's axis has it: no more digits than needed.
export function tick(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential().replace("e+", "e").replace("-", "\u2212").replace("e-", "e\u2212");
  return String(Number(value.toPrecision(6))).replace("-", "\u2212");
}

export function percent(part: number): string {
  const value = 100 * part;
  return `${Math.abs(value) >= 10 ? value.toFixed(0) : value.toFixed(1)} %`.replace(/^-/, "\u2212");
}

export function bytes(count: number): string {
  if (count < 1000) return `${Math.round(count)} B`;
  return count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
