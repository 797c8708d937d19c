// Explore: strings and H, a linear and a nonlinear lane, charts by depth and by rank, a string to
// follow. One state, one `draw`: whatever changes the state calls `change`, which asks for one
// drawing in the next frame. Put before this file are models.js, with the mathematics, verdict.js,
// with the headline, material.js, with what is computed once, lane.js and cut.js.
// A user's symbols are set as text only: no markup is ever made of them.

const SETTLED_MS = 250; // of the rank, before Python hears it
const PATIENCE_MS = 6000; // for Python to say the same
const STEP_MS = 700; // of the play button, and of the opening
const SORTING_MS = 1400; // while rows and columns of H travel
const PREVIEW_MS = 200; // from one preview of a training to the next
const SCORE_NAMES = ["distance", "errors", "bits"]; // in the address
const MOST_TESTED = 200; // test strings in the list of all of them
const MOST_LISTED = 22; // characters of a string in the list of strings, if symbols are words
const MOST_RUNG = 32; // characters of the string below the chart by depth
const SETTINGS = "[data-testid=stExpandSidebarButton] button, button[data-testid=stExpandSidebarButton]";
const MIDDLE = 1280; // pixels of its width below which the picture is tighter
const NOTED_MS = 1000; // of what is looked at, before Python hears it
const HEARD_MS = 1500; // within which Python may still say what was before
const MARGIN = 14; // of a matrix: the groups of its rows and columns
const isSame = (one, other) => one.length === other.length && one.every((symbol, i) => symbol === other[i]);
const CHOSEN = ["rank", "linearRank", "learner", "objective", "linear"]; // of the state, what Python hears
const chosenOf = (state) => Object.fromEntries(CHOSEN.map((name) => [name, state[name]]));
// What trainings of a learner with other seeds are called between Python and here.
const seedsOf = (learner) => `${learner}, other seeds`;
const explores = new WeakMap(); // the root -> its Explore

export default function ({ parentElement, setTriggerValue }) {
  if (!explores.has(parentElement)) explores.set(parentElement, new Explore(parentElement));
  const explore = explores.get(parentElement);
  explore.send = setTriggerValue;
  explore.take(globalThis.nlwfaLensParts?.get("explore"));
  return () => {
    explore.close();
    explores.delete(parentElement);
  };
}

class Explore {
  constructor(root) {
    this.box = root.querySelector(".explore");
    this.find = (selector) => root.querySelector(selector);
    namespace = this.find("svg").namespaceURI;
    this.state = {
      rank: 1, // of both lanes, or of the lower one
      linearRank: null, // of the upper one while they are unlinked
      learner: "both.non",
      objective: "hankel",
      linear: "SP",
      show: "estimate",
      showsTraining: false,
      plane: null, // where states stand, if it has been chosen
      order: "state",
      score: 0,
      word: [],
      at: 0,
      hot: null,
    };
    this.before = null;
    this.told = {}; // learner -> how far its training is, or why it failed
    this.moves = new Map(); // a kind of movement -> when it began, and how long it takes
    this.pens = new Map();
    this.closing = new AbortController();
    this.isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.lanes = [new Lane(this, false), new Lane(this, true)];
    this.cuts = [...this.box.querySelectorAll(".cut")].map((svg) => new Cut(this, svg));
    this.find(".lanes").append(...this.lanes.map((lane) => lane.root));
    this.tip = html("div", "", "tip");
    this.tip.setAttribute("aria-hidden", "true"); // the line below the picture says the same
    this.listen();
    const take = ({ detail }) => detail.lens === "explore" && this.take(globalThis.nlwfaLensParts.get("explore"));
    addEventListener("nlwfa.lens", take, { signal: this.closing.signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.change(), {
      signal: this.closing.signal,
    });
    this.nameSettings();
    // a lesson hides a part until its question is answered: see open_lesson
    for (const { style, dataset } of this.box.querySelectorAll("[data-part]")) {
      style.setProperty("--hidden", `var(--hide-${dataset.part}, visible)`);
      style.setProperty("--note", `var(--note-${dataset.part}, none)`);
      style.setProperty("--light", `var(--light-${dataset.part}, none)`);
    }
    this.numSizes = 0; // that the picture has had
    this.observer = new ResizeObserver(() => {
      this.numSizes++;
      this.resize();
      this.change();
    });
    this.observer.observe(this.box);
    this.observer.observe(this.find(".columns")); // in a lesson, the headline takes from its height
  }

  close() {
    this.closing.abort();
    this.observer.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.notes);
    clearInterval(this.playing);
    clearInterval(this.opening);
    cancelAnimationFrame(this.asked);
  }

  // Everything comes in parts of its own (assets/lens/part.js), and Streamlit does not send again
  // what stayed the same: "text", the picture; "first", the models without which it is not drawn;
  // "rest", those that come after it; "now", what the sidebar says; "training", which trainings go on;
  // and "preview", what one of them has come to.
  take(part) {
    if (!part?.now) return;
    const { id, trained, isFirst, objective, isTimed } = part.now;
    const [before, shown] = [this.material, this.shown];
    const [hasFirst, hasRest] = [part.first?.id === trained, part.rest?.id === trained];
    // the first picture does not wait for the rest; another takes its place when it is whole
    if (this.id !== id && part.text?.id === id && hasFirst && (hasRest || !this.material)) {
      this.id = id;
      this.material = new Material(JSON.parse(part.text.json));
      this.material.take(JSON.parse(part.first.json));
      // those of its networks: a choice comes before them
      Object.assign(this.material, { objective, isTimed });
      this.whole = null;
      if (part.further?.id === id) this.material.takeFurther(part.further.json);
      this.state.order = this.orderAsked(part.now) ?? this.state.order;
      this.build(before);
      this.settle(part.now, true);
      part.now.isFirst = false; // who comes back, or opens a lesson, finds the picture as it was
      if (isFirst && !this.isCalm) this.open(part.now.rank);
    } else if (this.id === id) {
      if (part.further?.id === id) this.material.takeFurther(part.further.json);
      this.settle(part.now);
    }
    if (this.id === id && hasFirst && hasRest && this.whole !== trained) {
      this.whole = trained;
      const [first, rest] = [part.first, part.rest].map(({ json }) => JSON.parse(json));
      const margins = Object.fromEntries(
        Object.entries(rest.margins).map(([kind, of]) => [kind, { ...first.margins[kind], ...of }]),
      );
      this.material.take({ models: { ...first.models, ...rest.models }, margins, seeds: rest.seeds });
      Object.assign(this.material, { objective, isTimed });
      this.warm();
    }
    this.isWhole = this.whole === trained;
    this.obey(part.now);
    if (part.training?.id === id) this.told = part.training.told;
    if (this.told[this.starting]) this.starting = null;
    if (this.id === id) {
      if (part.preview?.id === id) this.material.takePreview(part.preview.now);
      if (!this.told[this.material.preview?.learner]?.ranks) this.material.preview = null;
    }
    if (before === this.material && !isSame(shown, this.shown)) this.travel("dots", PREVIEW_MS);
    this.change();
  }

  // What is looked at, by the names that the address has for it; "" for what is so at first.
  get looks() {
    const { material, state } = this;
    return {
      word: isSame(state.word, material.word.slice(0, MOST_TAPE)) ? "" : material.text(state.word),
      order: state.order === "state" ? "" : state.order,
      matrix: state.show === "estimate" ? "" : state.show,
      plane: state.plane ?? "",
      score: state.score === (material.hasTruth ? 0 : 1) ? "" : SCORE_NAMES[state.score],
    };
  }

  // Python hears of it when it has stood still, so that the address, and a link, show the same.
  note() {
    const { looks } = this;
    if (!this.noted) this.noted = looks;
    if (isEqual(looks, this.noted) || this.playing) return;
    clearTimeout(this.notes);
    this.notes = setTimeout(() => {
      if (isEqual(this.looks, this.noted)) return;
      this.noted = this.looks;
      this.noting = { looks: this.noted, until: Date.now() + HEARD_MS };
      this.send("looks", { ...this.noted, scene: this.scene });
    }, NOTED_MS);
  }

