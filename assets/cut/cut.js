// Singular values, and the rank as a cut that is dragged, clicked or moved by keys. Bars, line and sentence follow in the browser
// at once, from what came with the values; Python hears the rank when it stands still. They follow the field in the sidebar as
// well, without waiting for Python's answer.

const SETTLED_MS = 120;
const PATIENCE_MS = 4000; // for Python to say the same; answers to what was before don't move the cut
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity };
const FIELD = ".st-key-rank"; // the field in the sidebar
const cuts = new WeakMap(); // the plot -> its Cut

export default function ({ data, parentElement, setTriggerValue }) {
  const plot = parentElement.querySelector(".plot");
  if (!cuts.has(plot)) cuts.set(plot, new Cut(parentElement.querySelector(".cut"), plot));
  cuts.get(plot).update(data, (rank) => setTriggerValue("rank", rank));
  return () => cuts.get(plot)?.close();
}

const piece = (tag, text, style) => Object.assign(document.createElement(tag), { textContent: text, style });

class Cut {
  constructor(box, plot) {
    Object.assign(this, { box, plot, asked: 0, sent: 0, closing: new AbortController() });
    plot.addEventListener("pointerdown", (event) => {
      plot.setPointerCapture(event.pointerId);
      this.to(this.under(event));
    });
    plot.addEventListener("pointermove", (event) => plot.hasPointerCapture(event.pointerId) && this.to(this.under(event)));
    plot.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      this.to(this.rank + step);
      event.preventDefault();
    });
    // What enters a number into the field: a key, a button beside it, or leaving it.
    const enters = {
      keydown: ({ key }) => ["ArrowUp", "ArrowDown", "Enter"].includes(key),
      click: ({ target }) => target.closest("button"),
      focusout: () => true,
    };
    Object.entries(enters).forEach(([kind, isEntry]) => {
      const act = (event) => {
        const field = event.target.closest?.(FIELD)?.querySelector("input");
        if (field && isEntry(event)) setTimeout(() => this.follow(field)); // the field's own listener changes its number first
      };
      addEventListener(kind, act, { signal: this.closing.signal });
    });
  }

  close() {
    this.closing.abort();
    cuts.delete(this.plot);
  }

  update(data, send) {
    this.send = send;
    if (this.data?.id !== data.id) this.draw(data);
    this.data = data;
    if (data.rank === this.asked) this.asked = 0;
    if (data.rank === this.rank || (this.asked && Date.now() < this.until)) return;
    this.show(data.rank);
  }

  draw({ heights, names, ticks, colours }) {
    const find = (selector) => this.box.querySelector(selector);
    Object.entries(colours).forEach(([name, colour]) => this.box.style.setProperty(`--${name}`, colour));
    this.bars = heights.map((height) => piece("div", "", `--height: ${100 * height}%`));
    this.bars.forEach((bar, i) => { bar.title = names[i]; });
    find(".bars").replaceChildren(...ticks.map(([, height]) => piece("i", "", `bottom: ${100 * height}%`)), ...this.bars);
    find(".axis").replaceChildren(...ticks.map(([text, height]) => piece("span", text, `bottom: ${100 * height}%`)));
    this.rank = this.asked = 0;
  }

  under({ clientX }) {
    const { left, width } = this.plot.getBoundingClientRect();
    return Math.floor(((clientX - left) / width) * this.bars.length) + 1;
  }

  // Where a person moves the cut.
  to(wanted) {
    const rank = Math.max(1, Math.min(wanted, this.bars.length));
    if (rank === this.rank) return;
    this.ask(rank);
    this.timer = setTimeout(() => {
      this.sent = Date.now();
      this.send(rank);
    }, SETTLED_MS);
  }

  // The field's number, which Python hears from the field itself. A rank that the cut sent shortly before may still wait for
  // Python, which then hears both at once and takes the cut's: so that has to be the field's, too.
  follow(field) {
    const rank = field.valueAsNumber;
    if (!field.value || !field.validity.valid || rank === this.rank) return;
    this.ask(rank);
    if (Date.now() - this.sent < PATIENCE_MS) this.send(rank);
  }

  ask(rank) {
    clearTimeout(this.timer);
    this.show(rank);
    [this.asked, this.until] = [rank, Date.now() + PATIENCE_MS];
  }

  show(rank) {
    const { names, kept, said } = this.data;
    const [most, last] = [names.length, Math.min(rank, names.length)];
    const text = said.replace("{rank}", rank).replace("{kept}", kept[Math.min(rank, kept.length) - 1]);
    const line = this.box.querySelector(".line");
    this.rank = rank;
    // Pictures of this rank (assets/panels) follow at once.
    globalThis.nlwfaRank = { id: this.data.id, rank };
    dispatchEvent(new CustomEvent("nlwfa.rank", { detail: globalThis.nlwfaRank }));
    this.bars.forEach((bar, i) => bar.classList.toggle("kept", i < rank));
    line.style.setProperty("--share", `${(100 * last) / most}%`);
    line.firstChild.textContent = `k = ${rank}${rank > most ? " →" : ""}`;
    this.box.querySelector(".said").textContent = text;
    const told = { valuemax: most, valuenow: last, valuetext: `${names[last - 1]}. ${text}` };
    Object.entries(told).forEach(([name, value]) => this.plot.setAttribute(`aria-${name}`, value));
  }
}
