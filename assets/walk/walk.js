// A string walks through an automaton: a token moves from state to state, beside the state's numbers and the weights of strings
// that go deeper. On the Build page the automaton is edited here, too. Python hears the string and the edits; drawings, states and
// weights come from nlwfa_core/display/walk.py, the walk of a string through a part of its own (assets/lens/part.js).
// A user's symbols are set as text only: no markup is ever made of them.

const PAUSE_MS = 150; // after the last key, before Python hears the string
const STEP_MS = 900; // of the play button
const KEYS = { ArrowRight: "step", ArrowLeft: "back", Home: "first", End: "last", " ": "play" };
const [SMALLEST_SCALE, LARGEST_SCALE] = [0.8, 1.15]; // of a drawing
const LONGEST_ROD = 47; // of a bar, as a percentage of its height: nearly the half on one side of zero
const LADDER = { width: 320, height: 208, left: 46, right: 12, top: 14, bottom: 34, zero: 26 };

const walks = new Map(); // name -> Walk

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  let walk = walks.get(data.name);
  if (walk?.root !== parentElement) {
    walk?.close();
    walk = new Walk(parentElement);
    walks.set(data.name, walk);
  }
  walk.send = setStateValue;
  walk.tap = (column) => setTriggerValue("tapped", column);
  walk.editor.send = (edit) => setTriggerValue("edit", edit);
  walk.update(data);
  return () => {
    walk.close();
    if (walks.get(data.name) === walk) walks.delete(data.name);
  };
}


class Walk {
  constructor(root) {
    this.root = root;
    const find = (selector) => root.querySelector(selector);
    [this.box, this.input, this.slider, this.svg] = [".walk", "#string", "#rank", ".drawing"].map(find);
    [this.tape, this.said, this.bars, this.ladder] = [".tape", ".said", ".bars", ".ladder"].map(find);
    this.closing = new AbortController();
    const on = (target, kind, act) => target.addEventListener(kind, act, { signal: this.closing.signal });
    on(this.input, "input", (event) => event.isComposing || this.hear());
    on(this.input, "compositionend", () => this.hear());
    on(this.slider, "input", () => this.choose(Number(this.slider.value) - 1));
    on(find(".keys"), "click", (event) => this.press(event.target.dataset.symbol));
    on(find(".tools"), "click", (event) => this.act(event.target.dataset.do));
    on(this.tape, "click", (event) => event.target.dataset.at && this.act("go", Number(event.target.dataset.at)));
    on(this.box, "keydown", (event) => this.keys(event));
    on(window, "nlwfa.lens", ({ detail }) => this.take(detail));
    this.editor = new Editor(this, on);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(find(".paper"));
    this.at = 0;
  }

  close() {
    this.closing.abort();
    this.sizes.disconnect();
    clearTimeout(this.timer);
    clearInterval(this.playing);
  }

  update(data) {
    const isSame = this.data?.id === data.id;
    this.box.classList.toggle("asked", Boolean(data.isAsked));
    const before = this.views?.[this.view];
    this.data = data;
    const { accent, light, mark } = data.colours;
    const isDark = !isBright(channels(getComputedStyle(this.box).getPropertyValue("--st-background-color").trim()));
    const colours = { accent: isDark ? light : accent, light: isDark ? accent : light, mark, onaccent: isDark ? "#0b1118" : "#ffffff" };
    colours.warn = isDark ? "#ff9d66" : "#b34700";
    Object.entries(colours).forEach(([name, colour]) => this.box.style.setProperty(`--${name}`, colour));
    const error = this.root.querySelector(".error");
    error.textContent = data.error;
    error.hidden = !data.error;
    this.editor.update(data.edit, isSame);
    if (isSame) return;
    if (this.scope !== data.scope) this.input.value = data.text;
    this.scope = data.scope;
    this.views = data.views;
    const keys = [...data.keys, ...(data.keys.length ? ["⌫"] : [])].map((symbol) => {
      const key = html("button", symbol);
      key.type = "button";
      key.dataset.symbol = symbol;
      if (symbol === "⌫") key.setAttribute("aria-label", "Delete the last symbol");
      return key;
    });
    this.root.querySelector(".keys").replaceChildren(...keys);
    this.slider.max = this.views.length;
    this.root.querySelector(".rank").hidden = this.views.length < 2;
    const same = this.views.findIndex((view) => before?.title === view.title);
    this.walk = null;
    this.choose(same >= 0 && data.first === this.first ? same : data.first);
    this.first = data.first;
    this.take(globalThis.nlwfaLensParts?.get(data.name) ?? {});
  }