  // What a lesson's step asks for, or a link: only some parts, an order of H's rows and columns, what is
  // looked at, and a string that is followed from its start.
  obey({ id, parts, scene, order, word, matrix, plane, score }) {
    this.parts = parts;
    this.box.classList.toggle("some", parts.length > 0);
    for (const node of this.box.querySelectorAll("[data-part]"))
      node.hidden = parts.length > 0 && !parts.includes(node.dataset.part);
    this.resize();
    if (this.isHeard({ word, order, matrix, plane, score }, scene)) return;
    const wanted = this.id === id && this.orderAsked({ id, order });
    if (wanted && wanted !== this.state.order) {
      this.change({ order: wanted });
      this.forget();
    }
    const asked = JSON.stringify([matrix, plane, score]);
    if (this.material && asked !== this.askedLooks) {
      const first = this.askedLooks === undefined;
      this.askedLooks = asked;
      const place = SCORE_NAMES.indexOf(score);
      const least = this.material.hasTruth ? 0 : 1;
      if (!first || matrix || plane || score)
        this.change({ show: matrix || "estimate", plane: plane || null, score: Math.max(least, place) });
      this.forget();
    }
    if (!this.material || word === this.askedWord) return;
    this.askedWord = word;
    if (!word) return;
    this.forget();
    const symbols = this.material.read(word);
    // where a lesson is about the string, its reader begins to read it
    const waits = parts.includes("follow");
    this.change({ word: symbols, at: this.isCalm && !waits ? Math.min(3, symbols.length) : 0 });
    if (!this.isCalm && !waits) this.play(true);
  }

  // What is looked at now is not a person's choice.
  forget() {
    this.noted = null;
    clearTimeout(this.notes);
  }

  // Whether Python says what a person has just chosen here, or still what was before it. Another step of
  // a lesson, and a press of its buttons, say something new.
  isHeard(looks, scene) {
    const isNew = scene !== this.scene;
    this.scene = scene;
    const { noting } = this;
    if (!noting || isNew || (Date.now() > noting.until && !isEqual(looks, noting.looks))) return false;
    if (isEqual(looks, noting.looks)) {
      this.askedWord = looks.word;
      this.askedOrder = looks.order && `${this.id} ${looks.order}`;
      this.askedLooks = JSON.stringify([looks.matrix, looks.plane, looks.score]);
      this.noting = null;
    }
    return true;
  }

  // The order of H that is asked for, unless it was asked for before: then a person's choice stays.
  orderAsked({ id, order }) {
    const asked = order && `${id} ${order}`;
    if (asked === (this.askedOrder ?? "")) return null;
    this.askedOrder = asked;
    return order || "state";
  }

  // In one column where the parts have no room beside each other.
  resize() {
    const isSome = this.box.classList.contains("some");
    const width = this.box.clientWidth;
    this.box.classList.toggle("narrow", width <= (isSome ? 640 : 1080));
    this.box.classList.toggle("middle", !isSome && width > 1080 && width <= MIDDLE);
  }

  // A size of letters, which a slide raises.
  letter(size) {
    return `${Math.max(size, this.leastLetter)}px`;
  }

  // The beginning whose next symbols both lanes show.
  get followed() {
    const { material, state } = this;
    return state.hot ? material.prefixes[state.hot.i] : state.word.slice(0, state.at);
  }

  // The symbols that both lanes show, in one order: if there are many, those of the largest share in a
  // lane, or in truth.
  get followers() {
    const { material, followed } = this;
    const symbols = material.symbols.map((_, symbol) => symbol);
    if (symbols.length <= MOST_BARS) return symbols;
    const models = this.shown.filter(Boolean).map(({ model }) => shares(model.scores(stateAfter(model, followed))));
    const all = [...models, material.truly(followed)].filter(Boolean);
    const size = symbols.map((symbol) => Math.max(0, ...all.map((values) => values[symbol])));
    return symbols.sort((a, b) => size[b] - size[a] || a - b).slice(0, MOST_BARS);
  }

  // What the lanes draw.
  get shown() {
    return this.material ? this.lanes.map((lane) => lane.drawn) : [];
  }

  // What is drawn of a learner and a rank: its model. While that is trained, the largest of the smaller
  // models that are trained, until a preview of more states has come as far.
  drawn(learner, rank) {
    const { material, told } = this;
    const lane = material.lane(learner, rank);
    if (lane || !told[learner]?.ranks?.includes(rank)) return lane;
    const preview = material.preview?.learner === learner && material.preview.model.k <= rank ? material.preview : null;
    for (let size = rank - 1; size > 0; size--) {
      const smaller = material.lane(learner, size);
      if (smaller) return preview?.model.k > size && preview.error <= smaller.error ? preview : smaller;
    }
    return preview;
  }

  // Has ranks trained; Python answers with "training".
  train(learner) {
    this.start(learner, this.material.untrained(learner, rankOf(learner, this.state)));
  }

  // Shows the linear model that is trained as the network is, and has it trained.
  trainAlike() {
    const { material } = this;
    const linear = this.otherLinear;
    this.choose({ linear });
    if (!material.entry(linear, rankOf(linear, this.state)) && material.canTrain(linear)) this.train(linear);
  }

  // Has networks of other seeds trained.
  repeat() {
    const { material, state } = this;
    this.start(seedsOf(state.learner), material.unrepeated(state.learner, state.rank));
  }

  start(learner, ranks) {
    this.starting = learner;
    setTimeout(() => {
      this.starting = null; // it was refused, as a message has said
      this.change();
    }, PATIENCE_MS);
    const wanted = { learner, objective: this.material.objective, ranks };
    // what has just been chosen comes first: Python takes one thing at a time
    const send = () =>
      this.asking && Date.now() < this.asking.until ? setTimeout(send, STEP_MS / 7) : this.send("train", wanted);
    send();
    this.change();
  }

  cancel(learner) {
    this.send("cancel", learner);
  }

  // What Python says, unless a person has just said something else here.
  settle(now, isNew = false) {
    const said = chosenOf(now);
    const isScene = isNew || now.scene !== this.scene;
    if (this.isOpening && (isScene || said.rank !== this.openingRank)) this.endOpening();
    if (isScene) {
      // another step of a lesson, or a press of its buttons: what was chosen before it no longer counts
      this.asking = null;
      this.before = null;
      this.key = ""; // scores say what they were before until they are drawn again
      clearTimeout(this.timer);
    }
    if (this.asking && isEqual(this.asking.chosen, said)) this.asking = null;
    if (this.asking && Date.now() < this.asking.until) return;
    if (isEqual(chosenOf(this.state), said)) return;
    const { mostRank, further } = this.material;
    const isFurther = further?.rank === said.linearRank;
    this.change({
      ...said,
      rank: Math.min(said.rank, mostRank),
      linearRank: isFurther ? said.linearRank : said.linearRank && Math.min(said.linearRank, mostRank),
    });
    if (isScene) this.before = null; // nobody has chosen what changed
  }

  get plane() {
    return this.state.plane ?? this.material.firstPlane;
  }

  get isUnlinked() {
    return rankKey("SP", this.state) === "linearRank";
  }

  get isDragging() {
    return this.cuts.some((cut) => cut.dragging !== undefined);
  }

  // A linear model that was not sent comes from Python, and the lane stays until it is there.
  chooseLinear(rank) {
    if (rank <= this.material.mostRank) this.choose({ linearRank: rank });
    else this.ask({ linearRank: rank });
  }

  // Sends a choice to Python, once it has not changed for SETTLED_MS and no cut is being dragged.
  ask(more = {}) {
    const chosen = { ...chosenOf(this.state), ...more };
    this.asking = { chosen, until: Date.now() + PATIENCE_MS };
    clearTimeout(this.timer);
    if (!this.isDragging) this.timer = setTimeout(() => this.send("chosen", { ...chosen, scene: this.scene }), SETTLED_MS);
  }

  enter(room) {
    this.send("room", room);
  }

