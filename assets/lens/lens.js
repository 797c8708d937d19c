// The linked lens: heat map, points and strings of one matrix, in which the same prefix lights together.
//
// All that a pointer does stays in the browser. Python hears two things: what was chosen ("selection"), and which part of a matrix
// that is too large to travel whole is looked at ("window"). The answer, and the points, which change more often than the matrix,
// come through other, empty components: part.js. So does the cell that a link has chosen.
// A user's strings are drawn on canvases or set as text: no markup is ever made of them.

const LABELS_FROM = 14; // pixels that a row or column must have to be labelled
const VALUES_FROM = 52; // pixels that a column must have for numbers in its cells, if they are not known to be short
const DIGIT = 7.3; // pixels, in the font of the numbers
const LETTER = 7; // pixels of a letter of a label
const [LARGEST_ROW, LARGEST_COLUMN] = [40, 72];
const LIST_ROW = 26; // as in lens.css
const MARGIN = 26;
const SETTLED_MS = 250;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };
const TOOLS = { "+": "in", "=": "in", "-": "out", "−": "out", 0: "fit", Home: "fit" };

const lenses = new Map(); // name -> Lens

export default function ({ data, parentElement, setStateValue }) {
  let lens = lenses.get(data.name);
  if (lens?.root !== parentElement) {
    lens?.close();
    lens = new Lens(parentElement);
    lenses.set(data.name, lens);
  }
  lens.send = setStateValue;
  lens.update(data);
  return () => {
    lens.close();
    if (lenses.get(data.name) === lens) lenses.delete(data.name);
  };
}

function painted(levels, width, height, inks) {
  const pen = new OffscreenCanvas(width, height).getContext("2d");
  const image = pen.createImageData(width, height);
  levels.forEach((level, i) => level && image.data.set(inks[level], 4 * i));
  pen.putImageData(image, 0, 0);
  return pen.canvas;
}

class Lens {
  constructor(root) {
    this.root = root;
    const find = (selector) => root.querySelector(selector);
    [this.box, this.map, this.plane, this.list] = [".lens", ".matrix canvas", ".plane canvas", ".list"].map(find);
    [this.tip, this.said, this.status, this.legend] = [".tip", ".said", ".status", ".legend"].map(find);
    this.fingers = new Map();
    this.closing = new AbortController();
    const on = (target, kinds, act) => {
      for (const kind of kinds.split(" ")) target.addEventListener(kind, act, { signal: this.closing.signal, passive: false });
    };
    on(this.map, "pointerdown", (event) => this.press(event));
    on(this.map, "pointermove", (event) => this.move(event));
    on(this.map, "pointerup pointercancel", (event) => this.release(event));
    on(this.map, "wheel", (event) => this.wheel(event));
    on(this.map, "keydown", (event) => this.keys(event));
    for (const [view, at] of [[this.plane, (event) => this.pointAt(event)], [this.list, (event) => this.wordAt(event)]]) {
      on(view, "pointermove", (event) => this.light(at(event), event));
      on(view, "click", (event) => this.choose(at(event)));
      on(view, "keydown", (event) => this.walk(event));
    }
    for (const view of [this.map, this.plane, this.list]) on(view, "pointerleave blur", () => this.light(null));
    on(window, "nlwfa.lens", ({ detail }) => this.take(detail));
    on(window, "nlwfa.step", () => this.redraw()); // which may hide the numbers, or show them again
    on(find(".tools"), "click", (event) => this.zoomBy(event.target.dataset.do));
    this.sizes = new ResizeObserver(() => this.resize());
    for (const view of [this.map, this.plane]) this.sizes.observe(view);
  }

  close() {
    this.closing.abort();
    this.sizes.disconnect();
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }

  // What Python sent, anew or for the first time; or another theme.
  update(data) {
    const style = getComputedStyle(this.box);
    const theme = ["text-color", "background-color", "code-font", "font"].map((name) => style.getPropertyValue(`--st-${name}`).trim());
    const before = this.data;
    const isSame = before?.id === data.id && before.title === data.title;
    if (isSame && String(theme) === String(this.theme)) return;
    [this.ink, this.paper, this.code, this.sans] = this.theme = theme;
    this.dark = !isBright(channels(this.paper));
    this.scale = Number(style.getPropertyValue("--slide-scale")) || 1; // of letters, on a slide
    this.box.style.setProperty("--mark", data.colours.mark);
    this.data = data;
    if (before?.basis !== data.basis) this.lit = this.chosen = this.view = null;
    if (!isSame) this.unpack(data);
    this.inks = inksOf(this.data.colours, this.dark);
    this.screen = this.picture = this.points = null;
    this.drawLegend();
    this.resize();
    this.loadPicture(data);
  }

