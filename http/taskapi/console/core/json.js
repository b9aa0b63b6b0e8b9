// JSON whose integers stay exact: beyond 2^53 they are BigInt, where the browser tells how a number was written.
const MAY_BE_BIG = /[:,[\s]-?\d{16}/; // most texts have none, and are parsed several times faster without looking

/** Whether a value says something. */
export const isGiven = (value) => value !== undefined && value !== null && value !== "";

export function parseJson(text) {
  if (!MAY_BE_BIG.test(text) && !/^-?\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value,
  );
}

export function writeJson(value, indent) {
  return JSON.stringify(
    value,
    (_, each) => (typeof each === "bigint" ? (JSON.rawJSON?.(each.toString()) ?? Number(each)) : each),
    indent,
  );
}