  // What does not change while the payload is the same.
  build(before) {
    const { material, state } = this;
    const isSameAlphabet = before && isSame(before.symbols, material.symbols);
    if (!isSameAlphabet)
      Object.assign(state, { word: material.word.slice(0, MOST_TAPE), at: Math.min(3, material.word.length) });
    Object.assign(state, { hot: null, score: material.hasTruth ? state.score : Math.max(1, state.score) });
    this.before = null;
    this.told = {};
    this.put = material.orders[state.order].map((places) => Float64Array.from(places));
    this.moves.clear();
    const size = `${material.numRows} beginnings by ${material.numColumns} endings`;
    this.find(".left .heat").setAttribute("aria-label", `H, the Hankel matrix: ${size}`);
    this.find(".counted").textContent = material.counted;
    const { title, names } = material.groups;
    const isPart = material.numRows < material.whole[0] || material.numColumns < material.whole[1];
    const whole = material.whole.map((count) => count.toLocaleString("en")).join(" × ");
    this.find(".groups").replaceChildren(
      html("span", isPart ? `${material.numRows} × ${material.numColumns} of ${whole} are shown. ` : ""),
      html("span", `${title}:`),
      ...names.map((name, group) => {
        const [item, dot] = [html("span"), html("i")];
        dot.style.background = `var(--group${group})`;
        item.append(dot, name);
        return item;
      }),
    );
    const picks = SCORES.map(([name], n) => {
      const button = html("button", name);
      button.type = "button";
      button.dataset.value = n;
      return button;
    });
    this.find(".scores").replaceChildren(...picks.slice(material.hasTruth ? 0 : 1));
    this.buildStrings();
    this.lanes.forEach((lane) => lane.build(material));
    this.warm();
  }

  buildStrings() {
    const { material } = this;
    const most = material.strings[0]?.[1] ?? 1;
    this.find(".strings").classList.toggle("words", material.inTokens);
    const short = material.strings.map(([word]) => material.ending(word, MOST_LISTED));
    // of those that end in the same way, the beginning as well
    const apart = (text, n) =>
      short.indexOf(short[n]) === short.lastIndexOf(short[n])
        ? short[n]
        : `${text.slice(0, MOST_LISTED / 2 - 1)}…${text.slice(-MOST_LISTED / 2)}`;
    this.find(".strings").replaceChildren(
      ...material.strings.slice(0, 20).map(([word, count], n) => {
        const [item, button, bar, text] = [html("li"), html("button"), html("span", "", "count"), material.text(word)];
        bar.style.setProperty("--width", `${Math.max(0.6, (count / most) * 100)}%`);
        bar.append(html("span", count.toLocaleString("en")));
        button.type = "button";
        button.title = text;
        button.append(html("span", material.inTokens ? apart(text, n) : text, "mono"), bar);
        button.addEventListener("click", () =>
          this.change({ word: word.slice(0, MOST_TAPE), at: Math.min(word.length, MOST_TAPE) }),
        );
        item.append(button);
        return item;
      }),
    );
  }

  // Models are made in idle time, the nearest ranks first.
  warm() {
    const { material, state } = this;
    const ranks = Array.from({ length: material.mostRank }, (_, n) => n + 1).sort(
      (a, b) => Math.abs(a - state.rank) - Math.abs(b - state.rank),
    );
    const todo = [state.linear, state.learner, ...LINEAR, ...Object.keys(NETWORKS)].flatMap((learner) =>
      ranks.map((rank) => [learner, rank]),
    );
    const next = (idle) => {
      if (this.closing.signal.aborted || material !== this.material) return;
      while (todo.length && idle.timeRemaining() > 6) material.lane(...todo.shift());
      if (todo.length) requestIdleCallback(next);
    };
    requestIdleCallback(next);
  }

  // A first visit begins in motion: the cut moves to the rank, then the string is read. A touch, a
  // key or the wheel ends it.
  open(rank) {
    const acts = [...Array(rank).keys()]
      .map((n) => () => {
        this.change({ rank: n + 1, at: 0 });
        this.before = null; // nobody has chosen the rank before
      })
      .concat(() => this.play(true));
    this.isOpening = true;
    this.openingRank = rank;
    const stop = () => {
      clearInterval(this.opening);
      this.isOpening = false;
      if (acts.length > 1) this.change({ rank });
      acts.length = 0;
      this.before = null;
      this.key = "";
      this.change();
    };
    this.endOpening = stop;
    acts.shift()();
    this.opening = setInterval(() => (acts.length ? acts.shift()() : stop()), STEP_MS);
    for (const kind of ["pointerdown", "keydown", "wheel"])
      addEventListener(kind, stop, { once: true, capture: true, signal: this.closing.signal });
    // who points at something wants it to stand still
    this.box.addEventListener("pointermove", stop, { once: true, signal: this.closing.signal });
  }

  change(some = {}) {
    const { state } = this;
    const before = chosenOf(state);
    Object.assign(state, some);
    const most = this.material?.mostRank;
    if (state.linear !== "SP" && state.linearRank > most) state.linearRank = most; // there are no others
    if (this.lanes.some((lane) => !isEqual(lane.modelIn(before), lane.modelIn(state)))) {
      this.before = before;
      this.travel("dots", 320);
    }
    if ("plane" in some) this.travel("dots", 600);
    if ("order" in some) this.travel("order", SORTING_MS);
    this.isStale = true;
    this.asked ||= requestAnimationFrame((now) => this.draw(now));
  }

  choose(some) {
    this.change(some);
    this.ask();
  }

  travel(name, ms) {
    this.moves.set(name, { start: performance.now(), ms: this.isCalm ? 1 : ms });
    if (name === "dots")
      this.lanes.forEach((lane) => {
        lane.start = lane.points;
      });
    if (name === "order") this.putFrom = this.put.map((places) => Float64Array.from(places));
  }

  // How much of a movement is done, from 0 to 1.
  share(name, now) {
    const move = this.moves.get(name);
    if (!move) return 1;
    const t = Math.max(0, Math.min(1, (now - move.start) / move.ms));
    if (t === 1) this.moves.delete(name);
    return 1 - (1 - t) ** 3;
  }

  // Colours, as the style sheet has them at this moment.
  colour = (name) => (this.palette[name] ??= this.styles.getPropertyValue(`--${name}`).trim());
  groupColour(group) {
    return this.colour(group < 0 ? "truth" : `group${group}`);
  }

  draw(now) {
    this.asked = 0;
    if (!this.material) return;
    const { state, material } = this;
    if (!this.theme) this.readTheme();
    const key = JSON.stringify([
      this.id,
      this.isWhole && this.whole,
      this.told,
      material.numPreviews,
      this.starting,
      this.theme,
      this.numSizes,
      this.parts,
      state,
    ]);
    const isChanged = key !== this.key;
    if (isChanged) {
      this.key = key;
      this.tellDepth();
      this.tellRanks();
      this.tellVerdict();
      this.say();
      this.tellCell();
      this.drawTape();
      this.lanes.forEach((lane) => lane.update());
      this.press();
      this.note();
    }
    if (isChanged || this.isStale) {
      // between the texts and the pictures: the browser computes styles and sizes once a frame
      this.isStale = false;
      this.measure();
      const { theme } = this;
      this.readTheme();
      if (theme !== this.theme) {
        this.change();
        return;
      }
    }
    const isNew = isChanged || this.moves.has("order");
    const share = this.share("order", now);
    this.put = material.orders[state.order].map((places, axis) =>
      Float64Array.from(places, (place, n) =>
        share < 1 ? this.putFrom[axis][n] + share * (place - this.putFrom[axis][n]) : place,
      ),
    );
    if (isNew) this.drawMatrix(this.find(".left .heat"), (i, j) => material.H[i * material.numColumns + j], "counts");
    const isMoving = this.moves.has("dots");
    const moved = this.share("dots", now);
    if (isNew || isMoving) this.lanes.forEach((lane) => lane.draw(moved, isNew));
    this.cuts.forEach((cut) => cut.draw());
    if (isChanged) {
      this.drawDepth();
      this.drawRanks();
      this.lanes.forEach((lane) => lane.drawLosses());
    }
    if (this.moves.size) this.asked ||= requestAnimationFrame((later) => this.draw(later));
  }