  // The walk of a string, if it is one through these drawings. A string that grows goes on from where it was.
  take({ lens, id, walk }) {
    if (lens !== this.data?.name || id !== this.data.id || !walk) return;
    const before = this.walk;
    if (before && String(before.codes) === String(walk.codes)) return;
    this.walk = walk;
    const isLonger = before && walk.codes.length > before.codes.length && before.codes.every((code, i) => walk.codes[i] === code);
    this.at = before ? Math.min(this.at, walk.codes.length) : 0;
    if (before && !isLonger && this.at > 0 && before.codes.slice(0, this.at).some((code, i) => walk.codes[i] !== code)) this.at = 0;
    this.drawTape();
    this.show();
    if (isLonger && before.codes.length === this.at) this.play(true);
  }

  hear() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send("typed", { text: this.input.value, scope: this.data.scope }), PAUSE_MS);
  }

  press(symbol) {
    if (symbol === undefined) return;
    this.input.value = symbol === "⌫" ? [...this.input.value].slice(0, -1).join("") : this.input.value + symbol;
    this.hear();
  }

  keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.slider || event.target.closest(".edit")) return;
    if (event.target === this.input) {
      if (event.key === "Enter") this.act("play");
      return;
    }
    if (event.key === " " && event.target.closest("button")) return;
    if (!KEYS[event.key]) return;
    this.act(KEYS[event.key]);
    event.preventDefault();
  }

  act(what, at) {
    if (!this.walk || !what) return;
    const wasPlaying = Boolean(this.playing);
    this.pause();
    const end = this.walk.codes.length;
    if (what === "first") this.at = 0;
    if (what === "last") this.at = end;
    if (what === "go") this.at = at;
    if (what === "step") this.at = Math.min(this.at + 1, end);
    if (what === "back") this.at = Math.max(this.at - 1, 0);
    if (what === "play" && !wasPlaying) {
      this.play(false);
      return;
    }
    this.show();
  }

  play(isGoingOn) {
    this.pause();
    if (!isGoingOn && this.at === this.walk.codes.length) this.at = 0;
    const next = () => {
      if (this.at < this.walk.codes.length) this.at += 1;
      if (this.at === this.walk.codes.length) this.pause();
      this.show();
    };
    this.playing = setInterval(next, STEP_MS);
    if (isGoingOn) next();
    else this.show();
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
  }

  choose(view) {
    const grown = this.view !== undefined && this.views[this.view] ? this.views[this.view].nodes.length : Infinity;
    this.view = Math.max(0, Math.min(view, this.views.length - 1));
    this.slider.value = this.view + 1;
    this.root.querySelector(".rank b").textContent = this.views[this.view].k;
    this.slider.setAttribute("aria-valuetext", `k = ${this.views[this.view].k}`);
    this.drawGraph(this.views.length > 1 ? grown : Infinity);
    this.drawBars();
    this.show();
  }

  shape(name, attributes, className = "", text = "") {
    const element = document.createElementNS(this.svg.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (className) element.setAttribute("class", className);
    if (text) element.textContent = text;
    return element;
  }

  group(className, ...children) {
    const group = this.shape("g", {}, className);
    group.append(...children);
    return group;
  }

  drawGraph(grown) {
    const { title, size: [width, height], nodes, arrows, columns, dots = [], radius, byBrackets } = this.views[this.view];
    this.root.querySelector(".graph h4").textContent = title;
    const last = columns.length - 1;
    // The last column holds no state: a question mark where brackets could be one level deeper.
    const isEdited = this.editor.isOn();
    const heads = (isEdited && !byBrackets ? [] : columns).map(({ x, name }, i) => {
      const isMissing = byBrackets && i === last;
      return this.shape("text", { x, y: 22 }, isMissing ? "head missing" : "head", isMissing ? `${name}?` : name);
    });
    const dividers = (isEdited && !byBrackets ? [] : columns.slice(1)).map(({ x }) => {
      const middle = x - (columns[1].x - columns[0].x) / 2;
      return this.shape("line", { x1: middle, x2: middle, y1: 32, y2: height - 8 }, "divider");
    });
    this.arrows = arrows.map(({ curve: [a, b, c, d], head, at, hasRoom, lines }) => {
      const path = `M${a} C${b} ${c} ${d}`;
      const label = lines.map(([symbol, number], i) => {
        const text = this.shape("text", { x: at[0], y: at[1] + 16 * (i - (lines.length - 1) / 2) + 4.5 });
        const weight = this.shape("tspan", {}, number.startsWith("−") ? "below" : "", number ? ` ${number}` : "");
        text.append(this.shape("tspan", {}, "code", symbol), weight);
        return text;
      });
      const parts = [this.shape("path", { d: path }), this.shape("polygon", { points: head.join(" ") }), this.shape("path", { d: path }, "reach")];
      return this.group(hasRoom ? "arrow" : "arrow crowded", ...parts, ...label);
    });
    this.nodes = nodes.map(({ x, y, label, caption, title: tip }, i) => {
      const parts = [this.shape("circle", { cx: x, cy: y, r: radius }), this.shape("circle", { cx: x, cy: y, r: radius }, "fill")];
      parts.push(this.shape("text", { x, y: y + 5 }, "name", label));
      parts.push(...caption.map((line, j) => this.shape("text", { x, y: y + radius + 15 + 15 * j }, "caption", line)));
      const node = this.group(i >= grown ? "node new" : "node", this.shape("title", {}, "", tip), ...parts);
      const column = columns.find((one) => Math.abs(one.x - x) < 1) ?? columns[0];
      node.addEventListener("click", () => this.data.isAsked && this.tap(column.name));
      return node;
    });
    this.dots = dots.map(({ x, y }) => this.shape("circle", { cx: x, cy: y, r: 3 }, "dot"));
    this.missing = this.group("missing");
    this.token = this.group("token", this.shape("circle", { r: 12 }), this.shape("text", { y: 5 }, "code"));
    this.token.classList.add("placed"); // where it begins; from there it moves
    requestAnimationFrame(() => requestAnimationFrame(() => this.token.classList.remove("placed")));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", `${title}: ${nodes.length} nodes, ${arrows.length} arrows`);
    this.editor.prepare(this.nodes, this.arrows, arrows);
    this.svg.replaceChildren(...dividers, ...heads, ...this.dots, ...this.arrows, ...this.nodes, this.missing, this.token);
    this.fit();
    this.drawLadder();
  }

  // As large as there is room, but its letters stay readable: a drawing that is too wide for its column gets the row to itself,
  // and scrolls where that is not enough, either.
  fit() {
    const paper = this.svg.parentElement;
    const stage = paper.closest(".stage");
    const { size } = this.views?.[this.view] ?? {};
    if (!size || !paper.clientWidth) return;
    const slide = Number(getComputedStyle(paper).getPropertyValue("--slide-scale")) || 1; // of letters, on a slide
    stage.classList.remove("wide");
    stage.classList.toggle("wide", size[0] * SMALLEST_SCALE * slide > paper.clientWidth);
    const scale = Math.max(SMALLEST_SCALE, Math.min(LARGEST_SCALE * slide, paper.clientWidth / size[0]));
    this.svg.style.width = `${size[0] * scale}px`;
    this.svg.style.height = `${size[1] * scale}px`;
    this.scale = scale;
  }

  drawTape() {
    const tiles = this.walk.word.map((symbol, i) => {
      const tile = html("button", symbol);
      tile.type = "button";
      tile.dataset.at = i + 1;
      tile.setAttribute("aria-label", `Read up to symbol ${i + 1}, ${symbol}`);
      return tile;
    });
    this.tape.replaceChildren(...tiles);
  }

  // A bar has three elements: the well, with the zero line in its middle and the rod (`i`) that rises or falls from there;
  // the value; and the name of the state.
  drawBars() {
    const { k, nodes, dots } = this.views[this.view];
    const bars = Array.from({ length: k }, (_, i) => {
      const [bar, well] = [html("div"), html("div", "", "well")];
      well.append(html("i"));
      bar.append(well, html("div", "", "value"), html("div", dots ? String(i + 1) : nodes[i].label, "name"));
      return bar;
    });
    this.bars.replaceChildren(...bars);
  }

  // Everything that depends on how much of the string has been read.
  show() {
    if (!this.walk || !this.views) return;
    const { steps } = this.walk.views[this.view];
    const step = steps[this.at];
    const lostAt = steps.findIndex(({ at, state }) => !at && state.every((value) => value === 0));
    const isLost = lostAt >= 0 && this.at >= lostAt;
    this.showNodes(steps, step);
    this.showToken(steps, isLost, lostAt);
    this.showBars(step);
    this.showTape(isLost, lostAt);
    this.say(steps, isLost, lostAt);
    this.markRung();
    const playing = Boolean(this.playing);
    const find = (name) => this.root.querySelector(`[data-do=${name}]`);
    find("play").textContent = playing ? "Pause" : "Play";
    for (const name of ["first", "back"]) find(name).disabled = this.at === 0;
    find("step").disabled = this.at === this.walk.codes.length;
  }

  showNodes(steps, { nodes, shares }) {
    const { arrows } = this.views[this.view];
    this.nodes.forEach((node, i) => {
      const share = shares[nodes.indexOf(i)] ?? 0;
      node.classList.toggle("on", share > 0.45);
      node.querySelector(".fill").style.opacity = share ? 0.25 + 0.75 * share : 0;
    });
    const [before, symbol] = [steps[this.at - 1], this.walk.codes[this.at - 1]];
    this.arrows.forEach((arrow, i) => {
      const { ends, symbols } = arrows[i];
      const isUsed = before && before.nodes.includes(ends[0]) && nodes.includes(ends[1]) && symbols.includes(symbol);
      arrow.classList.toggle("used", Boolean(isUsed));
    });
  }

  showToken(steps, isLost, lostAt) {
    const { radius, columns, byBrackets } = this.views[this.view];
    this.missing.replaceChildren();
    this.token.classList.toggle("lost", isLost);
    let at = steps[this.at].at;
    if (isLost) {
      const from = steps[lostAt - 1];
      if (!from) {
        this.token.style.opacity = 0;
        return;
      }
      const symbol = this.walk.word[lostAt - 1];
      const isLast = byBrackets && from.at[0] > columns.at(-2).x - 1;
      const isFirst = byBrackets && from.at[0] < columns[0].x + 1;
      const [dx, dy] = isLast ? [1, 0] : isFirst ? [-0.5, -0.5] : [0.35, -0.75];
      const reach = isLast ? columns.at(-1).x - from.at[0] : 84;
      const [x, y] = [from.at[0] + dx * reach, from.at[1] + dy * reach];
      const line = { x1: from.at[0] + dx * (radius + 3), y1: from.at[1] + dy * (radius + 3), x2: x - dx * 24, y2: y - dy * 24 };
      const cross = [[-1, -1, 1, 1], [-1, 1, 1, -1]].map(([a, b, c, d]) => {
        return this.shape("line", { x1: x + 8 * a, y1: y + 8 * b, x2: x + 8 * c, y2: y + 8 * d }, "cross");
      });
      const text = this.shape("text", { x: (line.x1 + line.x2) / 2, y: Math.min(line.y1, line.y2) - 10 });
      text.append(this.shape("tspan", {}, "", "no "), this.shape("tspan", {}, "code", symbol));
      this.missing.append(this.shape("line", line, "try"), ...cross, text);
      at = [x, y + 34];
    }
    if (!at) return;
    this.token.style.opacity = "";
    // At the edge of its state; between several states it is beside them, where it covers none of their numbers.
    const aside = steps[this.at].nodes.length > 1 ? 2.6 : 0.85;
    const [x, y] = isLost ? at : [Math.max(at[0] - aside * radius, 14), at[1] - 0.85 * radius];
    this.token.style.transform = `translate(${x}px, ${y}px)`;
    this.token.lastChild.textContent = this.at && this.walk.word[this.at - 1].length < 3 ? this.walk.word[this.at - 1] : "";
    const paper = this.svg.parentElement;
    if (paper.scrollWidth > paper.clientWidth) paper.scrollTo({ left: x * this.scale - paper.clientWidth / 2 });
  }

  showBars({ state }) {
    const largest = state.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    [...this.bars.children].forEach((bar, i) => {
      const [value, rod] = [state[i], bar.querySelector("i")];
      rod.classList.toggle("below", value < 0);
      rod.style.height = `${largest ? (LONGEST_ROD * Math.abs(value ?? 0)) / largest : 0}%`;
      bar.querySelector(".value").textContent = state.length > 7 ? "" : written(value, 2);
      bar.title = `${bar.lastChild.textContent}: ${written(value, 6)}`;
    });
    this.root.querySelector(".numbers h4 span").textContent = `after ${this.short(this.walk.prefixes[this.at])}`;
  }

  showTape(isLost, lostAt) {
    [...this.tape.children].forEach((tile, i) => {
      tile.className = i >= this.at ? "" : isLost && i >= lostAt - 1 ? "dead" : i === this.at - 1 ? "last" : "read";
      if (i === this.at - 1) tile.setAttribute("aria-current", "step");
      else tile.removeAttribute("aria-current");
    });
  }

  short(text) {
    const letters = [...text];
    return letters.length > 24 ? `${letters.slice(0, 11).join("")}…${letters.slice(-11).join("")}` : text;
  }

  say(steps, isLost, lostAt) {
    const { word, prefixes, codes } = this.walk;
    const { nodes, dots, k } = this.views[this.view];
    const code = (text) => html("b", this.short(text));
    const parts = [];
    const zeros = Array(Math.min(k, 12)).fill("0").join(" ");
    const names = steps[this.at].nodes.map((node) => nodes[node].label);
    const where = `${dots ? "group" : names.length > 1 ? "states" : "state"} ${names.join(" and ")}`;
    if (isLost && lostAt === 0) parts.push(`α₀ is ${zeros}: this model gives every string the weight 0.`);
    else if (isLost) {
      parts.push(dots ? "The map of " : "No arrow reads ", code(word[lostAt - 1]), dots ? " gives 0 after " : " after ", code(prefixes[lostAt - 1]));
      parts.push(`: the state is ${zeros}, and every string that begins with `, code(prefixes[lostAt]), " gets the weight 0.");
    } else if (steps[this.at].at === null) parts.push("The state is not finite.");
    else if (this.at === 0) parts.push(`Nothing has been read yet. The state is α₀${dots ? "" : `: ${where}`}.`);
    else parts.push(code(word[this.at - 1]), ` is read. The token is at ${where}.`);
    if (this.at === codes.length) {
      const { weight } = this.walk.views[this.view];
      const [value, trueValue] = writtenApart(weight, this.walk.truth);
      const truth = this.walk.truth === null ? "." : `; ${this.data.truthPhrase ?? "in the true model"} ${trueValue}.`;
      parts.push(" The weight is f(", code(prefixes.at(-1)), `) = ${value}${truth}`);
    }
    this.said.classList.toggle("lost", isLost);
    const text = parts.map((part) => part.textContent ?? part).join("");
    if (this.said.textContent !== text) this.said.replaceChildren(...parts);
  }

  // Weights on a logarithmic axis; 0 has a line of its own below it.
  drawLadder() {
    const { title, labels, names, truth, truthName } = this.data.ladder;
    const { ladder } = this.views[this.view];
    const { width, height, left, right, top, bottom, zero } = LADDER;
    this.root.querySelector(".rungs").textContent = title;
    const sizes = [...truth, ...this.data.views.flatMap((view) => view.ladder)].filter(Boolean).map(Math.abs);
    const high = sizes.length ? Math.ceil(Math.log10(Math.max(...sizes, 1e-300)) - 1e-9) : 0;
    const low = Math.min(high - 1, Math.max(Math.floor(Math.log10(Math.min(...sizes, 1))), high - 8));
    const floor = height - bottom;
    const y = (value) => top + ((high - Math.max(Math.log10(Math.abs(value)), low)) / (high - low)) * (floor - zero - top);
    const x = (i) => left + ((i + 0.5) / labels.length) * (width - left - right);
    const parts = [];
    const every = Math.ceil((high - low) / 5);
    for (let power = high; power >= low; power -= every) {
      const place = y(10 ** power);
      parts.push(this.shape("line", { x1: left, x2: width - right, y1: place, y2: place }, "grid"));
      parts.push(this.shape("text", { x: left - 6, y: place + 4, "text-anchor": "end" }, "", powerOfTen(power)));
    }
    parts.push(this.shape("line", { x1: left, x2: width - right, y1: floor, y2: floor }, "floor"));
    parts.push(this.shape("text", { x: left - 6, y: floor + 4, "text-anchor": "end" }, "", "0"));
    const place = (value, i) => [x(i), value ? y(value) : floor];
    const isText = labels.some((label) => label.length > 3);
    labels.forEach((label, i) => {
      const short = label.length > 6 ? `${label.slice(0, 5)}…` : label;
      const slanted = { transform: `rotate(-28 ${x(i) + 8} ${floor + 15})`, "text-anchor": "end", x: x(i) + 8 };
      const turn = isText ? slanted : { x: x(i), "text-anchor": "middle" };
      parts.push(this.shape("text", { y: floor + 17, ...turn }, isText ? "code" : "", short));
    });
    const line = (values) => values.map((value, i) => value && place(value, i)).filter(Boolean).join(" ");
    parts.push(this.shape("polyline", { points: line(truth) }, "truth"));
    ladder.forEach((value, i) => {
      const [px, py] = place(value, i);
      const [weight, trueWeight] = writtenApart(value, truth[i]);
      const compared = truth.length ? `; ${truthName}: ${trueWeight}` : "";
      const tip = this.shape("title", {}, "", `f(${names[i]}) = ${weight}${compared}`);
      const cross = `M${px - 5},${py - 5}l10,10m0,-10l-10,10`;
      const mark = value > 0 ? this.shape("circle", { cx: px, cy: py, r: 5 }, "model") : this.shape("path", { d: cross }, "none");
      mark.append(tip);
      parts.push(mark);
    });
    this.ladder.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.ladder.setAttribute("aria-label", `${title}: ${names.map((name, i) => `${name} ${written(ladder[i])}`).join(", ")}`);
    this.rung = this.shape("circle", { r: 10, visibility: "hidden" }, "now");
    this.ladder.replaceChildren(...parts, this.rung);
    this.rungs = ladder.map(place);
    const legend = [html("span", truthName ? "model" : "f(x)", "of-model"), ...(truthName ? [html("span", truthName, "of-truth")] : [])];
    const isBelow = ladder.some((value) => value < 0);
    if (isBelow || ladder.includes(0)) legend.push(html("span", isBelow ? "0 or below" : "exactly 0", "of-zero"));
    this.root.querySelector(".legend").replaceChildren(...legend);
  }

  // The string that walks, if it is one of those in the chart.
  markRung() {
    const i = this.data.ladder.names.indexOf(this.walk.prefixes.at(-1));
    this.rung.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const [cx, cy] = this.rungs[i];
    this.rung.setAttribute("cx", cx);
    this.rung.setAttribute("cy", cy);
  }
}

