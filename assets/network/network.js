// The auto-encoder (nlwfa_core/display/autoencoder.py): a row of H on its way through the layers, and what is left of H after it.
// A user's strings are drawn on canvases or set as text: no markup is ever made of them.

const HEIGHT = 340; // pixels of each drawing
const TITLES = 34; // pixels above the units
const MOST_LINES = 240; // between two layers: the strongest ones
const BENT = 0.5; // tanh of a number is that number, to 10 %, up to about here

const boxes = new WeakMap(); // the views -> their Network

export default function ({ data, parentElement }) {
  const views = parentElement.querySelector(".views");
  if (!boxes.has(views)) boxes.set(views, new Network(parentElement, views));
  boxes.get(views).update(data);
  return () => boxes.get(views)?.close();
}

const largestOf = (rows) => rows.reduce((most, row) => row.reduce((high, value) => Math.max(high, Math.abs(value)), most), 0) || 1;

class Network {
  constructor(root, views) {
    Object.assign(this, { root, views, row: 0 });
    [this.units, this.rest] = views.querySelectorAll("canvas");
    this.choice = root.querySelector("select");
    this.said = root.querySelector(".said");
    this.closing = new AbortController();
    const on = (target, kind, act) => target.addEventListener(kind, act, { signal: this.closing.signal });
    on(this.choice, "change", () => this.choose(Number(this.choice.value)));
    for (const kind of ["pointermove", "pointerdown"]) on(this.rest, kind, (event) => this.choose(this.rowAt(event)));
    this.sizes = new ResizeObserver(() => this.redraw());
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
    const names = ["text-color", "background-color", "code-font", "font"];
    const theme = names.map((name) => style.getPropertyValue(`--st-${name}`).trim());
    if (String(theme) !== String(this.theme)) {
      [this.ink, this.paper, this.code, this.sans] = this.theme = theme;
      this.dark = !isBright(channels(this.paper));
      this.ramps = ["positive", "negative"].map((sign) => (this.dark ? [...data.colours[sign]].reverse() : data.colours[sign]));
      this.drawLegend(data);
    }
    const isSame = String(this.data?.prefixes) === String(data.prefixes);
    this.data = data;
    if (!isSame) {
      this.row = 0;
      this.choice.replaceChildren(...data.prefixes.map((text, i) => Object.assign(html("option", text), { value: i })));
    }
    // A screen reader would otherwise read every picture of the training.
    this.said.setAttribute("aria-live", data.training ? "off" : "polite");
    this.largest = data.layers.map(largestOf);
    this.describe();
    this.redraw();
  }

  choose(row) {
    if (row === null || row === this.row) return;
    this.row = row;
    this.choice.value = String(row);
    this.describe();
    this.redraw();
  }

