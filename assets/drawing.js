// What components that draw have in common: put before their own scripts, after numbers.js.

/* oxlint-disable no-unused-vars -- for the components that this file is put before */

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const unpacked = (text, Type) => new Type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const textOf = (tag, text, className = "") => Object.assign(document.createElement(tag), { textContent: text, className });

// Red, green, blue of a colour in whatever way a stylesheet may write it: a canvas knows them all.
function channels(colour) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];
}

const isBright = ([red, green, blue]) => red * 0.3 + green * 0.6 + blue * 0.1 > 128;
