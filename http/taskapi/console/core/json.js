// JSON whose integers stay exact: beyond 2^53 they are BigInt, where the browser tells how a number was written.
export function parseJson(text) {
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