  unpack(data) {
    const { cells, shape } = data.layer;
    [this.numRows, this.numColumns] = shape;
    this.cells = cells && {
      bounds: unpacked(cells.bounds, Uint32Array),
      columns: unpacked(cells.columns, this.numColumns <= 65536 ? Uint16Array : Uint32Array),
      codes: unpacked(cells.codes, Uint16Array),
      values: unpacked(cells.values, Float64Array),
    };
    const longest = this.cells?.values.reduce((most, value) => Math.max(most, written(value, 3).length), 1) ?? Infinity;
    this.valuesFrom = Math.min(VALUES_FROM * this.scale, longest * DIGIT * this.scale + 8);
    this.sums = unpacked(data.sums, Float32Array);
    this.columnOf = null;
    this.x = this.y = new Float32Array(this.numRows).fill(NaN);
    this.explained = [];
    this.zeros = [];
    const room = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 1) * LETTER * this.scale + 14;
    this.room = { row: room(data.prefixes), column: room(data.suffixes) };
    this.window = this.levels = null;
    this.root.querySelector(".matrix h4").textContent = data.title;
    const size = `${this.numRows} rows, ${this.numColumns} columns`;
    const keys = "Arrow keys move from cell to cell, Enter chooses, plus and minus zoom, 0 shows all.";
    this.map.setAttribute("aria-label", `${data.title}, ${size}. ${keys}`);
    this.words = data.prefixes.map((prefix, row) => {
      const word = html("div", "", "word");
      word.append(html("span", prefix), html("span", written(this.sums[row], 3)));
      Object.entries({ role: "option", id: `${data.name}-${row}`, "data-row": row }).forEach(([name, value]) => word.setAttribute(name, value));
      return word;
    });
    this.list.replaceChildren(...this.words);
    this.take(globalThis.nlwfaLensParts?.get(data.name) ?? {});
  }

  // What came beside the matrix, if it is this one's.
  take({ lens, id, window: part, rows, points, basis, chosen }) {
    if (lens !== this.data?.name) return;
    if (chosen && basis === this.data.basis) this.chosen ??= chosen; // a link's cell, until one is chosen here
    if (part && id === this.data.id) this.window = { ...part, values: unpacked(part.values, Float64Array) };
    if (points && rows === this.data.rows) {
      [this.x, this.y] = [points.x, points.y].map((text) => unpacked(text, Float32Array));
      this.explained = points.explained;
      this.zeros = points.zeros;
      this.root.querySelector(".plane h4").textContent = points.title;
      this.plane.setAttribute("aria-label", `${points.title}. Arrow keys move from prefix to prefix; Enter chooses.`);
      this.points = null;
    }
    this.redraw();
  }

  async loadPicture(data) {
    if (!this.levels) {
      const blob = new Blob([unpacked(data.layer.png, Uint8Array)], { type: "image/png" });
      const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
      if (this.data !== data) return;
      const { width, height } = bitmap;
      const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      pen.drawImage(bitmap, 0, 0);
      const pixels = pen.getImageData(0, 0, width, height).data;
      this.levels = { width, height, of: Uint8Array.from({ length: width * height }, (_, i) => pixels[4 * i]) };
    }
    this.picture = painted(this.levels.of, this.levels.width, this.levels.height, this.inks);
    this.redraw();
  }

  // The level of a value, as `inksOf` colours it.
  levelOf(value) {
    const [low, high] = this.data.layer.scale;
    const [size, sign] = [Math.abs(value), value < 0 ? 128 : 0];
    if (size <= this.data.layer.floor) return 0;
    return 1 + sign + Math.round(clamp((Math.log10(size) - low) / (high - low), 0, 1) * 126);
  }

  // Whether a lesson hides the numbers ("values"), or which cells have the same string ("same"), until
  // its question is answered: see open_lesson.
  hides(what) {
    const isHidden = getComputedStyle(this.box).getPropertyValue(`--hide-${what}`).trim() === "hidden";
    this.box.dataset[what] = isHidden ? "hidden" : "shown";
    return isHidden;
  }

  // A cell's exact value if it is here, else undefined.
  valueAt(row, column) {
    if (!this.cells) {
      const { row: top, column: left, shape, values } = this.window ?? { shape: [0, 0] };
      const inside = row >= top && column >= left && row < top + shape[0] && column < left + shape[1];
      return inside ? values[(row - top) * shape[1] + column - left] : undefined;
    }
    const { bounds, columns, codes, values } = this.cells;
    let [low, high] = [bounds[row], bounds[row + 1]];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (columns[middle] < column) low = middle + 1;
      else high = middle;
    }
    return low < bounds[row + 1] && columns[low] === column ? values[codes[low]] : 0;
  }

  // What can be said of a cell whose value is not here: its block's largest entry.
  roughly(row, column) {
    const { factors, scale, floor } = this.data.layer;
    if (!this.levels) return "…";
    const level = this.levels.of[Math.floor(row / factors[0]) * this.levels.width + Math.floor(column / factors[1])];
    if (level === 0) return floor ? `below ${powerOfTen(Math.round(Math.log10(floor)))}` : "0";
    const size = 10 ** (scale[0] + (((level & 127) - 1) / 126) * (scale[1] - scale[0]));
    const about = `≈ ${written(level > 128 ? -size : size, 1)}`;
    return factors[0] * factors[1] > 1 ? `largest in its ${factors[0]} × ${factors[1]} block: ${about}` : about;
  }

  get labelsFrom() {
    return LABELS_FROM * this.scale;
  }

  get margin() {
    return MARGIN * this.scale;
  }

  // Whether the labels of all columns fit above them without being turned.
  isLevel(sx) {
    return sx >= this.room.column - 8;
  }

  // Where the matrix is drawn: room for labels only when there are some.
  plot({ sx, sy }) {
    const { clientWidth: width, clientHeight: height } = this.map;
    const left = sy >= this.labelsFrom ? clamp(this.room.row, this.margin, Math.min(150 * this.scale, width * 0.32)) : this.margin;
    const isUpright = sx >= this.labelsFrom && !this.isLevel(sx);
    const top = isUpright ? clamp(this.room.column, this.margin, Math.min(110 * this.scale, height * 0.3)) : this.margin;
    return { left, top, width: width - left - 6, height: height - top - 6 };
  }

  fit() {
    const within = ({ width, height }) => ({
      x: 0,
      y: 0,
      sx: Math.min(width / this.numColumns, LARGEST_COLUMN * this.scale),
      sy: Math.min(height / this.numRows, LARGEST_ROW * this.scale),
    });
    return within(this.plot(within(this.plot({ sx: 0, sy: 0 })))); // once more: labels take room
  }

  get zoomed() {
    const fit = this.fit();
    return this.view.sx > fit.sx * 1.001 || this.view.sy > fit.sy * 1.001;
  }

  zoom(factor, px, py) {
    const [fit, { x, y, sx, sy }, old] = [this.fit(), this.view, this.plot(this.view)];
    const scales = { sx: clamp(sx * factor, fit.sx, LARGEST_COLUMN * this.scale), sy: clamp(sy * factor, fit.sy, LARGEST_ROW * this.scale) };
    const plot = this.plot(scales);
    const [column, row] = [x + (px - old.left) / sx, y + (py - old.top) / sy];
    // What was under the pointer stays there, or beside the labels where these take its place.
    const [across, down] = [Math.max(px - plot.left, scales.sx / 2), Math.max(py - plot.top, scales.sy / 2)];
    this.show({ ...scales, x: column - across / scales.sx, y: row - down / scales.sy });
  }

  zoomBy(what) {
    if (what === "fit") this.show(this.fit());
    if (what !== "in" && what !== "out") return;
    const { left, top, width, height } = this.plot(this.view);
    const place = this.lit?.column === undefined ? [left + width / 2, top + height / 2] : this.placeOf(this.lit);
    this.zoom(what === "in" ? 1.6 : 1 / 1.6, ...place);
  }

  show(view) {
    const { width, height } = this.plot(view);
    const x = clamp(view.x, 0, Math.max(0, this.numColumns - width / view.sx));
    const y = clamp(view.y, 0, Math.max(0, this.numRows - height / view.sy));
    this.view = { ...view, x, y };
    this.screen = null;
    this.map.parentElement.classList.toggle("zoomed", this.zoomed);
    this.redraw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askForWindow(), SETTLED_MS);
  }

  // The view stands still: ask Python for what is looked at, if it is close enough to be read and is not here.
  askForWindow() {
    if (this.cells || this.view.sy < this.labelsFrom) return;
    const { rows, columns } = this.seen();
    if (this.valueAt(rows[0], columns[0]) !== undefined && this.valueAt(rows[1] - 1, columns[1] - 1) !== undefined) return;
    const wider = ([start, end]) => [Math.max(0, start - 20), end - start + 40];
    const [[row, numRows], [column, numColumns]] = [wider(rows), wider(columns)];
    this.send("window", { id: this.data.id, row, column, numRows, numColumns });
  }

  // The rows and columns in sight, as [first, behind the last].
  seen() {
    const { x, y, sx, sy } = this.view;
    const { width, height } = this.plot(this.view);
    const range = (start, room, size) => [Math.floor(start), Math.min(size, Math.ceil(start + room - 1e-9))];
    return { rows: range(y, height / sy, this.numRows), columns: range(x, width / sx, this.numColumns) };
  }

  placeOf({ row, column = 0 }) {
    const { left, top } = this.plot(this.view);
    return [left + (column + 0.5 - this.view.x) * this.view.sx, top + (row + 0.5 - this.view.y) * this.view.sy];
  }

  cellAt({ offsetX, offsetY }) {
    const { left, top, width, height } = this.plot(this.view);
    if (offsetY < top || offsetY > top + height || offsetX > left + width) return null;
    const row = Math.floor(this.view.y + (offsetY - top) / this.view.sy);
    const column = Math.floor(this.view.x + (offsetX - left) / this.view.sx);
    if (row >= this.numRows || column >= this.numColumns) return null;
    return offsetX < left ? { row } : { row, column }; // on the labels: the row alone
  }

  pointAt({ offsetX, offsetY }) {
    const distances = Array.from(this.x, (_, row) => {
      const [px, py] = this.pointPlace(row);
      return Math.hypot(px - offsetX, py - offsetY) || 0;
    });
    const row = distances.reduce((best, distance, i) => (Number.isFinite(this.x[i]) && distance < (distances[best] ?? 14) ? i : best), -1);
    return row < 0 ? null : { row };
  }

  wordAt({ target }) {
    return target.closest(".word") && { row: Number(target.closest(".word").dataset.row) };
  }

  press(event) {
    this.map.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event);
    this.start = { x: event.clientX, y: event.clientY, moved: false };
  }

  // Pointing, dragging with one finger, zooming with two.
  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return this.light(this.cellAt(event), event);
    const [other] = [...this.fingers.values()].filter((finger) => finger.pointerId !== event.pointerId);
    if (Math.hypot(event.clientX - this.start.x, event.clientY - this.start.y) > 4) this.start.moved = true;
    const { x, y, sx, sy } = this.view;
    if (other) {
      const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
      this.zoom(apart(event) / apart(before), (event.offsetX + other.offsetX) / 2, (event.offsetY + other.offsetY) / 2);
    } else if (this.start.moved) {
      this.show({ sx, sy, x: x - (event.clientX - before.clientX) / sx, y: y - (event.clientY - before.clientY) / sy });
    }
    return this.fingers.set(event.pointerId, event);
  }

  release(event) {
    const clicked = event.type === "pointerup" && this.fingers.size === 1 && !this.start.moved;
    this.fingers.delete(event.pointerId);
    if (!clicked) return;
    this.light(this.cellAt(event), event);
    this.choose(this.lit);
  }

  // The wheel scrolls the page, as anywhere; with Ctrl or ⌘, and when two fingers are spread on a touchpad, it zooms, as on a map.
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(2 ** (-clamp(event.deltaY, -200, 200) / 250), event.offsetX, event.offsetY);
  }

  keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [at, step] = [this.lit ?? this.chosen, STEPS[event.key]];
    if (TOOLS[event.key]) this.zoomBy(TOOLS[event.key]);
    else if (step && event.shiftKey) this.show({ ...this.view, x: this.view.x + 10 * step[1], y: this.view.y + 10 * step[0] });
    else if (step) {
      const { rows, columns } = this.seen();
      const row = at ? clamp(at.row + step[0], 0, this.numRows - 1) : rows[0];
      this.goTo({ row, column: at ? clamp((at.column ?? columns[0]) + step[1], 0, this.numColumns - 1) : columns[0] });
    } else if (event.key === "Enter" || event.key === " ") this.choose(at);
    else if (event.key === "Escape") this.light(null);
    else return;
    event.preventDefault();
  }

  // Along the prefixes, in the plane and in the list.
  walk(event) {
    const ends = { Home: -Infinity, End: Infinity };
    const [at, step] = [this.lit ?? this.chosen, STEPS[event.key] ?? [ends[event.key], 0]];
    if (step[0] !== undefined) this.goTo({ row: at ? clamp(at.row + step[0] + step[1], 0, this.numRows - 1) : 0 });
    else if (event.key === "Enter" || event.key === " ") this.choose(at);
    else return;
    event.preventDefault();
  }

  // Light a cell or row from the keyboard: bring it into sight, and say it.
  goTo(cell) {
    const { rows, columns } = this.seen();
    const shift = (place, [first, end]) => (place < first ? place - first : place >= end - 1 ? place - end + 2 : 0);
    this.show({ ...this.view, x: this.view.x + shift(cell.column, columns), y: this.view.y + shift(cell.row, rows) });
    this.light(cell);
    this.describe(cell, null);
    this.said.textContent = this.facts(cell).flat().join(" ");
  }

  light(cell, event = null) {
    this.lit = cell;
    const top = (cell?.row ?? 0) * LIST_ROW - this.list.scrollTop;
    if (cell && event?.currentTarget !== this.list && (top < 0 || top > this.list.clientHeight - LIST_ROW)) {
      this.list.scrollTop += top - this.list.clientHeight / 2;
    }
    this.tip.hidden = !cell || !event;
    if (!this.tip.hidden) this.describe(cell, event);
    this.redraw();
  }

  choose(cell) {
    if (!cell) return;
    this.chosen = { row: cell.row, column: cell.column ?? this.chosen?.column };
    this.redraw();
    this.send("selection", { basis: this.data.basis, row: cell.row, column: this.chosen.column ?? null });
  }

  facts({ row, column }) {
    const { prefixes, suffixes } = this.data;
    const value = column === undefined ? 0 : this.valueAt(row, column);
    const [x, y] = [this.x[row], this.y[row]];
    return [
      [this.data.row, prefixes[row]],
      ...(column === undefined
        ? [["row sum", written(this.sums[row], 6)]]
        : [
            ["suffix v", suffixes[column]],
            ["value", this.hides("values") ? "?" : value === undefined ? this.roughly(row, column) : written(value, 6)],
          ]),
      ["point", Number.isFinite(x) ? `(${written(x, 3)}, ${written(y, 3)})` : "none: no string begins like this"],
    ];
  }

  // The tooltip, beside the pointer, or beside what the keys have reached.
  describe(cell, event) {
    const lines = this.facts(cell).map(([name, text]) => {
      const line = document.createElement("div");
      line.append(html("i", name), html("b", text));
      return line;
    });
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const box = this.box.getBoundingClientRect();
    let [x, y] = [event?.clientX, event?.clientY];
    if (!event) {
      const focused = this.root.activeElement;
      const { left, top } = focused.getBoundingClientRect();
      const inList = [20, cell.row * LIST_ROW - this.list.scrollTop];
      const [px, py] = focused === this.map ? this.placeOf(cell) : focused === this.plane ? this.pointPlace(cell.row) : inList;
      [x, y] = [left + (px || 0), top + (py || 0)];
    }
    const [left, top, width, height] = [x - box.left, y - box.top, this.tip.offsetWidth, this.tip.offsetHeight];
    const beside = left + 16 + width > box.width ? left - width - 16 : left + 16;
    this.tip.style.left = `${clamp(beside, 0, Math.max(0, box.width - width))}px`;
    this.tip.style.top = `${top + 16 + height > box.height ? top - height - 12 : top + 16}px`;
  }

  resize() {
    if (!this.data || !this.map.clientWidth) return;
    for (const canvas of [this.map, this.plane]) {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.round(size * devicePixelRatio));
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    }
    this.points = null;
    this.show(this.view && this.zoomed ? this.view : this.fit());
  }

  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.view || !this.map.clientWidth) return;
      this.drawMap();
      this.drawPlane();
      this.markWords();
      this.drawStatus();
    });
  }

  pen(canvas) {
    const pen = canvas.getContext("2d");
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    return Object.assign(pen, { textBaseline: "middle", globalAlpha: 1 });
  }

  drawMap() {
    const [pen, plot, { x, y, sx, sy }, { rows, columns }] = [this.pen(this.map), this.plot(this.view), this.view, this.seen()];
    const width = Math.min(plot.width, (this.numColumns - x) * sx);
    const height = Math.min(plot.height, (this.numRows - y) * sy);
    pen.save();
    pen.beginPath();
    pen.rect(plot.left, plot.top, width, height);
    pen.clip();
    this.isClose = sx >= 7 && sy >= 7 && this.valueAt(rows[0], columns[0]) !== undefined;
    if (this.isClose) this.drawCells(pen, plot, rows, columns);
    else if (this.picture) this.drawPicture(pen, plot, width, height);
    this.drawBands(pen, plot, width, height);
    pen.restore();
    pen.strokeStyle = this.ink;
    pen.globalAlpha = 0.25;
    pen.strokeRect(plot.left - 0.5, plot.top - 0.5, width + 1, height + 1);
    this.drawLabels(pen, plot, rows, columns);
  }

  // A pixel of the picture that is smaller than one of the screen might be lost: then each pixel of the screen is the largest of them.
  drawPicture(pen, plot, width, height) {
    const { x, y, sx, sy } = this.view;
    const [down, across] = this.data.layer.factors;
    pen.imageSmoothingEnabled = false;
    if (Math.min(sx * across, sy * down) * devicePixelRatio >= 1) {
      pen.drawImage(this.picture, x / across, y / down, width / sx / across, height / sy / down, plot.left, plot.top, width, height);
      return;
    }
    this.screen ??= this.pooled(Math.ceil(width * devicePixelRatio), Math.ceil(height * devicePixelRatio));
    pen.drawImage(this.screen, plot.left, plot.top, width, height);
  }

  pooled(width, height) {
    const [{ x, y, sx, sy }, [down, across]] = [this.view, this.data.layer.factors];
    const largest = new Uint8Array(width * height);
    const range = (number, factor, start, scale, end) => {
      const [first, next] = [number, number + 1].map((edge) => Math.floor((edge * factor - start) * scale * devicePixelRatio + 1e-6));
      return [Math.max(first, 0), Math.min(Math.max(next, first + 1), end)];
    };
    this.levels.of.forEach((level, i) => {
      if (level === 0) return;
      const [left, right] = range(i % this.levels.width, across, x, sx, width);
      const [top, bottom] = range(Math.floor(i / this.levels.width), down, y, sy, height);
      for (let py = top; py < bottom; py += 1) {
        for (let place = py * width + left; place < py * width + right; place += 1) {
          if ((level & 127) > (largest[place] & 127)) largest[place] = level;
        }
      }
    });
    return painted(largest, width, height, this.inks);
  }

  drawCells(pen, plot, rows, columns) {
    const { x, y, sx, sy } = this.view;
    Object.assign(pen, { font: `${12 * this.scale}px ${this.code}`, textAlign: "center" });
    const isHidden = this.hides("values");
    for (let row = rows[0]; row < rows[1]; row += 1) {
      for (let column = columns[0]; column < columns[1]; column += 1) {
        const value = this.valueAt(row, column);
        const level = value ? this.levelOf(value) : 0;
        if (level === 0) continue;
        const [px, py] = [plot.left + (column - x) * sx, plot.top + (row - y) * sy];
        pen.fillStyle = `rgb(${this.inks[level].slice(0, 3)})`;
        pen.fillRect(px + 0.5, py + 0.5, sx - 1, sy - 1);
        if (sx < this.valuesFrom || sy < this.labelsFrom || isHidden) continue;
        pen.fillStyle = isBright(this.inks[level]) ? "#111" : "#fff";
        // A cell at the edge shows its whole number or none: half of 0.3 would be a 3.
        const text = written(value, 3);
        const [left, right] = [Math.max(px, plot.left), Math.min(px + sx, plot.left + plot.width)];
        const isCut = right - left < sx - 1;
        if (isCut && pen.measureText(text).width > right - left - 4) continue;
        pen.fillText(text, isCut ? (left + right) / 2 : px + sx / 2, py + sy / 2 + 0.5, sx - 4);
      }
    }
  }

  marks() {
    return [[this.chosen, this.data.colours.mark], [this.lit, this.ink]].filter(([cell]) => cell);
  }

  // The cells of the same string uv as a cell: a shortened label names no string.
  *sameString({ row, column }) {
    const { prefixes, suffixes, separator, empty } = this.data;
    const text = (label) => (label === empty ? "" : label);
    const whole = [text(prefixes[row]), text(suffixes[column])].filter(Boolean).join(separator);
    if (whole.includes("…")) return;
    this.columnOf ??= new Map(suffixes.map((suffix, number) => [text(suffix), number]));
    for (const [number, prefix] of prefixes.entries()) {
      const start = text(prefix);
      const isAll = start === whole;
      if (!isAll && start && !whole.startsWith(start + separator)) continue;
      const rest = isAll ? "" : whole.slice(start ? start.length + separator.length : 0);
      if (this.columnOf.has(rest)) yield [number, this.columnOf.get(rest)];
    }
  }

  // Along the rows and columns that are lit or chosen, at least two pixels wide.
  drawBands(pen, plot, width, height) {
    const { x, y, sx, sy } = this.view;
    const isHidden = this.hides("same");
    for (const [{ row, column }, colour] of this.marks()) {
      const [top, left, thick, broad] = [plot.top + (row - y) * sy, plot.left + (column - x) * sx, Math.max(sy, 2), Math.max(sx, 2)];
      Object.assign(pen, { strokeStyle: colour, fillStyle: colour, globalAlpha: 0.14, lineWidth: 1.5 });
      pen.fillRect(plot.left, top, width, thick);
      if (column !== undefined) pen.fillRect(left, plot.top, broad, height);
      pen.globalAlpha = 0.8;
      pen.strokeRect(plot.left - 5, top, width + 10, thick);
      Object.assign(pen, { globalAlpha: 1, lineWidth: 2, strokeStyle: this.data.colours.mark });
      for (const [other, place] of column === undefined || isHidden ? [] : this.sameString({ row, column })) {
        pen.strokeRect(plot.left + (place - x) * sx, plot.top + (other - y) * sy, broad, thick);
      }
      pen.strokeStyle = colour;
      if (column !== undefined) pen.strokeRect(left - 1, top - 1, broad + 2, thick + 2);
    }
    pen.lineWidth = 1;
  }

  drawLabels(pen, plot, rows, columns) {
    const { x, y, sx, sy } = this.view;
    const say = (text, px, py, turn, room, strong) => {
      pen.save();
      pen.translate(px, py);
      pen.rotate(turn);
      pen.globalAlpha = strong ? 1 : 0.75;
      const letters = Math.floor(room / (LETTER * this.scale));
      pen.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, 0, 0);
      pen.restore();
    };
    const isMarked = (name, number) => this.lit?.[name] === number || this.chosen?.[name] === number;
    Object.assign(pen, { fillStyle: this.ink, font: `${12 * this.scale}px ${this.code}`, textAlign: "right" });
    for (let row = rows[0]; sy >= this.labelsFrom && row < rows[1]; row += 1) {
      const place = plot.top + (row + 0.5 - y) * sy;
      if (place < plot.top || place > plot.top + plot.height) continue;
      say(this.data.prefixes[row], plot.left - 6, place, 0, plot.left - 8, isMarked("row", row));
    }
    const isLevel = this.isLevel(sx);
    pen.textAlign = isLevel ? "center" : "left";
    for (let column = columns[0]; sx >= this.labelsFrom && column < columns[1]; column += 1) {
      const place = plot.left + (column + 0.5 - x) * sx;
      if (place < plot.left || place > plot.left + plot.width) continue;
      const [rise, turn, room] = isLevel ? [12 * this.scale, 0, sx] : [6, -Math.PI / 2, plot.top - 8];
      say(this.data.suffixes[column], place, plot.top - rise, turn, room, isMarked("column", column));
    }
    Object.assign(pen, { font: `${12 * this.scale}px ${this.sans}`, textAlign: "left" });
    if (sx < this.labelsFrom) say("suffix v, by frequency →", plot.left, plot.top - 13 * this.scale, 0, Infinity, false);
    pen.textAlign = "right";
    if (sy < this.labelsFrom) say(`← ${this.data.row}, by frequency`, 13 * this.scale, plot.top, -Math.PI / 2, Infinity, false);
  }

  // Both axes have the same unit: distances between points are right.
  pointPlace(row) {
    if (!this.points) this.drawPoints();
    const { unit, left, top } = this.points;
    return [left + this.x[row] * unit, top - this.y[row] * unit];
  }

  drawPoints() {
    const { clientWidth: width, clientHeight: height } = this.plane;
    const [[x0, x1], [y0, y1]] = [this.x, this.y].map((values) => {
      const known = values.filter(Number.isFinite);
      return known.length ? [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))] : [0, 0];
    });
    const unit = Math.min((width - 40) / (x1 - x0 || 1), (height - 64) / (y1 - y0 || 1));
    const [left, top] = [width / 2 - ((x0 + x1) / 2) * unit, (height - 24) / 2 + ((y0 + y1) / 2) * unit];
    const pen = new OffscreenCanvas(this.plane.width, this.plane.height).getContext("2d");
    this.points = { unit, left, top, canvas: pen.canvas };
    pen.scale(devicePixelRatio, devicePixelRatio);
    Object.assign(pen, { fillStyle: this.ink, globalAlpha: 0.15, font: `${12 * this.scale}px ${this.sans}` });
    pen.fillRect(0, Math.round(top), width, 1);
    pen.fillRect(Math.round(left), 0, 1, height);
    const colour = this.dark ? this.data.colours.positive[3] : this.data.colours.point;
    Object.assign(pen, { fillStyle: colour, globalAlpha: this.numRows > 1500 ? 0.35 : 0.55 });
    for (let row = this.numRows - 1; row >= 0; row -= 1) {
      pen.beginPath();
      pen.arc(...this.pointPlace(row), 3.5, 0, 7);
      pen.fill();
    }
    this.markZeros(pen, width);
    const [across = "…", up = "…"] = this.explained.map((share) => `${Math.round(share * 100)}%`);
    Object.assign(pen, { fillStyle: this.ink, globalAlpha: 0.75 });
    pen.fillText(`Variance: ${across} across, ${up} up`, 8, height - 9);
  }

  // A cross where the zero vectors lie: a model gives weight 0 to whatever begins so.
  markZeros(pen, width) {
    if (!this.zeros.length) return;
    const [x, y] = this.pointPlace(this.zeros[0]);
    Object.assign(pen, { strokeStyle: this.ink, fillStyle: this.ink, globalAlpha: 0.9, lineWidth: 2 });
    pen.beginPath();
    for (const side of [-1, 1]) {
      pen.moveTo(x - 6, y - 6 * side);
      pen.lineTo(x + 6, y + 6 * side);
    }
    pen.stroke();
    pen.textAlign = x > width / 2 ? "right" : "left";
    pen.fillText(`zero vector: ${this.zeros.length}`, x + (x > width / 2 ? -10 : 10), y - 8);
    pen.textAlign = "left";
  }

  drawPlane() {
    if (!this.plane.clientWidth) return;
    const pen = this.pen(this.plane);
    if (!this.points) this.drawPoints();
    const { clientWidth: width, clientHeight: height } = this.plane;
    pen.drawImage(this.points.canvas, 0, 0, width, height);
    for (const [{ row }, colour] of this.marks()) {
      const [px, py] = this.pointPlace(row);
      if (!Number.isFinite(px)) continue;
      const side = px > width / 2 ? -1 : 1;
      Object.assign(pen, { fillStyle: colour, strokeStyle: colour, lineWidth: 2, font: `600 ${13 * this.scale}px ${this.code}` });
      pen.beginPath();
      pen.arc(px, py, 7, 0, 7);
      pen.stroke();
      Object.assign(pen, { textAlign: side < 0 ? "right" : "left", lineWidth: 4, strokeStyle: this.paper });
      pen.strokeText(this.data.prefixes[row], px + 11 * side, clamp(py, 10, height - 10));
      pen.fillText(this.data.prefixes[row], px + 11 * side, clamp(py, 10, height - 10));
    }
  }

  markWords() {
    for (const [name, cell] of [["lit", this.lit], ["chosen", this.chosen]]) {
      this.list.querySelector(`.${name}`)?.classList.remove(name);
      if (cell) this.words[cell.row].classList.add(name);
    }
    this.list.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    if (this.chosen) this.words[this.chosen.row].setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", this.words[(this.lit ?? this.chosen)?.row]?.id ?? "");
  }

  drawStatus() {
    const { rows, columns } = this.seen();
    const span = (name, [start, end], size) => (end - start < size ? `${name} ${start + 1}–${end} of ${size}` : `${size} ${name}`);
    const entries = (scale, factor) => Math.max(factor, Math.ceil(1 / (scale * devicePixelRatio) - 1e-6));
    const [down, across] = [entries(this.view.sy, this.data.layer.factors[0]), entries(this.view.sx, this.data.layer.factors[1])];
    const pooled = this.isClose || down * across === 1 ? "" : ` · each pixel shows the largest of up to ${down} × ${across} entries`;
    this.status.textContent = `${span("rows", rows, this.numRows)}, ${span("columns", columns, this.numColumns)}${pooled}`;
  }

  drawLegend() {
    const { scale, negative, floor } = this.data.layer;
    const ramps = html("div", "", "ramps");
    for (const sign of negative ? [0, 128] : [0]) {
      const stops = [1, 32, 64, 96, 127].map((level) => `rgb(${this.inks[level + sign].slice(0, 3)})`);
      ramps.append(html("div", "", "ramp"));
      ramps.lastChild.style.background = `linear-gradient(to right, ${stops})`;
    }
    const blank = (negative ? "red: negative; " : "") + (floor ? "blank: smaller" : "blank: 0");
    const [low, high] = scale.map((power) => html("span", powerOfTen(power)));
    this.legend.replaceChildren(low, ramps, high, html("span", blank));
  }
}
