// The linked lens: heat map, points and strings of one matrix, in which the same prefix lights together.
//
// Everything that a pointer does stays in the browser. Python hears two things: what was chosen ("selection"), and which part of
// a matrix that is too large to travel whole is looked at ("window"); the answer comes through a second, empty component.
// A user's strings are drawn on canvases or set as text; no markup is ever made of them.

const LABELS_FROM = 14; // pixels a row or column must have to be labelled
const VALUES_FROM = 52; // pixels a column must have for numbers in its cells
const LARGEST_ROW = 28;
const LARGEST_COLUMN = 72;
const LIST_ROW = 26; // as in lens.css
const SETTLED_MS = 250;

const lenses = new Map(); // name -> Lens; both components share this module
const windows = new Map(); // name -> the last window that came for it

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  if (data.window) {
    windows.set(data.lens, data);
    lenses.get(data.lens)?.takeWindow(data);
    return undefined;
  }
  let lens = lenses.get(data.name);
  if (!lens || lens.root !== parentElement) {
    lens?.close();
    lens = new Lens(parentElement, data.name);
    lenses.set(data.name, lens);
  }
  lens.send = setStateValue;
  lens.update(data);
  return () => {
    lens.close();
    if (lenses.get(data.name) === lens) lenses.delete(data.name);
  };
}

function unpacked(text, Type) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Type(bytes.buffer);
}

function written(value) {
  const [digits, exponent] = Number(value.toPrecision(6)).toString().split("e");
  const power = exponent ? ` · 10${raised(Number(exponent))}` : "";
  return digits.replace("-", "−") + power;
}