  // Colours are asked for again only when the theme or the learner is another.
  readTheme() {
    this.styles = getComputedStyle(this.box);
    const [card, ink] = ["background", "text"].map((name) => this.styles.getPropertyValue(`--st-${name}-color`).trim());
    this.font = this.styles.fontFamily;
    this.mono = '"Source Code Pro", monospace';
    this.leastLetter = parseFloat(this.styles.getPropertyValue("--least")) || 0;
    const theme = [card, ink, this.state.learner].join(" ");
    if (theme === this.theme) return;
    this.theme = theme;
    this.palette = { card, ink };
    this.box.classList.toggle("dark", !isBright(channels(this.palette.card)));
    const { learner } = this.state;
    this.box.style.setProperty("--network", `var(--${learner === "SP" ? "muted" : COLOURS[learner]})`);
    for (const name of ["muted", "line"]) this.palette[name] = this.mixed(name);
  }

  // The sizes of all that is drawn into.
  measure() {
    this.sizes = new Map(
      [...this.box.querySelectorAll("canvas, svg")].map((node) => [
        node,
        { width: node.clientWidth, height: node.clientHeight, scale: scaleOf(node) },
      ]),
    );
  }

  // A canvas does not know color-mix: the browser mixes.
  mixed(name) {
    const probe = (this.probe ??= this.box.appendChild(html("i")));
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  }

  press() {
    const { material, state } = this;
    for (const [bend, on] of Object.entries({
      factorisation: NETWORKS[state.learner]?.[0],
      transitions: NETWORKS[state.learner]?.[1],
    })) {
      this.find(`[data-bend=${bend}]`).setAttribute("aria-checked", Boolean(on));
    }
    this.find("[data-bend=factorisation]").lastChild.textContent = PLACES[material.objective].bend;
    this.find(".cutbox").classList.toggle("unlinked", this.isUnlinked);
    this.box.classList.toggle("ends", this.plane === "end");
    this.find(".order").textContent = state.order === "state" ? "sort by frequency" : "sort by state";
    this.find(".cutlabel").textContent = this.isOpening
      ? "It moves by itself: touch to stop"
      : this.isUnlinked
        ? "Linear above, nonlinear below"
        : "Drag the cut through the singular values";
    this.find(".tie").textContent = this.isUnlinked ? "one rank for both" : "a rank for each lane";
    this.find(".tie").hidden = state.learner === "SP";
    const { most } = this.material.linear;
    const further = this.find(".further");
    const field = further.querySelector("input");
    further.hidden = !this.isUnlinked || state.linear !== "SP" || most <= this.material.mostRank;
    further.querySelector("span").textContent = field.max = most;
    if (this.box.getRootNode().activeElement !== field) field.value = state.linearRank;
    this.find("[data-pick=objective]").hidden = state.learner === "SP";
    const { show, objective, linear } = state;
    for (const [pick, value] of Object.entries({
      show,
      objective,
      linear,
      plane: this.plane,
      score: String(state.score),
    })) {
      for (const button of this.find(`[data-pick=${pick}]`).children)
        button.setAttribute("aria-pressed", button.dataset.value === value);
    }
    [...this.find(".strings").children].forEach((item, n) =>
      item.firstChild.classList.toggle("hot", isSame(this.material.strings[n][0], state.word)),
    );
  }

  listen() {
    const on = (selector, kind, act) => this.find(selector).addEventListener(kind, act);
    for (const button of this.box.querySelectorAll(".room"))
      button.addEventListener("click", () => this.enter(button.dataset.room));
    for (const button of this.box.querySelectorAll(".switch")) {
      button.addEventListener("click", () => {
        const bends = NETWORKS[this.state.learner] ?? [false, false];
        const wanted = ["factorisation", "transitions"].map((name, n) =>
          button.dataset.bend === name ? !bends[n] : bends[n],
        );
        this.choose({ learner: Object.keys(NETWORKS).find((name) => isSame(NETWORKS[name], wanted)) ?? "SP" });
      });
    }
    for (const button of this.box.querySelectorAll("[data-open]")) {
      button.addEventListener("click", () => this.tell(button.dataset.open));
    }
    on(".settings", "click", () => this.toggleSettings());
    on(".alike button", "click", () => this.trainAlike());
    on(".seeds .repeat", "click", () => this.repeat());
    on(".seeds .quit", "click", () => this.cancel(seedsOf(this.state.learner)));
    on(
      "[data-pick=show]",
      "click",
      ({ target }) => target.dataset.value && this.change({ show: target.dataset.value }),
    );
    on(
      "[data-pick=plane]",
      "click",
      ({ target }) => target.dataset.value && this.change({ plane: target.dataset.value }),
    );
    on(
      "[data-pick=score]",
      "click",
      ({ target }) => target.dataset.value && this.change({ score: Number(target.dataset.value) }),
    );
    on(".order", "click", () => this.change({ order: this.state.order === "state" ? "frequency" : "state" }));
    on(".tools", "click", ({ target }) => target.dataset.do && this.act(target.dataset.do));
    on(".typed", "input", ({ target }) => {
      const word = this.material.read(target.value);
      this.change({ word, at: word.length });
    });
    on(".tie", "click", () => this.choose({ linearRank: this.isUnlinked ? null : this.state.rank }));
    on(".further input", "change", ({ target }) => {
      const rank = Math.min(Math.round(target.valueAsNumber), this.material.linear.most);
      target.value = rank >= 1 ? rank : this.state.linearRank;
      if (rank >= 1) this.chooseLinear(rank);
    });
    on(".ranks", "click", ({ clientX, clientY }) => {
      const { x, y } = placeIn(this.find(".ranks"), { clientX, clientY });
      const rank = this.rankAt?.(x);
      if (!rank) return;
      // the lane whose curve is nearer
      const far = this.lanes.map(({ learner }) => Math.abs(this.heightOf(learner, rank) - y));
      const { learner } = this.lanes[far[0] <= far[1] ? 0 : 1];
      this.choose({ [rankKey(learner, this.state)]: rank });
    });
    this.listenMatrix(this.find(".left .heat"));
    this.box.addEventListener("keydown", (event) => {
      if (event.target.matches("input, button, .cut") || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = { ArrowRight: "step", ArrowLeft: "back", Home: "first", " ": "play" }[event.key];
      if (!act) return;
      event.preventDefault();
      this.act(act);
    });
  }

  act(what) {
    const { at, word } = this.state;
    if (what !== "play") this.play(false); // who steps by hand has time
    if (what === "first") this.change({ at: 0 });
    if (what === "back") this.change({ at: Math.max(0, at - 1) });
    if (what === "step") this.change({ at: Math.min(word.length, at + 1) });
    if (what === "play") this.play();
  }

  play(isOn = !this.playing) {
    clearInterval(this.playing);
    this.playing = isOn
      ? setInterval(
          () => (this.state.at < this.state.word.length ? this.change({ at: this.state.at + 1 }) : this.play(false)),
          STEP_MS,
        )
      : 0;
    if (isOn && this.state.at >= this.state.word.length) this.change({ at: 0 });
    this.namePlay();
  }

  namePlay() {
    const { at, word } = this.state;
    const button = this.find("[data-do=play]");
    button.textContent = this.playing ? "Pause" : "Play";
    button.title = this.playing ? "Stop here" : at < word.length ? "Read on, a symbol at a time" : "Read it again from the start";
  }

  // What the pointer is on lights up everywhere.
  hover(hot, canvas, event) {
    if (hot?.i === this.state.hot?.i && hot?.j === this.state.hot?.j) return;
    this.pointed = hot && { canvas, ...placeIn(canvas, event) };
    this.change({ hot });
  }

  follow(hot) {
    if (!hot) return;
    const { prefixes, suffixes } = this.material;
    const word = prefixes[hot.i].concat(hot.j === undefined ? [] : suffixes[hot.j]).slice(0, MOST_TAPE);
    this.change({ word, at: Math.min(MOST_TAPE, prefixes[hot.i].length) });
  }

  // Matrices

  penOf(canvas) {
    const { width, height, scale } = this.sizes.get(canvas);
    const ratio = (devicePixelRatio || 1) * scale;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    if (!this.pens.has(canvas)) this.pens.set(canvas, canvas.getContext("2d"));
    const pen = this.pens.get(canvas);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return { pen, width, height };
  }

  cellSize(width) {
    return (width - MARGIN) / Math.max(this.material.numRows, this.material.numColumns);
  }

  listenMatrix(canvas) {
    canvas.addEventListener("pointermove", (event) => this.hover(this.cellAt(canvas, event), canvas, event));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.follow(this.cellAt(canvas, event)));
  }

