// What components that draw have in common: put before their own scripts, after numbers.js.

/* oxlint-disable no-unused-vars -- for the components that this file is put before */

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const unpacked = (text, Type) => new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const html = (tag, text = "", className = "") => Object.assign(document.createElement(tag), { textContent: text, className });

// Red, green, blue of a colour in whatever way a stylesheet may write it: a canvas knows them all.
function channels(colour) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];
}

const isBright = ([red, green, blue]) => red * 0.3 + green * 0.6 + blue * 0.1 > 128;

// The colour of each level of a matrix as nlwfa_core/display/lens.py makes them: 1 … 127 positive, 129 … 255 negative, on a scale of logarithms.
function inksOf({ positive, negative }, isDark) {
  const ramps = [positive, negative].map((ramp) => (isDark ? [...ramp].reverse() : ramp).map(channels));
  const between = (ramp, share) => {
    const place = share * (ramp.length - 1);
    const low = Math.min(Math.floor(place), ramp.length - 2);
    return ramp[low].map((part, i) => Math.round(part + (place - low) * (ramp[low + 1][i] - part)));
  };
  return Array.from({ length: 256 }, (_, level) => between(ramps[level >> 7], Math.max(0, (level & 127) - 1) / 126));
}
