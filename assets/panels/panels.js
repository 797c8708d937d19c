// H, Ĥ and H − Ĥ as three heat maps. Ĥ of rank k is computed here, from factors that were sent once (nlwfa_core/display/panels.py), so
// it follows the cut of the singular values (assets/cut), which says the rank: with a rank of its own, the whole data would be sent
// again for each. Cells with the same string uv light together.
// A user's strings are drawn on canvases or set as text: no markup is ever made of them.

const MOVE_MS = 700; // of rows, and then of columns, that find their places
const LABELS_FROM = 13; // pixels that a row or column must have to be labelled
const TALLEST = 330; // pixels of a heat map
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const boxes = new WeakMap(); // the views -> their Panels

export default function ({ data, parentElement }) {
  const views = parentElement.querySelector(".views");
  if (!boxes.has(views)) boxes.set(views, new Panels(parentElement, views));
  boxes.get(views).update(data);
  return () => boxes.get(views)?.close();
}

class Panels {
  constructor(root, views) {
    Object.assign(this, { root, views, lit: null, rank: 1 });
    this.canvases = [...views.querySelectorAll("canvas")];
    this.titles = [...views.querySelectorAll("figcaption b")];
    this.notes = [...views.querySelectorAll("figcaption span")];
    this.said = root.querySelector(".said");
    this.closing = new AbortController();
    const on = (target, kind, act) => target.addEventListener(kind, act, { signal: this.closing.signal });
    this.canvases.forEach((canvas) => {
      on(canvas, "pointermove", (event) => this.light(this.cellAt(event)));
      on(canvas, "pointerdown", (event) => this.light(this.cellAt(event)));
      on(canvas, "pointerleave", (event) => event.pointerType === "mouse" && this.light(null));
    });
    on(views, "keydown", (event) => this.keys(event));
    on(views, "blur", () => this.light(null));
    on(root.querySelector(".tools"), "click", (event) => this.order(event.target.dataset.order));
    on(window, "nlwfa.rank", ({ detail }) => detail.id === this.data?.basis && this.cut(detail.rank));
    this.sizes = new ResizeObserver(() => {
      this.width = this.canvases[0].clientWidth;
      this.redraw();
    });
    this.sizes.observe(views);
  }

  close() {
    this.closing.abort();
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
    boxes.delete(this.views);
  }

  update(data) {
    const style = getComputedStyle(this.views);
    const theme = ["text-color", "background-color", "code-font", "font"].map((name) => style.getPropertyValue(`--st-${name}`).trim());
    const isSame = this.data?.id === data.id;
    this.data = data;
    if (!isSame || String(theme) !== String(this.theme)) {
      [this.ink, this.paper, this.code, this.sans] = this.theme = theme;
      this.dark = !isBright(channels(this.paper));
      this.inks = inksOf(this.data.colours, this.dark);
      this.packed = Uint32Array.from(this.inks, ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red);
      this.packed[0] = 0;
      this.drawLegend();
      if (isSame) [0, 1, 2].forEach((which) => this.paint(which));
    }
    if (!isSame) this.unpack();
    this.cut(globalThis.nlwfaRank?.id === data.basis ? globalThis.nlwfaRank.rank : 1);
  }

  unpack() {
    const { shape, whole, cells, left, right, words } = this.data;
    [this.numRows, this.numColumns] = shape;
    [this.H, this.left, this.right] = [cells, left, right].map((text) => unpacked(text, Float64Array));
    this.words = unpacked(words, Uint16Array);
    const size = this.numRows * this.numColumns;
    this.layers = [this.H, new Float64Array(size), new Float64Array(size)];
    this.images = this.layers.map(() => new OffscreenCanvas(this.numColumns, this.numRows));
    this.lit = null;
    this.rank = 0;
    this.natural = { rows: [...Array(this.numRows).keys()], columns: [...Array(this.numColumns).keys()] };
    // A person's choice stays for all matrices.
    this.arrange(this.chosen ?? (this.data.byState ? "state" : "frequency"));
    this.moving = null;
    const isPart = whole[0] > this.numRows || whole[1] > this.numColumns;
    const titles = [...this.names(), this.names().join(" − ")];
    titles.forEach((title, i) => { this.titles[i].textContent = title; });
    const sides = `${shape[0]} prefixes u × ${shape[1]} suffixes v`;
    this.notes[0].textContent = isPart ? `first ${sides}, of ${whole.join(" × ")}` : sides;
    const keys = "Arrow keys move from cell to cell.";
    this.views.setAttribute("aria-label", `H, Ĥ and H − Ĥ, ${this.numRows} rows, ${this.numColumns} columns. ${keys}`);
    this.paint(0);
    this.isWhole = true;
  }