// Changes the automaton by hand. Every change goes to Python, which answers with a new drawing, or with an error that is shown
// beside what was entered.
class Editor {
  constructor(walk, on) {
    const find = (selector) => walk.root.querySelector(selector);
    Object.assign(this, { walk, box: find(".edit"), panel: find(".panel"), chosen: null });
    on(this.box, "click", (event) => this.press(event.target));
    on(this.panel, "submit", (event) => event.preventDefault());
    on(this.panel, "keydown", (event) => {
      if (event.key !== "Enter" || event.target.localName !== "input") return;
      event.preventDefault();
      this.press(event.target.closest(".row").querySelector("[data-edit=state], [data-edit=arrow]"));
    });
    on(walk.svg, "pointerdown", (event) => this.grab(event));
    on(walk.svg, "pointermove", (event) => this.drag(event));
    on(walk.svg, "pointerup", (event) => this.drop(event));
    on(walk.svg, "pointercancel", () => this.release());
    on(walk.svg, "dblclick", (event) => this.isOn() && !event.target.closest(".node, .arrow") && this.change({ kind: "add-state" }));
    on(walk.svg, "keydown", (event) => this.key(event));
  }

  isOn() {
    return Boolean(this.data);
  }

  update(data, isSame) {
    this.data = data;
    this.box.hidden = !data;
    if (!data) return;
    const error = this.panel.querySelector(".error");
    if (error) [error.textContent, error.hidden] = [data.error, !data.error];
    if (!isSame && !data.error) this.show();
  }