  // Of an entry of H, on a scale of logarithms; null if it is too small to be seen.
  inkOf(value) {
    const [low, high] = this.data.scale;
    const share = (Math.log10(Math.abs(value)) - low) / (high - low);
    if (!(share > 0)) return null;
    const ramp = this.ramps[value < 0 ? 1 : 0];
    return ramp[Math.round(clamp(share, 0, 1) * (ramp.length - 1))];
  }

  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.drawUnits(this.penOf(this.units));
      this.drawRest(this.penOf(this.rest));
    });
  }

  penOf(canvas) {
    const width = canvas.clientWidth;
    const pixels = [width, HEIGHT].map((length) => Math.round(length * devicePixelRatio));
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
      [canvas.width, canvas.height] = pixels;
      canvas.style.height = `${HEIGHT}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    return Object.assign(pen, { lineWidth: 1, globalAlpha: 1 });
  }

  // What each layer holds for the row: cells of H, units, and cells of Ĥ.
  columns() {
    const { inputs, layers, outputs } = this.data;
    return [inputs[this.row], ...layers.map((layer) => layer[this.row]), outputs[this.row]];
  }

  drawUnits(pen) {
    const { weights, layers, waist, nonlinear } = this.data;
    const width = this.units.clientWidth;
    const columns = this.columns();
    const [left, right] = [64, width - 76];
    const placeOf = (column, unit) => {
      const gap = (HEIGHT - TITLES - 6) / columns[column].length;
      return [left + ((right - left) * column) / (columns.length - 1), TITLES + gap * (unit + 0.5), gap];
    };
    weights.forEach((matrix, column) => this.drawLines(pen, matrix, columns[column], column, placeOf));
    columns.forEach((values, column) => {
      const isCell = column === 0 || column === columns.length - 1;
      values.forEach((value, unit) => {
        const [x, y, gap] = placeOf(column, unit);
        if (isCell) this.drawCell(pen, value, x, y, gap, column === 0 ? this.data.suffixes[unit] : "", column === 0);
        else this.drawUnit(pen, value, x, y, clamp(gap / 2 - 1, 1.5, column - 1 === waist ? 13 : 9), this.largest[column - 1]);
      });
      const unit = nonlinear ? "tanh" : "linear";
      const number = values.length;
      const [above, below] = isCell
        ? [`${width < 420 ? "" : "row u of "}${column === 0 ? "H" : "Ĥ"}`, `${number} cells`]
        : column - 1 === waist
          ? ["the state", `k = ${number}`]
          : [`${number} ${unit}`, number === 1 ? "unit" : "units"];
      Object.assign(pen, { fillStyle: this.ink, textAlign: "center", textBaseline: "middle", globalAlpha: 0.85 });
      const [x] = placeOf(column, 0);
      [above, below].forEach((text, line) => {
        pen.font = `${column - 1 === waist && line === 0 ? "600 " : ""}12px ${this.sans}`;
        pen.fillText(text, clamp(x, 34, width - 34), 8 + 14 * line);
      });
      pen.globalAlpha = 1;
    });
    const [state, of] = [layers[waist][this.row].map((value) => written(value, 2)).join(", "), this.data.prefixes[this.row]];
    this.units.setAttribute("aria-label", `The row of ${of} through the network; its state is ${state}.`);
  }

  drawLines(pen, matrix, values, column, placeOf) {
    const lines = matrix.flatMap((row, from) => row.map((weight, to) => [weight * values[from], from, to]));
    lines.sort((one, other) => Math.abs(other[0]) - Math.abs(one[0]));
    const largest = Math.abs(lines[0]?.[0] ?? 0);
    if (largest === 0) return;
    for (const [flow, from, to] of lines.slice(0, MOST_LINES).reverse()) {
      const share = Math.abs(flow) / largest;
      if (share < 0.02) continue;
      const [x, y] = placeOf(column, from);
      const [nextX, nextY] = placeOf(column + 1, to);
      Object.assign(pen, { strokeStyle: this.strong(flow), globalAlpha: 0.12 + 0.7 * share, lineWidth: 0.5 + 2 * share });
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo((x + nextX) / 2, y, (x + nextX) / 2, nextY, nextX, nextY);
      pen.stroke();
    }
    Object.assign(pen, { globalAlpha: 1, lineWidth: 1 });
  }

  strong(value) {
    const ramp = this.data.colours[value < 0 ? "negative" : "positive"];
    return ramp[this.dark ? 3 : 5];
  }

  drawUnit(pen, value, x, y, radius, largest) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fillStyle = this.paper;
    pen.fill();
    Object.assign(pen, { fillStyle: this.strong(value), globalAlpha: clamp(Math.abs(value) / largest, 0, 1) });
    pen.fill();
    const isBent = this.data.nonlinear && Math.abs(value) > BENT;
    Object.assign(pen, { strokeStyle: this.ink, globalAlpha: isBent ? 1 : 0.35, lineWidth: isBent ? 2 : 1 });
    pen.stroke();
    Object.assign(pen, { globalAlpha: 1, lineWidth: 1 });
  }

  drawCell(pen, value, x, y, gap, suffix, isInput) {
    const size = Math.min(gap - 2, 16);
    const ink = this.inkOf(value);
    if (ink) {
      pen.fillStyle = ink;
      pen.fillRect(x - size / 2, y - size / 2, size, size);
    }
    Object.assign(pen, { strokeStyle: this.ink, globalAlpha: 0.3 });
    pen.strokeRect(x - size / 2, y - size / 2, size, size);
    Object.assign(pen, { globalAlpha: 0.85, fillStyle: this.ink, textBaseline: "middle" });
    pen.font = `11px ${this.code}`;
    const away = size / 2 + 5;
    if (isInput) {
      pen.textAlign = "right";
      pen.fillText(suffix.length > 7 ? `${suffix.slice(0, 6)}…` : suffix, x - away, y);
    } else {
      pen.textAlign = "left";
      pen.fillText(written(value, 2), x + away, y);
    }
    pen.globalAlpha = 1;
  }

  plot() {
    const { prefixes, suffixes } = this.data;
    const longest = (texts) => Math.min(texts.reduce((most, text) => Math.max(most, text.length), 1) * 7 + 8, 62);
    const [left, top] = [longest(prefixes), longest(suffixes)];
    const width = Math.min((this.rest.clientWidth - left - 2) / suffixes.length, 26);
    return { left, top, width, height: (HEIGHT - top - 4) / prefixes.length };
  }

  drawRest(pen) {
    const { inputs, outputs, prefixes, suffixes, colours } = this.data;
    const { left, top, width, height } = this.plot();
    inputs.forEach((cells, row) =>
      cells.forEach((value, column) => {
        const ink = this.inkOf(value - outputs[row][column]);
        if (!ink) return;
        pen.fillStyle = ink;
        pen.fillRect(left + column * width, top + row * height, width + 0.25, height + 0.25);
      }),
    );
    Object.assign(pen, { strokeStyle: this.ink, globalAlpha: 0.3 });
    pen.strokeRect(left - 0.5, top - 0.5, width * suffixes.length + 1, height * prefixes.length + 1);
    Object.assign(pen, { fillStyle: this.ink, globalAlpha: 0.85, textBaseline: "middle", font: `11px ${this.code}` });
    const shortened = (text) => (text.length > 8 ? `${text.slice(0, 7)}…` : text);
    pen.textAlign = "right";
    prefixes.forEach((text, row) => pen.fillText(shortened(text), left - 4, top + (row + 0.5) * height));
    pen.textAlign = "left";
    suffixes.forEach((text, column) => {
      pen.save();
      pen.translate(left + (column + 0.5) * width, top - 4);
      pen.rotate(-Math.PI / 2);
      pen.fillText(shortened(text), 0, 0);
      pen.restore();
    });
    Object.assign(pen, { strokeStyle: colours.mark, globalAlpha: 1, lineWidth: 2 });
    pen.strokeRect(left - 1, top + this.row * height, width * suffixes.length + 2, height);
    const all = inputs.flatMap((cells, row) => cells.map((value, column) => Math.abs(value - outputs[row][column])));
    const [rows, columns] = this.data.whole;
    const isPart = rows > prefixes.length || columns > suffixes.length;
    const part = isPart ? `first ${prefixes.length} × ${suffixes.length} of ${rows} × ${columns}` : `${rows} × ${columns}`;
    this.root.querySelector("figcaption span").textContent = part;
    this.rest.setAttribute("aria-label", `H minus its approximation, ${part}: largest absolute entry ${written(Math.max(...all), 2)}.`);
  }

  rowAt({ offsetY }) {
    const { top, height } = this.plot();
    const row = Math.floor((offsetY - top) / height);
    return row >= 0 && row < this.data.prefixes.length ? row : null;
  }

  describe() {
    const { inputs, outputs, layers, waist, nonlinear, prefixes, suffixes } = this.data;
    const errors = inputs[this.row].map((value, column) => Math.abs(value - outputs[this.row][column]));
    const worst = errors.indexOf(Math.max(...errors));
    const state = layers[waist][this.row].map((value) => written(value, 2));
    const shown = state.length > 8 ? `${state.slice(0, 8).join(", ")}, …` : state.join(", ");
    const bent = layers.flatMap((layer) => layer[this.row]).filter((value) => Math.abs(value) > BENT).length;
    const all = layers.reduce((sum, layer) => sum + layer[this.row].length, 0);
    const [is, should] = writtenApart(outputs[this.row][worst], inputs[this.row][worst]);
    this.said.replaceChildren(
      "u = ", html("b", prefixes[this.row]), `: state (${shown})`,
      nonlinear ? `; ${bent} of ${all} tanh units have values beyond ±${BENT}, where tanh bends` : "",
      ...(is === should ? [". No error, up to rounding."] : [". Largest error at v = ", html("b", suffixes[worst]), `: ${is} instead of ${should}.`]),
    );
  }

  drawLegend({ scale }) {
    const ramps = html("div", "", "ramps");
    for (const ramp of this.ramps) {
      ramps.append(html("div", "", "ramp"));
      ramps.lastChild.style.background = `linear-gradient(to right, ${ramp})`;
    }
    const [low, high] = scale.map((power) => html("span", powerOfTen(power)));
    const legend = [html("span", "Size of an entry:"), low, ramps, high, html("span", "red: negative")];
    this.root.querySelector(".legend").replaceChildren(...legend);
  }
}