  // Of the block and of its approximation, such as H_λ and Ĥ_λ.
  names() {
    return [`H_${this.data.name}`, `Ĥ_${this.data.name}`];
  }

  // Ĥ = Σ left column i × right column i, i ≤ k.
  cut(rank) {
    const k = clamp(rank, 1, this.data.most);
    if (k === this.rank) return this.redraw();
    this.rank = k;
    const [H, near, rest] = this.layers;
    const { most, errors } = this.data;
    for (let row = 0, i = 0; row < this.numRows; row += 1) {
      for (let column = 0; column < this.numColumns; column += 1, i += 1) {
        let sum = 0;
        for (let j = 0, a = row * most, b = column * most; j < k; j += 1, a += 1, b += 1) sum += this.left[a] * this.right[b];
        near[i] = sum;
        rest[i] = H[i] - sum;
      }
    }
    this.notes[1].textContent = `rank ${k}`;
    const [whole, part] = this.names();
    const [error, all] = this.data.weighted ? [`√W (${whole} − ${part})`, `√W ${whole}`] : [`${whole} − ${part}`, whole];
    this.notes[2].textContent = errors[k - 1] === null ? "" : `‖${error}‖ / ‖${all}‖ = ${written(errors[k - 1])}`;
    this.paint(1);
    this.paint(2);
    if (this.lit) this.describe();
    return this.redraw(true);
  }

  // As in nlwfa_core/display/lens.py: 1 … 127 positive, 129 … 255 negative, on a scale of logarithms; 0 is blank.
  levelOf(value) {
    const [low, high] = this.data.scale;
    const size = Math.abs(value);
    if (size <= this.data.floor) return 0;
    return 1 + (value < 0 ? 128 : 0) + Math.round(clamp((Math.log10(size) - low) / (high - low), 0, 1) * 126);
  }

  // What is left of H has a scale of square roots, up to H's largest entry: on logarithms it would be as dark as H wherever it is not
  // exactly 0, and on a linear scale a state that is missing would hardly be seen.
  shareOfLargest(value) {
    return Math.sqrt(clamp(Math.abs(value) / this.data.largest || 0, 0, 1));
  }

  // A layer's picture, in the order of frequency.
  paint(which) {
    const pen = this.images[which].getContext("2d");
    const image = pen.createImageData(this.numColumns, this.numRows);
    const pixels = new Uint32Array(image.data.buffer);
    const layer = this.layers[which];
    const faded = (value) => (Math.round(this.shareOfLargest(value) * 255) << 24) | (this.packed[value < 0 ? 255 : 127] & 0xffffff);
    const inkOf = which === 2 ? faded : (value) => (value === 0 ? 0 : this.packed[this.levelOf(value)]);
    for (let i = 0; i < pixels.length; i += 1) pixels[i] = inkOf(layer[i]);
    pen.putImageData(image, 0, 0);
  }

  order(name) {
    if (!name || (name === "state") === Boolean(this.isByState)) return;
    this.chosen = name;
    const before = this.places;
    this.arrange(name);
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.moving = isCalm ? null : { from: before, begin: performance.now() };
    this.redraw();
  }

  arrange(name) {
    this.isByState = name === "state";
    this.places = this.isByState ? this.data.order : this.natural;
    for (const button of this.root.querySelectorAll("[data-order]")) {
      button.setAttribute("aria-pressed", String(button.dataset.order === name));
    }
  }

  // Where each row or column is now, in cells from the first: rows move first, then columns.
  positions(name, now) {
    const target = inverse(this.places[name]);
    if (!this.moving) return target;
    const from = inverse(this.moving.from[name]);
    const begin = this.moving.begin + (name === "columns" ? MOVE_MS : 0);
    const share = clamp((now - begin) / MOVE_MS, 0, 1);
    const eased = share * share * (3 - 2 * share);
    return target.map((place, i) => from[i] + (place - from[i]) * eased);
  }

  // H stays as it is while the rank changes.
  redraw(isRankOnly = false) {
    if (!this.H || !this.width) return;
    this.isWhole ||= !isRankOnly;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame((now) => {
      if (this.moving && now - this.moving.begin > 2 * MOVE_MS) this.moving = null;
      const [rows, columns] = ["rows", "columns"].map((name) => this.positions(name, now));
      const first = this.isWhole || this.moving ? 0 : 1;
      this.isWhole = false;
      for (let which = first; which < 3; which += 1) this.draw(this.canvases[which], which, rows, columns);
      if (this.moving) this.redraw();
    });
  }

