// The story of spectral learning on a sample: five scenes of six seconds. What is drawn and said comes from nlwfa_core/display/story.py.
// A user's symbols are set as text only. Whoever prefers less motion sees each scene at once and turns the pages by hand.

const SCENE_MS = 6000;
const TICK_MS = 100;
const KEYS = { ArrowRight: "next", ArrowLeft: "back", " ": "play" };
const stories = new WeakMap(); // the section -> its Story

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".story");
  if (!stories.has(box)) stories.set(box, new Story(box));
  stories.get(box).update(data);
  return () => {
    stories.get(box)?.pause();
    stories.delete(box);
  };
}

function late(element, seconds) {
  element.dataset.late = "";
  element.style.setProperty("--late", seconds.toFixed(2));
  return element;
}


function cell(value, largest, colour) {
  const strength = largest ? Math.abs(value) / largest : 0;
  const box = html("td", written(value, 2));
  const tint = value < 0 ? "var(--pink)" : colour;
  box.style.background = `color-mix(in srgb, ${tint} ${Math.round(8 + 52 * Math.sqrt(strength))}%, transparent)`;
  return box;
}

function table(title, rows, columns, cells, colour, { marks = [], wait = 0, pace = 0.25 } = {}) {
  const part = html("div", "", "part");
  const largest = Math.max(...cells.flat().map(Math.abs));
  const [grid, head, body] = [html("table"), html("thead"), html("tbody")];
  if (columns.length) {
    const line = html("tr");
    line.append(html("th"), ...columns.map((name) => html("th", name)));
    head.append(line);
  }
  cells.forEach((numbers, u) => {
    const line = html("tr");
    const boxes = numbers.map((value, v) => late(cell(value, largest, colour), wait + pace * (u + v)));
    line.append(html("th", rows[u] ?? ""), ...boxes);
    for (const [row, column] of marks) if (row === u) boxes[column].classList.add("mark");
    body.append(line);
  });
  grid.append(head, body);
  part.append(html("h4", title), grid);
  return part;
}

function bars(pairs, className) {
  const grid = html("div", "", `bars ${className}`);
  const largest = Math.max(...pairs.map(([, value]) => value), 1e-9);
  pairs.forEach(([name, value], i) => {
    const well = html("span");
    const bar = html("i");
    bar.style.width = `${(100 * value) / largest}%`;
    well.append(bar);
    const parts = [html("b", name), well, html("span", `${(100 * value).toFixed(1)} %`)];
    grid.append(...parts.map((part) => late(part, 0.6 * i)));
  });
  return grid;
}

// Scene -> what is on the stage.
const SCENES = [
  ({ strings }) => [bars(strings, "")],
  ({ rows, columns, cells, marks }) => [table("H", rows, columns, cells, "var(--blue)", { marks })],
  ({ rows, columns, left, right }) => [
    table("UD, a row for each beginning", rows, [], left, "var(--gold)"),
    late(html("span", "×", "sign"), 2),
    table("Vᵀ", [], columns, right, "var(--gold)", { wait: 2.2 }),
  ],
  ({ prefixes, states }) => [table("The state after each beginning", prefixes, [], states, "var(--green)", { pace: 0.6 })],
  ({ next }) => [bars(next, "pink")],
];

class Story {
  constructor(box) {
    this.box = box;
    const find = (selector) => box.querySelector(selector);
    [this.tabs, this.bar, this.said, this.stage] = [".tabs", ".time i", ".said", ".stage"].map(find);
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    box.classList.toggle("still", this.isStill);
    box.addEventListener("click", ({ target }) => {
      if (target.dataset.at) this.show(Number(target.dataset.at));
      this.act(target.dataset.do);
    });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
      if (event.key === " " && event.target.closest("button")) return;
      this.act(KEYS[event.key]);
      event.preventDefault();
    });
  }

  update(data) {
    if (this.id === data.id) return;
    this.id = data.id;
    this.data = data;
    const tabs = data.scenes.map(([name], i) => Object.assign(html("button", `${i + 1} ${name}`), { type: "button" }));
    tabs.forEach((tab, i) => (tab.dataset.at = i));
    this.tabs.replaceChildren(...tabs);
    this.show(0);
    if (!this.isStill) this.play();
  }

  show(at) {
    this.at = at;
    this.spent = 0;
    const [name, text] = this.data.scenes[at];
    [...this.tabs.children].forEach((tab, i) => tab.setAttribute("aria-current", String(i === at)));
    this.said.textContent = text;
    this.stage.setAttribute("aria-label", `${name}. ${text}`);
    this.stage.replaceChildren(...SCENES[at](this.data));
    this.tell();
  }

  act(what) {
    if (what === "next" && this.at < SCENES.length - 1) this.show(this.at + 1);
    if (what === "back" && this.at > 0) this.show(this.at - 1);
    if (what === "play" && this.timer) this.pause();
    else if (what === "play") {
      if (this.at === SCENES.length - 1 && this.spent >= SCENE_MS) this.show(0);
      this.play();
    }
  }

  play() {
    this.pause();
    this.timer = setInterval(() => {
      this.spent += TICK_MS;
      if (this.spent >= SCENE_MS && this.at < SCENES.length - 1) this.show(this.at + 1);
      else if (this.spent >= SCENE_MS) this.pause();
      else this.tell();
    }, TICK_MS);
    this.tell();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.tell();
  }

  // What depends on time alone.
  tell() {
    const isPlaying = Boolean(this.timer);
    const find = (name) => this.box.querySelector(`[data-do=${name}]`);
    find("play").textContent = isPlaying ? "Pause" : "Play";
    find("back").disabled = this.at === 0;
    find("next").disabled = this.at === SCENES.length - 1;
    this.box.classList.toggle("paused", !isPlaying && this.spent > 0 && this.spent < SCENE_MS);
    this.bar.style.width = `${(100 * (this.at + Math.min(1, this.spent / SCENE_MS))) / SCENES.length}%`;
  }
}
