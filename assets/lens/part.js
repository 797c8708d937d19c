// Hands to a lens what came beside its matrix, and keeps it for a lens that is not there yet.
export default function ({ data }) {
  const parts = (globalThis.nlwfaLensParts ??= new Map()); // name -> the last window and the last points
  parts.set(data.lens, { ...parts.get(data.lens), ...data });
  dispatchEvent(new CustomEvent("nlwfa.lens", { detail: data }));
}