  cellAt(canvas, { clientX, clientY }) {
    const { x, y } = placeIn(canvas, { clientX, clientY });
    const size = this.cellSize(canvas.clientWidth);
    const [rows, columns] = this.material.orders[this.state.order];
    const i = rows.indexOf(Math.floor((y - MARGIN) / size));
    const j = columns.indexOf(Math.floor((x - MARGIN) / size));
    return i >= 0 && j >= 0 ? { i, j } : null;
  }

  drawMatrix(canvas, cells, colour) {
    const { pen, width } = this.penOf(canvas);
    if (!width) return;
    const { material, state } = this;
    const size = this.cellSize(width);
    const isStill = !this.moves.has("order");
    const [rowAt, columnAt] = this.put;
    const fill = size + (isStill ? 0.35 : 0);
    const [positive, negative] = [this.colour(colour), this.colour("negative")];
    for (let i = 0; i < material.numRows; i++) {
      const y = MARGIN + rowAt[i] * size;
      for (let j = 0; j < material.numColumns; j++) {
        const value = cells(i, j);
        const t = Math.abs(value) / material.largest;
        if (!(t >= PALEST)) continue;
        pen.globalAlpha = Math.min(1, t ** 0.28);
        pen.fillStyle = value < 0 ? negative : positive;
        pen.fillRect(MARGIN + columnAt[j] * size, y, fill, fill);
      }
    }
    pen.globalAlpha = 1;
    material.groups.rows.forEach((group, i) => {
      pen.fillStyle = this.groupColour(group);
      pen.fillRect(7, MARGIN + rowAt[i] * size, 5, size + 0.4);
    });
    material.groups.columns.forEach((group, j) => {
      pen.fillStyle = this.groupColour(group);
      pen.fillRect(MARGIN + columnAt[j] * size, 7, size + 0.4, 5);
    });
    if (state.order === "state" && isStill) this.drawBlocks(pen, size);
    const { i, j } = state.hot ?? {};
    pen.strokeStyle = this.colour("cut");
    pen.lineWidth = 1.5;
    if (i !== undefined)
      pen.strokeRect(MARGIN - 1, MARGIN + rowAt[i] * size - 0.5, material.numColumns * size + 1, size + 1);
    if (j !== undefined)
      pen.strokeRect(MARGIN + columnAt[j] * size - 0.5, MARGIN - 1, size + 1, material.numRows * size + 1);
  }

  drawBlocks(pen, size) {
    const { rows, columns } = this.material.groups;
    pen.strokeStyle = this.colour("truth");
    pen.lineWidth = 1;
    pen.globalAlpha = 0.45;
    let [top, left] = [0, 0];
    for (let group = 0; group < this.material.numGroups; group++) {
      const [high, wide] = [rows, columns].map((groups) => groups.filter((own) => own === group).length * size);
      pen.strokeRect(MARGIN + left + 0.5, MARGIN + top + 0.5, Math.max(0, wide - 1), Math.max(0, high - 1));
      top += high;
      left += wide;
    }
    pen.globalAlpha = 1;
  }

  // Charts

  get pair() {
    const { state } = this;
    return [
      ["linear", state.linear, this.drawn(state.linear, rankOf(state.linear, state))],
      ["nonlinear", state.learner, state.learner === "SP" ? null : this.drawn(state.learner, state.rank)],
    ];
  }

  tellDepth() {
    const { material, state } = this;
    const { truth, isNested } = material.ladder;
    const reached = ({ ladder, reach }) => {
      const zeros = ladder.filter((value) => value === 0).length;
      const first = ladder.indexOf(0) + 1;
      if (zeros && isNested) return `${reach ? `right up to depth ${reach}; ` : "exactly "}0 from depth ${first} on`;
      if (zeros) return `exactly 0 for ${zeros} of ${truth.length}`;
      if (reach === null) return "";
      if (!isNested) return `right for ${reach} of ${truth.length}`;
      return reach ? `right up to depth ${farthest(reach, truth.length)}` : "wrong from the start";
    };
    const lines = this.pair.map(([name, learner, lane]) => {
      const line = html("div");
      const mark = html("b", `● ${name} `);
      mark.style.color = this.colour(
        name === "linear" ? "linear" : state.learner === "SP" ? "muted" : COLOURS[learner],
      );
      const text = !lane
        ? learner === "SP" && name === "nonlinear"
          ? "no curve: same as linear"
          : "nothing to draw"
        : reached(lane);
      line.append(mark, text);
      return line;
    });
    this.find("[data-room=predict]").textContent = isNested ? "How deep do they reach?" : "Which strings are right?";
    this.find(".within").hidden = !truth.some((value) => value > 0);
    lines[0].append(html("span", material.truth.name, "band bar"));
    lines[1].append(html("span", "□ below 0", "band"));
    this.find(".depthkey").replaceChildren(...lines);
    this.find(".depth").setAttribute(
      "aria-label",
      `Weights of strings that go deeper: ${lines.map((line) => line.textContent).join("; ")}`,
    );
    this.tellRungs();
  }

  // Which strings the numbers below the chart stand for.
  tellRungs() {
    const { material, state } = this;
    const { words } = material.ladder;
    const followed = words.findIndex((word) => isSame(word, state.word));
    const rungs = this.find(".rungs");
    rungs.hidden = !material.hasLongRungs;
    rungs.replaceChildren(
      ...(followed < 0
        ? [`1 to ${words.length}: strings in order of length; click a string to follow it`]
        : [`${followed + 1}: `, html("b", material.ending(words[followed], MOST_RUNG), "mono")]),
    );
    rungs.title = words.map((word, d) => `${d + 1}: ${material.text(word)}`).join("\n");
  }