function raised(exponent) {
  return String(exponent).replace(/[-0-9]/g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
}

function powerOfTen(exponent) {
  return exponent === 0 ? "1" : `10${raised(exponent)}`;
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

// Red, green, blue of a colour written in whatever way a stylesheet may: the canvas knows them all.
function channels(colour) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}

class Lens {
  constructor(root, name) {
    this.root = root;
    this.name = name;
    this.box = root.querySelector(".lens");
    this.map = root.querySelector(".matrix canvas");
    this.plane = root.querySelector(".plane canvas");
    this.list = root.querySelector(".list");
    this.tip = root.querySelector(".tip");
    this.lit = null; // {row, column} under the pointer or the keys
    this.chosen = null; // what was clicked
    this.pointers = new Map(); // of fingers that are down
    this.closing = new AbortController();
    this.listen();
  }

  close() {
    this.closing.abort();
    this.sizes.disconnect();
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }

  listen() {
    const on = (target, kinds, act, options = {}) => {
      for (const kind of kinds.split(" ")) target.addEventListener(kind, act, { signal: this.closing.signal, ...options });
    };
    on(this.map, "pointerdown", (event) => this.press(event));
    on(this.map, "pointermove", (event) => this.move(event));
    on(this.map, "pointerup pointercancel", (event) => this.release(event));
    on(this.map, "wheel", (event) => this.wheel(event), { passive: false });
    on(this.map, "keydown", (event) => this.keys(event));
    on(this.plane, "pointermove", (event) => this.light(this.pointAt(event), event));
    on(this.plane, "click", (event) => this.choose(this.pointAt(event)));
    on(this.plane, "keydown", (event) => this.walk(event));
    on(this.list, "pointermove", (event) => this.light(this.wordAt(event), event));
    on(this.list, "click", (event) => this.choose(this.wordAt(event)));
    on(this.list, "keydown", (event) => this.walk(event));
    on(this.list, "scroll", () => this.drawList());
    for (const view of [this.map, this.plane, this.list]) on(view, "pointerleave blur", () => this.light(null));
    on(this.root.querySelector(".tools"), "click", (event) => this.zoomBy(event.target.dataset.do));
    this.sizes = new ResizeObserver(() => this.resize());
    for (const view of [this.map, this.plane, this.list]) this.sizes.observe(view);
  }

  // What Python sent, anew or for the first time, or another theme.
  update(data) {
    const style = getComputedStyle(this.box);
    const [red, green, blue] = channels(style.getPropertyValue("--st-background-color") || "white");
    this.dark = red * 0.3 + green * 0.6 + blue * 0.1 < 128;
    this.ink = style.getPropertyValue("--st-text-color").trim() || "black";
    this.paper = style.getPropertyValue("--st-background-color").trim() || "white";
    this.code = style.getPropertyValue("--st-code-font").trim() || "monospace";
    this.sans = style.getPropertyValue("--st-font").trim() || "sans-serif";
    const before = this.data;
    this.data = data;
    if (before !== data) this.unpack(data);
    if (before?.basis !== data.basis) {
      this.lit = this.chosen = this.view = null;
      this.list.scrollTop = 0;
    }
    this.box.style.setProperty("--mark", data.colours.mark);
    this.root.querySelector(".plane h4").textContent = data.points.title;
    this.root.querySelector(".matrix h4").textContent = data.title;
    const size = `${this.numRows} rows, ${this.numColumns} columns`;
    const keys = "Arrow keys move from cell to cell, Enter chooses, plus and minus zoom, 0 shows all.";
    this.map.setAttribute("aria-label", `${data.title}, ${size}. ${keys}`);
    this.plane.setAttribute("aria-label", `${data.points.title}. Arrow keys move from prefix to prefix, Enter chooses.`);
    this.list.firstElementChild.style.height = `${this.numRows * LIST_ROW}px`;
    this.inks = this.levelsToColours();
    this.drawLegend();
    this.resize();
    this.loadPicture(data);
  }

  unpack(data) {
    [this.numRows, this.numColumns] = data.layer.shape;
    const cells = data.layer.cells;
    this.cells = cells && {
      bounds: unpacked(cells.bounds, Uint32Array),
      columns: unpacked(cells.columns, this.numColumns <= 65536 ? Uint16Array : Uint32Array),
      codes: unpacked(cells.codes, Uint16Array),
      values: unpacked(cells.values, Float64Array),
    };
    this.x = unpacked(data.points.x, Float32Array);
    this.y = unpacked(data.points.y, Float32Array);
    this.sums = unpacked(data.sums, Float32Array);
    this.window = null;
    const held = windows.get(this.name);
    if (held) this.takeWindow(held);
  }

  takeWindow(data) {
    if (data.id !== this.data?.id) return;
    this.window = { ...data.window, values: unpacked(data.window.values, Float64Array) };
    this.redraw();
  }

  // The picture and smaller ones of it, each pixel the largest of four: no large entry is lost on a small screen.
  async loadPicture(data) {
    if (this.loaded !== data.layer.png) {
      const bytes = unpacked(data.layer.png, Uint8Array);
      const options = { colorSpaceConversion: "none", premultiplyAlpha: "none" };
      const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }), options);
      if (this.data !== data) return;
      const { width, height } = bitmap;
      const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      pen.drawImage(bitmap, 0, 0);
      const pixels = pen.getImageData(0, 0, width, height).data;
      const levels = new Uint8Array(width * height);
      for (let i = 0; i < levels.length; i += 1) levels[i] = pixels[4 * i];
      this.pyramid = [{ width, height, levels }];
      while (this.pyramid.at(-1).width > 64 || this.pyramid.at(-1).height > 64) this.pyramid.push(halved(this.pyramid.at(-1)));
      this.loaded = data.layer.png;
    }
    for (const step of this.pyramid) step.canvas = painted(step, this.inks);
    this.redraw();
  }

  levelsToColours() {
    const { positive, negative } = this.data.colours;
    const ramp = (colours) => (this.dark ? [...colours].reverse() : colours).map((colour) => [...channels(colour)]);
    const between = (colours, share) => {
      const place = share * (colours.length - 1);
      const low = Math.min(Math.floor(place), colours.length - 2);
      return colours[low].map((part, i) => Math.round(part + (place - low) * (colours[low + 1][i] - part)));
    };
    const ramps = [ramp(positive), ramp(negative)];
    return Array.from({ length: 256 }, (_, level) =>
      level & 127 ? between(ramps[level >> 7], ((level & 127) - 1) / 126) : [0, 0, 0, 0],
    );
  }

  levelOf(value) {
    const size = Math.abs(value);
    if (size <= this.data.layer.floor) return 0;
    const [low, high] = this.data.layer.scale;
    return 1 + Math.round(clamp((Math.log10(size) - low) / (high - low), 0, 1) * 126) + (value < 0 ? 128 : 0);
  }

  // A cell's exact value if it is here, else undefined.
  valueAt(row, column) {
    if (this.cells) {
      const { bounds, columns, codes, values } = this.cells;
      let [low, high] = [bounds[row], bounds[row + 1]];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (columns[middle] < column) low = middle + 1;
        else high = middle;
      }
      return low < bounds[row + 1] && columns[low] === column ? values[codes[low]] : 0;
    }
    const held = this.window;
    const [i, j] = [row - held?.row, column - held?.column];
    return i >= 0 && j >= 0 && i < held.shape[0] && j < held.shape[1] ? held.values[i * held.shape[1] + j] : undefined;
  }

  // What can be said of a cell whose value is not here: its block's largest.
  roughly(row, column) {
    const { factors, scale, floor } = this.data.layer;
    const picture = this.pyramid?.[0];
    if (!picture) return "…";
    const level = picture.levels[Math.floor(row / factors[0]) * picture.width + Math.floor(column / factors[1])];
    if (level === 0) return floor ? `below ${powerOfTen(Math.log10(floor))}` : "0";
    const size = 10 ** (scale[0] + (((level & 127) - 1) / 126) * (scale[1] - scale[0]));
    const about = `≈ ${level > 128 ? "−" : ""}${Number(size.toPrecision(1))}`;
    return factors[0] * factors[1] > 1 ? `largest of its ${factors[0]} × ${factors[1]} block ${about}` : about;
  }

  // Where the matrix is drawn: room for labels only when there are some.
  plot(view) {
    const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 1);
    this.widths ??= { basis: null };
    if (this.widths.basis !== this.data.basis) {
      this.widths = { basis: this.data.basis, row: longest(this.data.prefixes) * 7 + 14, column: longest(this.data.suffixes) * 7 + 14 };
    }
    const { clientWidth: width, clientHeight: height } = this.map;
    const left = view.sy >= LABELS_FROM ? clamp(this.widths.row, 26, Math.min(150, width * 0.32)) : 26;
    const top = view.sx >= LABELS_FROM ? clamp(this.widths.column, 26, Math.min(110, height * 0.3)) : 26;
    return { left, top, width: width - left - 6, height: height - top - 6 };
  }

  fit() {
    const within = (view) => {
      const { width, height } = this.plot(view);
      return { x: 0, y: 0, sx: Math.min(width / this.numColumns, LARGEST_COLUMN), sy: Math.min(height / this.numRows, LARGEST_ROW) };
    };
    return within(within({ sx: 0, sy: 0 })); // once more: labels take room
  }

  get zoomed() {
    const fit = this.fit();
    return this.view.sx > fit.sx * 1.001 || this.view.sy > fit.sy * 1.001;
  }

  zoom(factor, px, py) {
    const [fit, before, old] = [this.fit(), this.view, this.plot(this.view)];
    const view = {
      sx: clamp(before.sx * factor, fit.sx, Math.max(fit.sx, LARGEST_COLUMN)),
      sy: clamp(before.sy * factor, fit.sy, Math.max(fit.sy, LARGEST_ROW)),
    };
    const [column, row] = [before.x + (px - old.left) / before.sx, before.y + (py - old.top) / before.sy];
    const plot = this.plot(view);
    this.show({ ...view, x: column - (px - plot.left) / view.sx, y: row - (py - plot.top) / view.sy });
  }

  show(view) {
    const plot = this.plot(view);
    const x = clamp(view.x, 0, Math.max(0, this.numColumns - plot.width / view.sx));
    const y = clamp(view.y, 0, Math.max(0, this.numRows - plot.height / view.sy));
    this.view = { ...view, x, y };
    this.map.parentElement.classList.toggle("zoomed", this.zoomed);
    this.redraw();
    this.settle();
  }

  zoomBy(what) {
    if (what === "fit") this.show(this.fit());
    if (what !== "in" && what !== "out") return;
    const { left, top, width, height } = this.plot(this.view);
    const [px, py] = this.lit?.column === undefined ? [left + width / 2, top + height / 2] : this.placeOf(this.lit);
    this.zoom(what === "in" ? 1.6 : 1 / 1.6, px, py);
  }

  placeOf({ row, column }) {
    const { left, top } = this.plot(this.view);
    return [left + (column + 0.5 - this.view.x) * this.view.sx, top + (row + 0.5 - this.view.y) * this.view.sy];
  }

  // The rows and columns that are seen, as [first, behind the last].
  seen() {
    const { x, y, sx, sy } = this.view;
    const { width, height } = this.plot(this.view);
    const end = (start, room, size) => Math.min(size, Math.ceil(start + room - 1e-9));
    return {
      rows: [Math.floor(y), end(y, height / sy, this.numRows)],
      columns: [Math.floor(x), end(x, width / sx, this.numColumns)],
    };
  }

  // Once the view stands still, ask Python for what is looked at, if it is close enough to be read and is not here.
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.cells || this.view.sy < LABELS_FROM) return;
      const { rows, columns } = this.seen();
      const corners = [this.valueAt(rows[0], columns[0]), this.valueAt(rows[1] - 1, columns[1] - 1)];
      if (!corners.includes(undefined)) return;
      const wider = ([start, end]) => [Math.max(0, start - 20), end - start + 40];
      const [[row, numRows], [column, numColumns]] = [wider(rows), wider(columns)];
      this.send("window", { id: this.data.id, row, column, numRows, numColumns });
    }, SETTLED_MS);
  }

  cellAt(event) {
    const { left, top, width, height } = this.plot(this.view);
    const [px, py] = [event.offsetX, event.offsetY];
    const column = Math.floor(this.view.x + (px - left) / this.view.sx);
    const row = Math.floor(this.view.y + (py - top) / this.view.sy);
    if (row < 0 || row >= this.numRows || column >= this.numColumns || py < top || py > top + height || px > left + width) return null;
    return px < left ? { row } : { row, column }; // on the labels: the row alone
  }

  press(event) {
    this.map.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.start = { x: event.clientX, y: event.clientY, moved: false };
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.light(this.cellAt(event), event);
      return;
    }
    const others = [...this.pointers.values()].filter((other) => other.pointerId !== event.pointerId);
    if (Math.hypot(event.clientX - this.start.x, event.clientY - this.start.y) > 4) this.start.moved = true;
    if (others.length === 1) {
      const distance = (one) => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY) || 1;
      this.zoom(distance(event) / distance(before), (event.offsetX + others[0].offsetX) / 2, (event.offsetY + others[0].offsetY) / 2);
    } else if (this.start.moved) {
      const { x, y, sx, sy } = this.view;
      this.show({ ...this.view, x: x - (event.clientX - before.clientX) / sx, y: y - (event.clientY - before.clientY) / sy });
    }
    this.pointers.set(event.pointerId, event);
  }

  release(event) {
    const clicked = event.type === "pointerup" && this.pointers.size === 1 && !this.start.moved;
    this.pointers.delete(event.pointerId);
    if (!clicked) return;
    const cell = this.cellAt(event);
    this.light(cell, event);
    this.choose(cell);
  }

  // Turning the wheel towards oneself over the whole matrix scrolls the page, as anywhere.
  wheel(event) {
    if (event.deltaY > 0 && !this.zoomed) return;
    event.preventDefault();
    this.zoom(2 ** (-clamp(event.deltaY, -200, 200) / 250), event.offsetX, event.offsetY);
  }

  keys(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };
    const tools = { "+": "in", "=": "in", "-": "out", "−": "out", 0: "fit", Home: "fit" };
    const at = this.lit ?? this.chosen;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (tools[event.key]) this.zoomBy(tools[event.key]);
    else if (steps[event.key]) {
      const [down, right] = steps[event.key];
      if (event.shiftKey) this.show({ ...this.view, x: this.view.x + 10 * right, y: this.view.y + 10 * down });
      else {
        const { rows, columns } = this.seen();
        const row = clamp(at ? at.row + down : rows[0], 0, this.numRows - 1);
        const column = clamp(at ? (at.column ?? columns[0]) + right : columns[0], 0, this.numColumns - 1);
        this.reveal(row, column);
        this.light({ row, column }, null, true);
      }
    } else if (event.key === "Enter" || event.key === " ") this.choose(at);
    else if (event.key === "Escape") this.light(null);
    else return;
    event.preventDefault();
  }

  // Along the prefixes, in the plane and in the list.
  walk(event) {
    const steps = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    const at = this.lit ?? this.chosen;
    if (event.key in steps) {
      const row = clamp(at ? at.row + steps[event.key] : 0, 0, this.numRows - 1);
      this.reveal(row);
      this.light({ row }, null, true);
    } else if (event.key === "Enter" || event.key === " ") this.choose(at);
    else return;
    event.preventDefault();
  }

  reveal(row, column) {
    const { rows, columns } = this.seen();
    const view = { ...this.view };
    if (row < rows[0] || row >= rows[1] - 1) view.y += row < rows[0] ? row - rows[0] : row - rows[1] + 2;
    if (column < columns[0] || column >= columns[1] - 1) view.x += column < columns[0] ? column - columns[0] : column - columns[1] + 2;
    this.show(view);
  }

  pointAt(event) {
    let [found, nearest] = [null, 14];
    for (let row = 0; row < this.numRows; row += 1) {
      const [px, py] = this.pointPlace(row);
      const distance = Math.hypot(px - event.offsetX, py - event.offsetY);
      if (distance < nearest) [found, nearest] = [{ row }, distance];
    }
    return found;
  }

  wordAt(event) {
    const word = event.target.closest(".word");
    return word && { row: Number(word.dataset.row) };
  }

  light(cell, event = null, aloud = false) {
    this.lit = cell;
    if (cell && event?.currentTarget !== this.list) this.scrollTo(cell.row);
    this.tip.hidden = !cell || (!event && !aloud);
    if (!this.tip.hidden) this.describe(cell, event);
    if (aloud) this.root.querySelector(".said").textContent = this.facts(cell).flat().join(" ");
    this.redraw();
  }

  choose(cell) {
    if (!cell) return;
    const column = cell.column ?? this.chosen?.column ?? null;
    this.chosen = { row: cell.row, ...(column === null ? {} : { column }) };
    this.redraw();
    this.send("selection", { basis: this.data.basis, row: cell.row, column });
  }

  facts({ row, column }) {
    const facts = [["prefix", this.data.prefixes[row]]];
    if (column === undefined) facts.push(["row sum", written(this.sums[row])]);
    else {
      const value = this.valueAt(row, column);
      facts.push(["suffix", this.data.suffixes[column]], ["value", value === undefined ? this.roughly(row, column) : written(value)]);
    }
    const known = Number.isFinite(this.x[row]);
    facts.push(["point", known ? `(${this.x[row].toFixed(3)}, ${this.y[row].toFixed(3)})`.replaceAll("-", "−") : "none: no string begins so"]);
    return facts;
  }

  describe(cell, event) {
    const lines = this.facts(cell).map(([name, text]) => {
      const line = document.createElement("div");
      line.append(document.createElement("i"), document.createElement("b"));
      line.firstChild.textContent = name;
      line.lastChild.textContent = text;
      return line;
    });
    this.tip.replaceChildren(...lines);
    const box = this.box.getBoundingClientRect();
    let [x, y] = event ? [event.clientX - box.left, event.clientY - box.top] : [0, 0];
    if (!event) {
      const focused = this.root.activeElement;
      const place = focused.getBoundingClientRect();
      const at = focused === this.map ? this.placeOf({ column: 0, ...cell }) : focused === this.plane ? this.pointPlace(cell.row) : [0, 0];
      [x, y] = [place.left - box.left + (at[0] || 0), place.top - box.top + (at[1] || 0)];
    }
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    this.tip.style.left = `${clamp(x + 16 + width > box.width ? x - width - 16 : x + 16, 0, Math.max(0, box.width - width))}px`;
    this.tip.style.top = `${y + 16 + height > box.height ? y - height - 12 : y + 16}px`;
  }

  resize() {
    if (!this.data || !this.map.clientWidth) return;
    for (const canvas of [this.map, this.plane]) {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.round(size * devicePixelRatio));
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    }
    this.backdrop = null;
    this.show(this.view && this.zoomed && this.fitted ? this.view : this.fit());
    this.fitted = true;
  }

  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.view || !this.map.clientWidth) return;
      this.drawMap();
      this.drawPlane();
      this.drawList();
      this.drawStatus();
    });
  }

  pen(canvas) {
    const pen = canvas.getContext("2d");
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    pen.textBaseline = "middle";
    return pen;
  }

  drawMap() {
    const pen = this.pen(this.map);
    const plot = this.plot(this.view);
    const { x, y, sx, sy } = this.view;
    const width = Math.min(plot.width, (this.numColumns - x) * sx);
    const height = Math.min(plot.height, (this.numRows - y) * sy);
    const { rows, columns } = this.seen();
    pen.save();
    pen.beginPath();
    pen.rect(plot.left, plot.top, width, height);
    pen.clip();
    const close = sx >= 7 && sy >= 7 && this.valueAt(rows[0], columns[0]) !== undefined;
    if (close) this.drawCells(pen, plot, rows, columns);
    else if (this.pyramid) this.drawPicture(pen, plot, width, height);
    this.drawMarks(pen, plot, width, height);
    pen.restore();
    pen.strokeStyle = this.ink;
    pen.globalAlpha = 0.25;
    pen.strokeRect(plot.left - 0.5, plot.top - 0.5, width + 1, height + 1);
    pen.globalAlpha = 1;
    this.drawLabels(pen, plot, rows, columns);
  }

  drawPicture(pen, plot, width, height) {
    const { x, y, sx, sy } = this.view;
    const [rowFactor, columnFactor] = this.data.layer.factors;
    // The finest picture whose pixels are no smaller than the screen's.
    const pixel = Math.min(sx * columnFactor, sy * rowFactor) * devicePixelRatio;
    const step = clamp(Math.ceil(Math.log2(1 / pixel) - 1e-6), 0, this.pyramid.length - 1);
    const [across, down] = [columnFactor * 2 ** step, rowFactor * 2 ** step];
    this.block = [down, across];
    pen.imageSmoothingEnabled = false;
    const picture = this.pyramid[step].canvas;
    if (!picture) return;
    pen.drawImage(picture, x / across, y / down, width / sx / across, height / sy / down, plot.left, plot.top, width, height);
  }

  drawCells(pen, plot, rows, columns) {
    const { x, y, sx, sy } = this.view;
    this.block = [1, 1];
    pen.font = `12px ${this.code}`;
    pen.textAlign = "center";
    for (let row = rows[0]; row < rows[1]; row += 1) {
      for (let column = columns[0]; column < columns[1]; column += 1) {
        const value = this.valueAt(row, column);
        const level = value ? this.levelOf(value) : 0;
        if (level === 0) continue;
        const colour = this.inks[level];
        const [px, py] = [plot.left + (column - x) * sx, plot.top + (row - y) * sy];
        pen.fillStyle = `rgb(${colour.slice(0, 3)})`;
        pen.fillRect(px + 0.5, py + 0.5, sx - 1, sy - 1);
        if (sx < VALUES_FROM || sy < LABELS_FROM) continue;
        pen.fillStyle = colour[0] * 0.3 + colour[1] * 0.6 + colour[2] * 0.1 > 135 ? "#111" : "#fff";
        pen.fillText(Number(value.toPrecision(3)).toString().replace("-", "−"), px + sx / 2, py + sy / 2 + 0.5, sx - 4);
      }
    }
  }

  // Bands along the rows and columns that are lit or chosen, at least two pixels wide.
  drawMarks(pen, plot, width, height) {
    const { x, y, sx, sy } = this.view;
    for (const [cell, colour] of [[this.chosen, this.data.colours.mark], [this.lit, this.ink]]) {
      if (!cell) continue;
      pen.strokeStyle = pen.fillStyle = colour;
      const [top, thick] = [plot.top + (cell.row - y) * sy, Math.max(sy, 2)];
      const [left, broad] = [plot.left + (cell.column - x) * sx, Math.max(sx, 2)];
      pen.globalAlpha = 0.14;
      pen.fillRect(plot.left, top, width, thick);
      if (cell.column !== undefined) pen.fillRect(left, plot.top, broad, height);
      pen.globalAlpha = 0.8;
      pen.lineWidth = sy < 4 ? 1 : 1.5;
      pen.strokeRect(plot.left - 5, top, width + 10, thick);
      pen.globalAlpha = 1;
      pen.lineWidth = 2;
      if (cell.column !== undefined) pen.strokeRect(left - 1, top - 1, broad + 2, thick + 2);
    }
    pen.lineWidth = 1;
  }

  drawLabels(pen, plot, rows, columns) {
    const { x, y, sx, sy } = this.view;
    const say = (text, room, strong) => {
      pen.globalAlpha = strong ? 1 : 0.75;
      const letters = Math.floor(room / 7);
      pen.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, 0, 0);
    };
    pen.fillStyle = this.ink;
    pen.font = `12px ${this.code}`;
    pen.textAlign = "right";
    for (let row = rows[0]; sy >= LABELS_FROM && row < rows[1]; row += 1) {
      const place = plot.top + (row + 0.5 - y) * sy;
      if (place < plot.top || place > plot.top + plot.height) continue;
      pen.save();
      pen.translate(plot.left - 6, place);
      say(this.data.prefixes[row], plot.left - 8, row === this.lit?.row || row === this.chosen?.row);
      pen.restore();
    }
    pen.textAlign = "left";
    for (let column = columns[0]; sx >= LABELS_FROM && column < columns[1]; column += 1) {
      const place = plot.left + (column + 0.5 - x) * sx;
      if (place < plot.left || place > plot.left + plot.width) continue;
      pen.save();
      pen.translate(place, plot.top - 6);
      pen.rotate(-Math.PI / 2);
      say(this.data.suffixes[column], plot.top - 8, column === this.lit?.column || column === this.chosen?.column);
      pen.restore();
    }
    pen.font = `12px ${this.sans}`;
    pen.globalAlpha = 0.75;
    if (sx < LABELS_FROM) pen.fillText("suffix v, by frequency →", plot.left, plot.top - 13);
    if (sy < LABELS_FROM) {
      pen.translate(13, plot.top);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "right";
      pen.fillText("← prefix u, by frequency", 0, 0);
    }
  }

  // Points keep their proportions: both axes have one unit.
  pointPlace(row) {
    if (this.backdrop?.basis !== this.data || !this.frameOfPoints) this.framePoints();
    const { unit, left, top } = this.frameOfPoints;
    return [left + this.x[row] * unit, top - this.y[row] * unit];
  }

  framePoints() {
    const range = (values) => {
      const [low, high] = values.reduce(([a, b], v) => (Number.isFinite(v) ? [Math.min(a, v), Math.max(b, v)] : [a, b]), [1e9, -1e9]);
      return low > high ? [0, 0] : [low, high];
    };
    const [[x0, x1], [y0, y1]] = [range(this.x), range(this.y)];
    const { clientWidth: width, clientHeight: height } = this.plane;
    const unit = Math.min((width - 40) / (x1 - x0 || 1), (height - 64) / (y1 - y0 || 1));
    const [left, top] = [width / 2 - ((x0 + x1) / 2) * unit, (height - 24) / 2 + ((y0 + y1) / 2) * unit];
    this.frameOfPoints = { unit, left, top };
    const canvas = new OffscreenCanvas(this.plane.width, this.plane.height);
    this.backdrop = { basis: this.data, canvas };
    const pen = canvas.getContext("2d");
    pen.scale(devicePixelRatio, devicePixelRatio);
    pen.strokeStyle = pen.fillStyle = this.ink;
    pen.globalAlpha = 0.15;
    pen.strokeRect(-9, top, width + 18, 0.01);
    pen.strokeRect(left, -9, 0.01, height + 18);
    pen.fillStyle = this.dark ? this.data.colours.positive[3] : this.data.colours.point;
    pen.globalAlpha = this.numRows > 1500 ? 0.35 : 0.55;
    for (let row = this.numRows - 1; row >= 0; row -= 1) {
      pen.beginPath();
      pen.arc(left + this.x[row] * unit, top - this.y[row] * unit, 3.5, 0, 7);
      pen.fill();
    }
    pen.fillStyle = this.ink;
    pen.globalAlpha = 0.75;
    pen.font = `12px ${this.sans}`;
    const [first, second] = this.data.points.explained.map((share) => `${Math.round(share * 100)} %`);
    pen.fillText(`Variance: across ${first}, up ${second}`, 8, height - 9);
  }

  drawPlane() {
    const pen = this.pen(this.plane);
    if (this.backdrop?.basis !== this.data) this.framePoints();
    pen.drawImage(this.backdrop.canvas, 0, 0, this.plane.clientWidth, this.plane.clientHeight);
    for (const [cell, colour] of [[this.chosen, this.data.colours.mark], [this.lit, this.ink]]) {
      if (!cell || !Number.isFinite(this.x[cell.row])) continue;
      const [px, py] = this.pointPlace(cell.row);
      pen.fillStyle = pen.strokeStyle = colour;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(px, py, 7, 0, 7);
      pen.stroke();
      pen.font = `600 13px ${this.code}`;
      pen.textAlign = px > this.plane.clientWidth / 2 ? "right" : "left";
      pen.lineWidth = 4;
      pen.strokeStyle = this.paper;
      const place = [px + (pen.textAlign === "left" ? 11 : -11), clamp(py, 10, this.plane.clientHeight - 10)];
      pen.strokeText(this.data.prefixes[cell.row], ...place);
      pen.fillText(this.data.prefixes[cell.row], ...place);
    }
  }

  scrollTo(row) {
    const [top, room] = [row * LIST_ROW, this.list.clientHeight];
    if (top < this.list.scrollTop || top + LIST_ROW > this.list.scrollTop + room) this.list.scrollTop = top - room / 2;
  }

  // Only the strings in sight are there.
  drawList() {
    if (!this.data) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / LIST_ROW) - 2);
    const last = Math.min(this.numRows, first + Math.ceil(this.list.clientHeight / LIST_ROW) + 4);
    const words = Array.from({ length: Math.max(0, last - first) }, (_, i) => {
      const row = first + i;
      const word = this.list.querySelector(`[data-row="${row}"]`) ?? this.newWord(row);
      word.firstChild.textContent = this.data.prefixes[row];
      word.lastChild.textContent = Number(this.sums[row].toPrecision(3));
      word.classList.toggle("lit", row === this.lit?.row);
      word.classList.toggle("chosen", row === this.chosen?.row);
      word.setAttribute("aria-selected", row === this.chosen?.row);
      return word;
    });
    const space = this.list.firstElementChild;
    if (words.length + 1 !== this.list.children.length || words.some((word) => !word.parentElement)) this.list.replaceChildren(space, ...words);
    const lit = this.lit ?? this.chosen;
    if (lit && lit.row >= first && lit.row < last) this.list.setAttribute("aria-activedescendant", `${this.name}-${lit.row}`);
    else this.list.removeAttribute("aria-activedescendant");
  }

  newWord(row) {
    const word = document.createElement("div");
    Object.assign(word, { className: "word", id: `${this.name}-${row}` });
    Object.assign(word.dataset, { row });
    word.style.top = `${row * LIST_ROW}px`;
    word.setAttribute("role", "option");
    word.setAttribute("aria-posinset", row + 1);
    word.setAttribute("aria-setsize", this.numRows);
    word.append(document.createElement("span"), document.createElement("span"));
    return word;
  }

  drawStatus() {
    const { rows, columns } = this.seen();
    const [down, across] = this.block ?? [1, 1];
    const span = (name, [start, end], size) => (end - start < size ? `${name} ${start + 1}–${end} of ${size}` : `${size} ${name}`);
    const pooled = down * across > 1 ? ` · a pixel is the largest of ${down} × ${across}` : "";
    const text = `${span("rows", rows, this.numRows)}, ${span("columns", columns, this.numColumns)}${pooled}`;
    this.root.querySelector(".status").textContent = text;
  }

  drawLegend() {
    const { scale, negative, floor } = this.data.layer;
    const ramps = document.createElement("div");
    ramps.className = "ramps";
    for (const sign of negative ? [0, 128] : [0]) {
      const ramp = document.createElement("div");
      const stops = [1, 32, 64, 96, 127].map((level) => `rgb(${this.inks[level + sign].slice(0, 3)})`);
      ramp.className = "ramp";
      ramp.style.background = `linear-gradient(to right, ${stops})`;
      ramps.append(ramp);
    }
    const [low, high] = scale.map((exponent) => Object.assign(document.createElement("span"), { textContent: powerOfTen(exponent) }));
    const blank = document.createElement("span");
    blank.textContent = (negative ? "red: negative; " : "") + (floor ? "blank: smaller" : "blank: 0");
    this.root.querySelector(".legend").replaceChildren(low, ramps, high, blank);
  }
}

function halved({ width, height, levels }) {
  const [w, h] = [Math.ceil(width / 2), Math.ceil(height / 2)];
  const smaller = new Uint8Array(w * h);
  for (let i = 0; i < levels.length; i += 1) {
    if (levels[i] === 0) continue;
    const place = (Math.floor(i / width) >> 1) * w + ((i % width) >> 1);
    if ((levels[i] & 127) > (smaller[place] & 127)) smaller[place] = levels[i];
  }
  return { width: w, height: h, levels: smaller };
}

function painted({ width, height, levels }, inks) {
  const pen = new OffscreenCanvas(width, height).getContext("2d");
  const image = pen.createImageData(width, height);
  levels.forEach((level, i) => level && image.data.set([...inks[level].slice(0, 3), 255], 4 * i));
  pen.putImageData(image, 0, 0);
  return pen.canvas;
}