  // Square cells, with room for labels if these are legible.
  plot() {
    const { width } = this;
    const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 1) * 7 + 10;
    const [row, column] = [longest(this.data.prefixes), longest(this.data.suffixes)].map((room) => Math.min(room, 76));
    const close = Math.min((width - row) / this.numColumns, (TALLEST - column) / this.numRows, 44);
    const isLabelled = close >= LABELS_FROM;
    const [left, top] = isLabelled ? [row, column] : [18, 18];
    const size = isLabelled ? close : Math.min((width - left - 2) / this.numColumns, (TALLEST - top) / this.numRows);
    return { left, top, size, isLabelled };
  }

  draw(canvas, which, rows, columns) {
    const plot = this.plot();
    const { left, top, size, isLabelled } = plot;
    const height = Math.ceil(top + size * this.numRows + 4);
    const pixels = [this.width, height].map((length) => Math.round(length * devicePixelRatio));
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
      [canvas.width, canvas.height] = pixels;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, this.width, height);
    pen.imageSmoothingEnabled = false;
    this.drawCells(pen, which, plot, rows, columns);
    Object.assign(pen, { strokeStyle: this.ink, globalAlpha: 0.3, lineWidth: 1 });
    pen.strokeRect(left - 0.5, top - 0.5, size * this.numColumns + 1, size * this.numRows + 1);
    pen.globalAlpha = 1;
    if (size >= 22 && !this.moving) this.drawNumbers(pen, which, plot, rows, columns);
    if (this.isByState && !this.moving) this.drawBlocks(pen, plot);
    this.drawLabels(pen, plot, rows, columns, isLabelled);
    if (this.lit) this.drawLit(pen, plot, rows, columns);
  }

  // Row by row and column by column, through a picture whose columns have their places already.
  drawCells(pen, which, { left, top, size }, rows, columns) {
    const image = this.images[which];
    const [width, height] = [this.numColumns, this.numRows];
    if (!this.moving && !this.isByState) {
      pen.drawImage(image, left, top, width * size, height * size);
      return;
    }
    this.strips ??= new OffscreenCanvas(1, 1);
    if (this.strips.width !== width * 4 || this.strips.height !== height) Object.assign(this.strips, { width: width * 4, height });
    const between = this.strips.getContext("2d");
    between.imageSmoothingEnabled = false;
    between.clearRect(0, 0, width * 4, height);
    columns.forEach((place, i) => between.drawImage(image, i, 0, 1, height, place * 4, 0, 4, height));
    rows.forEach((place, i) => pen.drawImage(this.strips, 0, i, width * 4, 1, left, top + place * size, width * size, size));
  }

  drawNumbers(pen, which, { left, top, size }, rows, columns) {
    Object.assign(pen, { font: `11px ${this.code}`, textAlign: "center", textBaseline: "middle" });
    this.layers[which].forEach((value, i) => {
      const level = this.levelOf(value);
      if (level === 0) return;
      const text = written(value, 2).replace(/^(−?)0\./, "$1.");
      if (pen.measureText(text).width > size - 2) return;
      const isPale = which === 2 && this.shareOfLargest(value) < 0.5;
      pen.fillStyle = isPale ? this.ink : isBright(this.inks[which === 2 ? (value < 0 ? 255 : 127) : level]) ? "#111" : "#fff";
      const [row, column] = [Math.floor(i / this.numColumns), i % this.numColumns];
      pen.fillText(text, left + (columns[column] + 0.5) * size, top + (rows[row] + 0.5) * size + 0.5);
    });
  }

  drawBlocks(pen, { left, top, size }) {
    let [row, column] = [0, 0];
    Object.assign(pen, { strokeStyle: this.ink, lineWidth: 1 });
    for (const block of this.data.order.blocks) {
      pen.globalAlpha = 0.55;
      pen.strokeRect(left + column * size, top + row * size, block.columns * size, block.rows * size);
      row += block.rows;
      column += block.columns;
    }
    pen.globalAlpha = 1;
  }

  drawLabels(pen, { left, top, size }, rows, columns, isLabelled) {
    const say = (text, px, py, turn, room, align) => {
      pen.save();
      pen.translate(px, py);
      pen.rotate(turn);
      pen.textAlign = align;
      const letters = Math.max(2, Math.floor(room / 6.7));
      pen.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, 0, 0);
      pen.restore();
    };
    Object.assign(pen, { fillStyle: this.ink, textBaseline: "middle", globalAlpha: 0.8 });
    if (isLabelled) {
      pen.font = `11px ${this.code}`;
      rows.forEach((place, i) => say(this.data.prefixes[i], left - 5, top + (place + 0.5) * size, 0, left - 5, "right"));
      columns.forEach((place, i) => say(this.data.suffixes[i], left + (place + 0.5) * size, top - 5, -Math.PI / 2, top - 5, "left"));
    } else {
      pen.font = `12px ${this.sans}`;
      const by = this.isByState ? "by state" : "by frequency";
      say(`suffix v, ${by} →`, left, top - 9, 0, 400, "left");
      say(`← prefix u, ${by}`, left - 9, top, -Math.PI / 2, 400, "right");
    }
    pen.globalAlpha = 1;
  }

  // Frames the highlighted cell, and all cells of the same string uv, at least 5 pixels wide.
  drawLit(pen, { left, top, size }, rows, columns) {
    const word = this.words[this.lit.row * this.numColumns + this.lit.column];
    const least = Math.max(size, 5);
    const frame = (row, column) => {
      const [x, y] = [left + (columns[column] + 0.5) * size, top + (rows[row] + 0.5) * size];
      pen.strokeRect(x - least / 2 - 1, y - least / 2 - 1, least + 2, least + 2);
    };
    Object.assign(pen, { strokeStyle: this.data.colours.mark, lineWidth: 2 });
    this.words.forEach((other, i) => other === word && frame(Math.floor(i / this.numColumns), i % this.numColumns));
    Object.assign(pen, { strokeStyle: this.ink, lineWidth: 2 });
    frame(this.lit.row, this.lit.column);
    pen.lineWidth = 1;
  }

  cellAt({ offsetX, offsetY }) {
    const { left, top, size } = this.plot();
    const [row, column] = [Math.floor((offsetY - top) / size), Math.floor((offsetX - left) / size)];
    if (row < 0 || column < 0 || row >= this.numRows || column >= this.numColumns) return null;
    return { row: this.places.rows[row], column: this.places.columns[column] };
  }

  keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (event.key === "Escape") this.light(null);
    else if (step) {
      const at = this.lit && [inverse(this.places.rows)[this.lit.row], inverse(this.places.columns)[this.lit.column]];
      const [row, column] = at ? [at[0] + step[0], at[1] + step[1]] : [0, 0];
      this.light({
        row: this.places.rows[clamp(row, 0, this.numRows - 1)],
        column: this.places.columns[clamp(column, 0, this.numColumns - 1)],
      });
    } else return;
    event.preventDefault();
  }

  light(cell) {
    if (cell?.row === this.lit?.row && cell?.column === this.lit?.column) return;
    this.lit = cell;
    this.describe();
    this.redraw();
  }

  describe() {
    if (!this.lit) {
      this.said.replaceChildren();
      return;
    }
    const { row, column } = this.lit;
    const i = row * this.numColumns + column;
    const [u, v] = [this.data.prefixes[row], this.data.suffixes[column]];
    const joined = [u, v].filter((text) => text !== "λ").join(this.data.separator) || "λ";
    const count = this.words.reduce((sum, word) => sum + (word === this.words[i]), 0);
    const [exact, rank, left] = this.layers.map((layer) => layer[i]);
    const [value, near] = writtenApart(exact, rank);
    const rest = written(left);
    const isOne = this.words.every((word, other) => word !== this.words[i] || this.H[other] === this.H[i]);
    const cells = count === 1 ? "in this cell only" : `in ${count} cells${isOne ? ", all with the same value of H" : ""}`;
    const parts = ["u = ", html("b", u), ", v = ", html("b", v), `: H ${value}, Ĥ ${near}, H − Ĥ ${rest}. The string `];
    this.said.replaceChildren(...parts, html("b", joined), ` is ${cells}.`);
  }

  drawLegend() {
    const { scale, largest, floor } = this.data;
    const colour = (level) => `rgb(${this.inks[level].slice(0, 3)})`;
    const ramps = (stopsOf) => {
      const box = html("div", "", "ramps");
      for (const sign of [0, 128]) {
        box.append(html("div", "", "ramp"));
        box.lastChild.style.background = `linear-gradient(to right, ${stopsOf(sign)})`;
      }
      return box;
    };
    const key = (title, low, high, stopsOf) => {
      const box = html("div", "", "key");
      box.append(html("span", title), html("span", low), ramps(stopsOf), html("span", high));
      return box;
    };
    const [low, high] = scale.map(powerOfTen);
    const blank = `red: negative; blank: 0 or below ${powerOfTen(Math.round(Math.log10(floor)))}`;
    const logarithmic = key("H, Ĥ, logarithmic scale:", low, high, (sign) => [1, 32, 64, 96, 127].map((level) => colour(level + sign)));
    const root = key("H − Ĥ, square-root scale:", "0", written(largest, 2), (sign) => ["transparent", colour(127 + sign)]);
    this.root.querySelector(".legend").replaceChildren(logarithmic, root, html("span", blank));
  }
}

// Where each index stands in an order.
function inverse(order) {
  const places = Array(order.length);
  order.forEach((index, place) => { places[index] = place; });
  return places;
}