  drawDepth() {
    const { material, state } = this;
    const { truth, labels, isNested, words } = material.ladder;
    const svg = this.find(".depth");
    const { width, height } = this.sizes.get(svg);
    if (!width) return;
    const positive = truth.filter((value) => value > 0);
    const low = Math.floor(Math.log10(Math.min(...positive, 1))) - 4;
    const zero = height - 34;
    const x = (d) => 44 + (d + 0.5) * ((width - 56) / labels.length);
    const y = (value) => 8 + (Math.max(low, Math.log10(value)) / low) * (zero - 26);
    const nodes = [];
    for (let power = 0; power >= low; power -= 2) {
      nodes.push(
        shape("line", { x1: 40, x2: width - 6, y1: y(10 ** power), y2: y(10 ** power), stroke: this.colour("line") }),
        shape("text", { x: 34, y: y(10 ** power) + 4, "text-anchor": "end" }, powerOfTen(power)),
      );
    }
    nodes.push(
      shape("rect", { x: 40, y: zero - 10, width: width - 46, height: 21, fill: this.colour("soft"), rx: 4 }),
      shape("text", { x: 34, y: zero + 4, "text-anchor": "end" }, "0"),
    );
    labels.forEach((label, d) => {
      const nested = d < 2 ? label : `[${raised(d + 1)} ]${raised(d + 1)}`;
      const text = isNested ? nested : material.hasLongRungs ? d + 1 : label;
      const tick = shape("text", { x: x(d), y: height - 6, "text-anchor": "middle", class: "rung" }, text);
      // in the colour of its depth, as the states that are kept for it
      if (material.depthsOfStates.length) tick.style.fill = this.groupColour(Math.min(d + 1, material.numGroups - 1));
      tick.append(shape("title", {}, `${material.text(words[d])}: click to follow it`));
      tick.addEventListener("click", () => this.change({ word: words[d].slice(0, MOST_TAPE), at: words[d].length }));
      nodes.push(tick);
    });
    const followed = words.findIndex((word) => isSame(word, state.word));
    // the truth, and what counts as right
    const known = truth.flatMap((value, d) => (value > 0 ? [[x(d), value]] : []));
    if (known.length) {
      const [[left, first], [right, last]] = [known[0], known.at(-1)];
      known.unshift([left - 10, first]); // dots stand beside their places
      known.push([right + 10, last]);
    }
    const along = (factor) => known.map(([at, value]) => `${at},${y(factor * value)}`);
    const grey = this.colour("truth");
    nodes.push(
      shape("polygon", { points: [...along(FACTOR), ...along(1 / FACTOR).reverse()].join(" "), fill: grey, opacity: 0.3 }),
      shape("polyline", { points: along(1).join(" "), fill: "none", stroke: grey, "stroke-width": 1.5 }),
    );
    this.pair.forEach(([name, learner, lane], n) =>
      lane?.ladder.forEach((value, d) => {
        const fill = this.colour(name === "linear" ? "linear" : COLOURS[learner]);
        const [cx, cy] = [x(d) + (n ? 4 : -4), value ? y(Math.abs(value)) : zero];
        if (!Number.isFinite(value)) return;
        if (!value)
          nodes.push(shape("path", { d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8`, stroke: fill, "stroke-width": 2.6 }));
        else if (value < 0)
          nodes.push(shape("rect", { x: cx - 4, y: cy - 4, width: 8, height: 8, fill: this.colour("card"), stroke: fill, "stroke-width": 2.2 }));
        else nodes.push(shape("circle", { cx, cy, r: 5, fill, stroke: this.colour("card"), "stroke-width": 1.2 }));
      }),
    );
    if (followed >= 0)
      nodes.push(
        shape("rect", {
          x: x(followed) - 17,
          y: height - 20,
          width: 34,
          height: 19,
          rx: 5,
          fill: "none",
          stroke: this.colour("cut"),
          "stroke-width": 1.5,
        }),
      );
    svg.replaceChildren(...nodes);
  }

  // What the chart of scores by rank has: the score of a learner and a rank, the ranks that are shown
  // and those that are cut at, and the learners, the lanes' last.
  get scoresByRank() {
    const { material, state } = this;
    const most = material.mostRank;
    const value = (learner, rank) => material.entry(learner, rank)?.scores[state.score] ?? null;
    const cuts = [...new Set(this.lanes.map((lane) => lane.rank))];
    const further = cuts.filter((rank) => rank > most); // stands behind a gap
    const ranks = Array.from({ length: most }, (_, n) => n + 1).concat(further);
    // a lesson is about the lanes
    const others = this.scene ? [] : [...Object.keys(NETWORKS).filter((name) => material.trained[name]), ...LINEAR];
    const learners = [
      ...others.filter((name) => name !== state.learner && name !== state.linear),
      ...(state.learner === "SP" ? [] : [state.learner]),
      state.linear,
    ];
    return { value, cuts, further, ranks, learners };
  }

  tellRanks() {
    const { material, state } = this;
    const { value, ranks, learners } = this.scoresByRank;
    const thin = learners
      .filter((name) => name !== state.learner && name !== state.linear)
      .filter((name) => ranks.some((rank) => value(name, rank) !== null))
      .map((name) => {
        const item = html("span", name === "PFA" ? " PFA (dashed)" : ` ${name}`);
        item.title = meansOf(name, material.objective);
        item.style.color = this.colour(COLOURS[name]);
        return item;
      });
    this.find(".rankkey").replaceChildren(
      `${SCORES[state.score][1]} (${material.tests.toLocaleString("en")} test strings)`,
      ...(thin.length ? ["; thin:", ...thin] : []),
      state.linear === "PFA" && thin.some(({ textContent }) => textContent === " SP") ? "; dashed: PFA" : "",
    );
    const isShown = state.linear === "PFA" && SCORES[state.score][0] !== "bits";
    this.find(".caveat").textContent = isShown ? "PFA may zigzag: its training raises the likelihood, not this score." : "";
    const here = this.lanes.map(
      ({ learner, rank }) => `${learner} with ${states(rank)} ${three(value(learner, rank))}`,
    );
    this.find(".ranks").setAttribute("aria-label", `${SCORES[state.score][0]} by rank: ${here.join(", ")}`);
    this.tellEnough();
    this.tellSeeds();
  }

  // How many states are enough, unless a lesson asks that.
  tellEnough() {
    const { material, state } = this;
    const { value } = this.scoresByRank;
    const ranks = Array.from({ length: material.mostRank }, (_, n) => n + 1);
    const told = this.lanes
      .filter(({ isCopy }) => !isCopy)
      .map(({ learner, isLower }) => {
        const scores = ranks.map((one) => value(learner, one));
        const rank = enoughStates(scores, state.score);
        // the best of those that there are; with more states, the score may fall further
        const isLast = rank > 1 && !scores.slice(rank).some(finite);
        const item = html("b", `${isLast ? "≥ " : ""}${rank} ${isLower ? "nonlinear" : "linear"}`);
        item.style.color = this.colour(COLOURS[learner]);
        return rank && item;
      })
      .filter(Boolean);
    const row = this.find(".enough");
    row.hidden = Boolean(this.scene) || !told.length;
    const near = state.score === SCORE.bits ? `${LEVEL_BITS} bits` : percent(LEVEL);
    row.replaceChildren(`each within ${near} of its own best: `, ...told.flatMap((item, n) => (n ? [", ", item] : [item])));
    row.title = `For each model, the fewest states with a score within ${near} of its best over all ranks here`;
  }

  drawRanks() {
    const { material, state } = this;
    const which = state.score;
    const most = material.mostRank;
    const { value, cuts, further, ranks, learners } = this.scoresByRank;
    const svg = this.find(".ranks"); // as high as the key above it has left
    const { width, height } = this.sizes.get(svg);
    if (!width) return;
    const best = material.truth.scores?.[which] ?? null;
    const finite = learners
      .flatMap((name) =>
        ranks.flatMap((rank) => [value(name, rank), ...material.others(name, rank).map((own) => own[which])]),
      )
      .concat(best)
      .filter((score) => typeof score === "number");
    if (!finite.length) {
      svg.replaceChildren(shape("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "no scores"));
      return;
    }
    const step =
      [0.05, 0.1, 0.2, 0.5, 1, 2, 5].find(
        (size) => (Math.max(...finite) - (which > 0 ? Math.min(...finite) : 0)) / size <= 5,
      ) ?? 10;
    const least = which > 0 ? Math.floor(Math.min(...finite) / step) * step : 0; // a distance begins at 0
    const largest = Math.max(least + step, Math.ceil(Math.max(...finite) / step - 1e-9) * step);
    const hasInfinite = learners.some((name) => ranks.some((rank) => value(name, rank) === "∞"));
    const [bottom, top] = [height - 22, hasInfinite ? 26 : 8];
    const wide = (width - 48) / (most + 2 * further.length);
    const x = (rank) => 40 + (Math.min(rank, most + 2) - 0.5) * wide;
    this.rankAt = (left) => {
      const place = Math.round((left - 40) / wide + 0.5);
      return further.length && place > most + 1 ? further[0] : Math.min(most, Math.max(1, place));
    };
    this.heightOf = (learner, rank) => (value(learner, rank) === null ? Infinity : y(value(learner, rank)));
    const y = (score) => (score === "∞" ? 12 : bottom - ((score - least) / (largest - least)) * (bottom - top));
    const nodes = cuts.map((rank) =>
      shape("rect", {
        x: x(rank) - wide / 2,
        y: 0,
        width: wide,
        height: height - 4,
        fill: this.colour("tint"),
        rx: 5,
      }),
    );
    for (let tick = least; tick <= largest + 1e-9; tick += step) {
      nodes.push(
        shape("line", { x1: 36, x2: width - 6, y1: y(tick), y2: y(tick), stroke: this.colour("line") }),
        shape("text", { x: 30, y: y(tick) + 4, "text-anchor": "end" }, Number(tick.toFixed(2))),
      );
    }
    if (hasInfinite) nodes.push(shape("text", { x: 30, y: 17, "text-anchor": "end", style: "font-size:15px" }, "∞"));
    if (best !== null)
      nodes.push(
        shape("line", {
          x1: 36,
          x2: width - 6,
          y1: y(best),
          y2: y(best),
          stroke: this.colour("truth"),
          "stroke-width": 5,
          opacity: 0.4,
        }),
      );
    for (const name of learners) {
      const stroke = this.colour(COLOURS[name]);
      const isFront = name === state.linear || (name === state.learner && NETWORKS[name]);
      let line = "";
      ranks.forEach((rank) => {
        if (value(name, rank) !== null)
          line += `${rank > 1 && value(name, rank - 1) !== null ? "L" : "M"}${x(rank)} ${y(value(name, rank))}`;
      });
      nodes.push(
        shape("path", {
          d: line,
          fill: "none",
          stroke,
          "stroke-width": isFront ? 2.4 : 1.2,
          "stroke-dasharray": name === "PFA" ? "6 4" : "none", // of SP's colour
          opacity: isFront ? 1 : 0.5,
        }),
      );
      if (!isFront) continue;
      for (const rank of ranks)
        for (const scores of material.others(name, rank).filter((one) => one[which] !== null))
          nodes.push(
            shape("circle", {
              class: "seed",
              cx: x(rank),
              cy: y(scores[which]),
              r: 3,
              fill: "none",
              stroke,
              opacity: 0.7,
            }),
          );
      for (const rank of ranks.filter((one) => value(name, one) !== null))
        nodes.push(
          shape("circle", {
            cx: x(rank),
            cy: y(value(name, rank)),
            r: rank === rankOf(name, state) ? 6.5 : 2.8,
            fill: stroke,
            stroke: this.colour("card"),
          }),
        );
    }
    if (further.length) nodes.push(shape("text", { x: x(most) + wide, y: height - 6, "text-anchor": "middle" }, "…"));
    for (const rank of ranks) {
      const isBeside = most > 14 && cuts.some((cut) => Math.abs(cut - rank) === 1); // two numbers would meet
      if (cuts.includes(rank) || (!isBeside && (most <= 14 || rank % 5 === 0 || rank === 1)))
        nodes.push(
          shape(
            "text",
            {
              x: x(rank),
              y: height - 6,
              "text-anchor": "middle",
              style: cuts.includes(rank) ? `fill:${this.colour("cut")};font-weight:700` : "",
            },
            rank,
          ),
        );
    }
    svg.replaceChildren(...nodes);
  }

  // Sentences

  // With how many seeds the network was trained, and what trains it with others.
  tellSeeds() {
    const { material, state, told } = this;
    const name = seedsOf(state.learner);
    const number = 1 + material.others(state.learner, state.rank).length;
    const going = this.starting === name ? "starting …" : told[name]?.text;
    this.find(".seeds").hidden = !(
      NETWORKS[state.learner] &&
      material.entry(state.learner, state.rank) &&
      this.isWhole
    );
    const others = `○ with ${number - 1} other ${number > 2 ? "seeds" : "seed"}`;
    const said = number > 1 ? others : `${state.learner}: one seed`;
    this.find(".seeds span").textContent = going ? `other seeds: ${going}` : (told[name]?.failed ?? said);
    const [repeat, quit] = this.box.querySelectorAll(".seeds button");
    repeat.textContent = `try ${material.otherSeeds + 1 - number} more`;
    repeat.hidden = Boolean(going) || number > material.otherSeeds || !material.canTrain(state.learner);
    quit.hidden = !told[name]?.text;
  }

  // The linear learner that is not in the lane.
  get otherLinear() {
    return LINEAR.find((name) => name !== this.state.linear);
  }

  tellVerdict() {
    const { material, state } = this;
    const [linear, network] = [state.linear, state.learner].map((learner) => {
      const rank = rankOf(learner, state);
      return material.lane(learner, rank) ?? material.entry(learner, rank);
    });
    const isMissing = (!network && state.learner !== "SP") || (!linear && state.linear !== "SP");
    if (isMissing && !this.isWhole) return; // it may be coming
    const linearRank = rankOf(state.linear, state);
    const margins = (learner) => {
      const { between } = material.marginsOf(learner, linearRank);
      return between[state.learner]?.[state.rank]?.[learner]?.[material.kept(learner, linearRank)];
    };
    const objectives = [state.linear === "SP" ? "hankel" : "likelihood", material.objective];
    const other = this.otherLinear;
    const isUnlike = objectives[0] !== objectives[1] && state.learner !== "SP";
    this.find(".alike").hidden = !isUnlike;
    const alike = isUnlike && (material.lane(other, linearRank) ?? material.entry(other, linearRank));
    const { head, line } = verdictOf({
      ranks: [linearRank, state.rank],
      learner: state.learner,
      objectives,
      alike: this.scene ? undefined : alike?.scores,
      linear,
      network: state.learner === "SP" ? null : network,
      others: material.others(state.learner, state.rank),
      hasTruth: material.hasTruth,
      noun: material.ladder.isNested ? "depth" : "string",
      nested: material.ladder.isNested ? material.ladder.words[0].map((symbol) => `${material.symbols[symbol]}ⁿ`).join("") : "",
      isUndrawn: state.linear === "SP" && Boolean(material.linear.why),
      ngram: material.ngram,
      longest: material.ladder.words.length,
      which: state.score,
      margins: margins(state.linear),
      alikeMargins: margins(other),
      tests: material.tests,
      isFew: Boolean(material.few),
    });
    if (material.few && line.length) line.push([` · ${material.few}`, ""]);
    const told = JSON.stringify([head, line]);
    if (told === this.verdict) return; // a screen reader reads what is set anew
    this.verdict = told;
    this.find(".verdict h2").textContent = head;
    // a line ends between its parts
    const whole = (text) =>
      text.replaceAll(" ", "\u00a0").replaceAll(/([·:,])\u00a0/g, "$1 ").replace("\u00a0(", " (");
    this.find(".verdict .line").replaceChildren(
      ...line.map(([text, name]) => html("span", text === ` · ${material.few}` ? text : whole(text), name)),
    );
  }

  // The sidebar is a drawer here (assets/lab.css), and on a phone the menu. Its controls come once it is open.
  toggleSettings() {
    const { documentElement: page } = document;
    const isMenu = matchMedia("(max-width: 767px)").matches;
    if (isMenu) document.querySelector(SETTINGS)?.click();
    else page.toggleAttribute("data-settings");
    this.send("settings", isMenu || page.hasAttribute("data-settings"));
    this.nameSettings();
  }

  nameSettings() {
    const isOpen = document.documentElement.hasAttribute("data-settings");
    this.find(".settings").textContent = isOpen ? "Fewer settings" : "More settings";
  }

  // A dialog: why a model with so few states fails, or the scores of all learners.
  tell(what) {
    const dialog = this.find("dialog");
    const close = html("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(...(what === "why" ? this.reasons() : this.table()), close);
    dialog.showModal();
  }

  reasons() {
    const { material, state } = this;
    const blocks = material.ladder.isNested
      ? "With its rows and columns sorted by the number of open brackets, H falls into blocks."
      : "With the rows of H sorted by what can follow, similar rows stand together.";
    const rank = rankOf(state.linear, state);
    const patterns = rank === 1 ? "a multiple of one pattern" : `a sum of ${rank} patterns`;
    const linear =
      state.linear === "SP"
        ? `namely ${rank === 1 ? "that of the largest singular value, which describes" : "those of the largest singular values, which describe"} ` +
          "what is frequent. " +
          (material.ladder.isNested
            ? "A row that needs any other pattern becomes exactly 0: it is lost, whatever follows."
            : "All other patterns of a row are lost.")
        : "chosen by EM to make the training strings likely. No weight is below 0, so no row is lost: rows that " +
          "would need other patterns are blurred into the existing ones.";
    return [
      html("h2", `What ${bothStates([rank, state.rank])} can tell apart`),
      html("p", "A row of H says what follows a beginning. A model keeps a few numbers for each beginning: its state."),
      html("p", `${blocks} In a linear model, each row is ${patterns}, ${linear}`),
      html(
        "p",
        "With a curve (tanh) a row need not be a sum of patterns. Several kinds of beginnings share the same few numbers, " +
          "and rare ones keep some weight, blurred. Where there are enough states for all that was seen, a curve gains " +
          "nothing and may do harm, because a nonlinear model is harder to train.",
      ),
      html(
        "p",
        "How a model is trained is another choice: its objective. A model trained from the matrix is fitted to the numbers in H. " +
          "A model trained by likelihood is fitted to the training strings themselves, and then none of them can have weight 0. " +
          "To see what the curve alone changes, train both lanes in the same way.",
      ),
    ];
  }

  table() {
    const { material, state } = this;
    const row = (cells, kind) => {
      const line = html("tr");
      line.append(...cells.map((cell) => html(kind, cell)));
      return line;
    };
    const first = material.hasTruth ? 0 : 1; // the distance to a truth
    const named = (name, scores, rank = "") => {
      const margins = material.marginsOf(name, rank).own[name]?.[rank] ?? [];
      const sure = (value, n) => three(value) + (typeof margins[n] === "number" ? ` ± ${three(margins[n])}` : "");
      return row([name, rank, ...scores.slice(0, 3).map(sure).slice(first), scores[3], scores[4]], "td");
    };
    const body = html("table");
    const titles = SCORES.slice(first).map(([name]) => name);
    body.append(row(["", "states", ...titles, "weight 0", "below 0"], "th"));
    for (const learner of [...LINEAR, ...Object.keys(NETWORKS)]) {
      const rank = rankOf(learner, state);
      const scores = material.entry(learner, rank)?.scores;
      if (scores) body.append(named(learner, scores, rank));
    }
    body.append(named(...material.ngram));
    if (material.truth.scores) body.append(named("truth", material.truth.scores));
    const list = html("div", "", "tested");
    this.listTested(list, this.pair[1][2] && state.learner !== "SP" ? 1 : 0);
    return [
      html("h2", `Scores on ${material.tests.toLocaleString("en")} test strings`),
      body,
      html(
        "p",
        (material.hasTruth ? "TV: total variation over the distinct test strings, from 0 (the truth) to 1 (nothing in common). " : "") +
          "WER: word error rate. Bits: bits per symbol. WER and bits also count the end of a string. ±: how far a score " +
          "might move with other test strings (95%). Weight 0, below 0: how many test strings have such a weight.",
      ),
      list,
    ];
  }

  // The test strings on which a lane's model is most wrong come first.
  listTested(list, which) {
    const { material } = this;
    const truthOf = (word) => material.truthModel.weight(stateAfter(material.truthModel, word));
    const lanes = this.pair.filter(([, , lane]) => lane);
    const rows = material.tested.map(([word, count]) => ({
      word,
      count,
      truth: material.truthModel ? truthOf(word) : count / material.tests,
      weights: lanes.map(([, , lane]) => lane.model.weight(stateAfter(lane.model, word))),
    }));
    const place = Math.min(which, lanes.length - 1);
    // without a truth a string that was drawn once is no measure: those with the least weight come first
    const wrong = ({ truth, weights }) => (material.truthModel ? Math.abs(weights[place] - truth) : -weights[place]);
    if (place >= 0) rows.sort((a, b) => wrong(b) - wrong(a));
    const pick = html("span", "", "pick");
    pick.setAttribute("role", "group");
    pick.setAttribute("aria-label", "By which model");
    lanes.forEach(([name], n) => {
      const button = html("button", name);
      button.type = "button";
      button.setAttribute("aria-pressed", n === place);
      button.addEventListener("click", () => this.listTested(list, n));
      pick.append(button);
    });
    const order = material.truthModel ? "largest error" : "lowest weight";
    const title = html("h2", `Test strings, ${order} first `);
    if (lanes.length > 1) title.append(pick);
    const body = html("table");
    const head = html("tr");
    const known = material.truthModel ? "true" : "share";
    const isOff = material.truthModel && place >= 0;
    const names = ["string", "times", known, ...lanes.map(([name]) => name), ...(isOff ? ["off by"] : [])];
    head.append(...names.map((name) => html("th", name)));
    body.append(head);
    for (const { word, count, truth, weights } of rows.slice(0, MOST_TESTED)) {
      const line = html("tr");
      const [cell, button] = [html("td"), html("button", material.text(word), "link mono")];
      button.type = "button";
      button.title = `Follow ${material.text(word)}`;
      button.addEventListener("click", () => {
        this.find("dialog").close();
        const symbols = word.slice(0, MOST_TAPE);
        this.change({ word: symbols, at: symbols.length });
      });
      cell.append(button);
      const numbers = weights.map((weight) => html("td", written(weight), weight < 0 ? "below" : weight === 0 ? "zero" : ""));
      if (isOff) numbers.push(html("td", written(Math.abs(weights[place] - truth))));
      line.append(cell, html("td", count.toLocaleString("en")), html("td", written(truth)), ...numbers);
      body.append(line);
    }
    const box = html("div", "", "scrolled");
    box.append(body);
    const shown = Math.min(rows.length, MOST_TESTED);
    const rest = shown < material.distinctTests ? ` of ${material.distinctTests.toLocaleString("en")}` : "";
    list.replaceChildren(title, box, html("p", `${shown}${rest} different strings. Click one to follow it in the picture.`, "label"));
  }

  // Beside the pointer on a cell: its string, and its numbers in the matrix that is pointed at.
  tellCell() {
    const { material, state } = this;
    const { i, j } = state.hot ?? {};
    this.tip.hidden = j === undefined;
    if (this.tip.hidden) return;
    const { canvas, x, y } = this.pointed;
    const lane = this.lanes.find(({ heat }) => heat === canvas)?.drawn;
    const cell = i * material.numColumns + j;
    const given = `H ${written(material.H[cell])}`;
    const count = Math.round(material.H[cell] * material.total);
    const seen = `seen ${count.toLocaleString("en")} of ${material.total.toLocaleString("en")} = ${written(material.H[cell])}`;
    const told = lane ? `Ĥ ${written(lane.cells[cell])}${material.hasCounts ? `, ${given}` : ""}` : material.hasCounts ? seen : given;
    const word = `${material.ending(material.prefixes[i], MOST_AFTER)} · ${material.ending(material.suffixes[j], MOST_AFTER)}`;
    this.tip.replaceChildren(html("b", word, "mono"), html("span", told));
    canvas.parentElement.append(this.tip);
    const isLeft = x < canvas.clientWidth / 2;
    Object.assign(this.tip.style, {
      left: isLeft ? `${x + 14}px` : "auto",
      right: isLeft ? "auto" : `${canvas.clientWidth - x + 14}px`,
      top: `${y + 14}px`,
    });
  }

  say() {
    const { material, state } = this;
    const { i, j } = state.hot ?? {};
    const [prefix, suffix] = [
      i === undefined ? null : material.prefixes[i],
      j === undefined ? null : material.suffixes[j],
    ];
    const word = prefix ? prefix.concat(suffix ?? []) : state.word;
    const text = prefix ? material.text(prefix) + (suffix ? ` · ${material.text(suffix)}` : "") : material.text(word);
    const parts = [html("b", text, "mono")];
    if (prefix && suffix && material.hasCounts) {
      const count = Math.round(material.H[i * material.numColumns + j] * material.total);
      parts.push(` seen ${count.toLocaleString("en")} of ${material.total.toLocaleString("en")}`);
    }
    if (material.truthModel)
      parts.push(
        ` ${suffix ? "· " : ""}true ${written(material.truthModel.weight(stateAfter(material.truthModel, word)))}`,
      );
    for (const [name, , lane] of this.pair) {
      const kind = name === "linear" ? "linear" : "network";
      if (lane)
        parts.push(" · ", html("span", `${name} ${written(lane.model.weight(stateAfter(lane.model, word)))}`, kind));
    }
    // weights of a preview change too often to be read aloud
    this.find(".said").setAttribute("aria-live", this.shown.includes(material.preview) ? "off" : "polite");
    this.find(".said").replaceChildren(...parts);
  }

  drawTape() {
    const { material, state } = this;
    this.namePlay();
    const keys = state.word.map((symbol, n) => {
      const button = html("button", material.symbols[symbol], n + 1 === state.at ? "now" : n < state.at ? "read" : "");
      button.type = "button";
      button.setAttribute("aria-label", `Read up to symbol ${n + 1}, ${material.symbols[symbol]}`);
      button.addEventListener("click", () => {
        this.play(false);
        this.change({ at: n + 1 });
      });
      return button;
    });
    this.find(".tape").replaceChildren(...(keys.length ? keys : [html("span", "λ, the empty string", "label")]));
    const typed = this.find(".typed");
    const text = state.word.length ? material.text(state.word) : "";
    if (this.box.getRootNode().activeElement !== typed && typed.value !== text) typed.value = text;
  }
}