  // Makes states and arrows buttons, for keys and screen readers.
  prepare(nodes, groups, arrows) {
    if (!this.isOn()) return;
    this.walk.svg.setAttribute("role", "group");
    const button = (element, label) => {
      Object.entries({ tabindex: 0, role: "button", "aria-label": label }).forEach((pair) => element.setAttribute(...pair));
    };
    this.names = this.data.states.map(({ name }) => name);
    nodes.forEach((node, i) => button(node, `State ${this.names[i]}: change`));
    groups.forEach((group, i) => {
      const { ends: [source, target], lines } = arrows[i];
      this.walk.arrows[i].dataset.ends = `${source} ${target}`;
      button(group, `Arrow from ${this.names[source]} to ${this.names[target]}, ${lines.map((line) => line.join(" ")).join(", ")}: change`);
    });
    nodes.forEach((node, i) => { node.dataset.state = i; });
    this.line = this.walk.shape("line", { visibility: "hidden" }, "drawn");
    queueMicrotask(() => this.walk.svg.append(this.line)); // on top of the drawing
  }

  key(event) {
    if (!this.isOn() || !["Enter", " "].includes(event.key)) return;
    if (this.open(event.target.closest(".node, .arrow"))) {
      event.preventDefault();
      event.stopPropagation();
      this.panel.querySelector("input")?.focus();
    }
  }

  open(element) {
    if (!element) return false;
    if (element.dataset.state !== undefined) this.chosen = { state: this.names[element.dataset.state] };
    else {
      const [source, target] = element.dataset.ends.split(" ").map((i) => this.names[i]);
      this.chosen = { source, target };
    }
    this.show();
    return true;
  }

  // Dragging from a state to a state

  point(event) {
    const box = this.walk.svg.getBoundingClientRect();
    const { size: [width, height] } = this.walk.views[this.walk.view];
    return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
  }

  stateAt([x, y]) {
    const { nodes, radius } = this.walk.views[this.walk.view];
    return nodes.findIndex((node) => Math.hypot(node.x - x, node.y - y) <= radius + 6);
  }

  grab(event) {
    if (!this.isOn() || event.button) return;
    const [place, arrow] = [this.point(event), event.target.closest(".arrow")];
    const state = this.stateAt(place);
    if (state < 0) {
      this.open(arrow);
      return;
    }
    this.held = { state, hasLeft: false };
    this.walk.svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  drag(event) {
    if (!this.held) return;
    const [x2, y2] = this.point(event);
    const { x, y } = this.walk.views[this.walk.view].nodes[this.held.state];
    if (Math.hypot(x2 - x, y2 - y) > 30) this.held.hasLeft = true;
    const line = { x1: x, y1: y, x2, y2, visibility: this.held.hasLeft ? "visible" : "hidden" };
    Object.entries(line).forEach((pair) => this.line.setAttribute(...pair));
  }

  drop(event) {
    if (!this.held) return;
    const [{ state, hasLeft }, target] = [this.held, this.stateAt(this.point(event))];
    this.release();
    if (!hasLeft) {
      this.chosen = { state: this.names[state] };
      this.show();
    } else if (target >= 0) {
      this.chosen = { source: this.names[state], target: this.names[target] };
      this.show();
      this.panel.querySelector("[name=symbol]").focus();
    }
  }

  release() {
    this.held = null;
    this.line?.setAttribute("visibility", "hidden");
  }

  // The form below the drawing

  show() {
    const { chosen, data } = this;
    this.names = data.states.map(({ name }) => name);
    const state = data.states.find(({ name }) => name === chosen?.state);
    const isArrow = this.names.includes(chosen?.source) && this.names.includes(chosen?.target);
    const isOpen = Boolean(state) || isArrow;
    const active = this.panel.getRootNode().activeElement;
    const focus = this.panel.contains(active) ? active.name : "";
    this.panel.hidden = !isOpen;
    if (!isOpen) {
      this.panel.replaceChildren();
      return;
    }
    this.panel.replaceChildren(...(state ? this.ofState(state) : this.ofArrow(chosen)), html("p", "", "error"));
    const error = this.panel.lastChild;
    error.hidden = true;
    error.setAttribute("role", "alert");
    if (focus) this.panel.querySelector(`[name="${focus}"]`)?.focus();
  }

  field(label, name, value, options) {
    const box = html("label", label);
    const input = html(options ? "select" : "input");
    const choice = (option) => Object.assign(html("option", option), { value: option, selected: option === value });
    if (options) input.append(...options.map(choice));
    else Object.assign(input, { type: "text", value, autocomplete: "off", spellcheck: false });
    input.name = name;
    box.append(input);
    return box;
  }

  button(text, edit, name = edit) {
    const button = html("button", text);
    Object.assign(button, { type: "button", name });
    button.dataset.edit = edit;
    return button;
  }

  ofState({ name, initial, termination }) {
    const row = html("div", "", "row");
    row.append(html("b", `State ${name}`), this.field("α₀", "initial", initial), this.field("α∞", "termination", termination));
    row.append(this.button("Set", "state"), this.button("Remove the state", "remove-state"), this.button("Close", "close"));
    return [row];
  }

  ofArrow({ source, target }) {
    const { arrows, symbols } = this.data;
    const own = arrows.filter((arrow) => arrow[0] === source && arrow[2] === target);
    const rows = own.map(([, symbol, , weight]) => {
      const row = html("div", "", "row of-symbol");
      row.dataset.symbol = symbol;
      row.append(html("b", symbol, "code"), this.field("Weight", `weight of ${symbol}`, weight));
      row.append(this.button("Set", "arrow", `set ${symbol}`), this.button("Remove", "remove-arrow", `remove ${symbol}`));
      return row;
    });
    const fresh = symbols.find((symbol) => !own.some((arrow) => arrow[1] === symbol)) ?? "";
    const row = html("div", "", "row");
    const ends = [this.field("From", "source", source, this.names), this.field("To", "target", target, this.names)];
    row.append(...ends, this.field("Symbol", "symbol", fresh), this.field("Weight", "weight", "1"));
    row.append(this.button("Draw the arrow", "arrow"), this.button("Close", "close"));
    return [...rows, row];
  }

  press(button) {
    const kind = button.dataset?.edit;
    if (!kind) return;
    const value = (name) => this.panel.querySelector(`[name="${name}"]`)?.value ?? "";
    const { chosen } = this;
    const symbol = button.closest(".of-symbol")?.dataset.symbol;
    if (kind === "close") {
      this.chosen = null;
      this.show();
    } else if (kind === "open-arrow") {
      const first = this.data.states[0]?.name;
      if (first === undefined) return;
      this.chosen = { source: chosen?.state ?? first, target: chosen?.state ?? first };
      this.show();
      this.panel.querySelector("[name=source]").focus();
    } else if (kind === "state") this.change({ kind, name: chosen.state, initial: value("initial"), termination: value("termination") });
    else if (kind === "remove-state") this.change({ kind, name: chosen.state });
    else if (kind === "add-state") this.change({ kind });
    else if (symbol !== undefined) this.change({ kind, ...chosen, symbol, weight: value(`weight of ${symbol}`) });
    else {
      this.chosen = { source: value("source"), target: value("target") };
      this.change({ kind, ...this.chosen, symbol: value("symbol"), weight: value("weight") });
    }
  }

  // A number of its own, because two equal edits in a row are two.
  change(edit) {
    this.count = (this.count ?? 0) + 1;
    this.send({ ...edit, count: String(this.count) });
  }
}
