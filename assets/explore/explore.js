// Explore: strings and H, a linear and a nonlinear lane, charts by depth and by rank, a string to
// follow. One state, one `draw`: whatever changes the state calls `change`, which asks for one
// drawing in the next frame. The payload is that of nlwfa_core/display/explore.py, the models are
// those of models.js, and the headline is that of verdict.js, which are put before this file.
// A user's symbols are set as text only: no markup is ever made of them.

const SETTLED_MS = 250; // of the rank, before Python hears it
const PATIENCE_MS = 6000; // for Python to say the same
const RANKS_AT_ONCE = 4; // that one press of a button trains: 1 to 4, 5 to 8 …
const SEEDS = 3; // with which a network is trained, to see whether they agree
const STEP_MS = 700; // of the play button, and of the opening
const SORTING_MS = 1400; // while rows and columns of H travel
const PREVIEW_MS = 200; // from one preview of a training to the next
const NETWORKS = { "fac.non": [true, false], "tran.non": [false, true], "both.non": [true, true] };
const DOES = {
  "fac.non": "a curve in the compression",
  "tran.non": "a curve in every step",
  "both.non": "a curve in both",
};
const LINEAR = ["SP", "PFA"];
const COLOURS = { SP: "linear", PFA: "linear", "fac.non": "fac", "tran.non": "tran", "both.non": "both" };
const SCORES = [
  ["TV", "total variation: distance to the truth"],
  ["WER", "word error rate: wrong guesses of the next symbol"],
  ["bits", "bits per symbol; ∞: a test string has weight 0"],
];
const SCORE_NAMES = ["distance", "errors", "bits"]; // in the address
// How a lane's model is trained: what is chosen -> its name, and what it is.
const WAYS = {
  linear: {
    SP: ["from the matrix", "SP, spectral learning: from the largest singular values of H"],
    PFA: ["by likelihood", "PFA by EM: no weight is below 0, and the best of several starts is kept"],
  },
  objective: {
    hankel: ["from the matrix", "In two steps from the rows of H, as in the paper"],
    likelihood: ["by likelihood", "On what follows each beginning of the training strings"],
  },
};
// The colours of a training's curves, if it has more than one.
const STAGES = { factorisation: "counts", transitions: "fac", refinement: "tran" };
const MOST_BARS = 5; // symbols that are drawn after a prefix
const MOST_TESTED = 200; // test strings in the list of all of them
const MOST_AFTER = 16; // characters of a string in a lane
const MOST_LISTED = 22; // characters of a string in the list of strings, if symbols are words
const MOST_RUNG = 32; // characters of the string below the chart by depth
const MOST_LABEL = 4; // characters below the chart by depth
const MOST_TAPE = 40; // symbols of the string that is followed
const SETTINGS = "[data-testid=stExpandSidebarButton] button, button[data-testid=stExpandSidebarButton]";
const MIDDLE = 1280; // pixels of its width below which the picture is tighter
const NOTED_MS = 1000; // of what is looked at, before Python hears it
const HEARD_MS = 1500; // within which Python may still say what was before
const FEW_SEEN = 30; // test strings that begin with a prefix: with fewer, shares of what follows say little
const MARGIN = 14; // of a matrix: the groups of its rows and columns
const HAS_BLOCKS = 0.9; // the least share of H in its blocks, for states to stand on rings at first
const PALEST = 2e-5; // of the largest entry: paler is not seen

let namespace = ""; // of SVG
// On a slide the picture is drawn larger: how many pixels of the screen one of an element's own takes.
const scaleOf = (node) => node.getBoundingClientRect().width / node.clientWidth || 1;

// A point of the screen in an element's own pixels.
function placeIn(node, { clientX, clientY }) {
  const { left, top } = node.getBoundingClientRect();
  const scale = scaleOf(node);
  return { x: (clientX - left) / scale, y: (clientY - top) / scale };
}

function shape(name, attributes, text) {
  const node = document.createElementNS(namespace, name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  if (text !== undefined) node.textContent = text;
  return node;
}
const isSame = (one, other) => one.length === other.length && one.every((symbol, i) => symbol === other[i]);
const CHOSEN = ["rank", "linearRank", "learner", "objective", "linear"]; // of the state, what Python hears
const chosenOf = (state) => Object.fromEntries(CHOSEN.map((name) => [name, state[name]]));
// Where the rank of a learner's lane is in the state: the linear lane has its own while the lanes are
// unlinked, which needs a nonlinear one.
const rankKey = (learner, state) =>
  state.linearRank && state.learner !== "SP" && LINEAR.includes(learner) ? "linearRank" : "rank";
const rankOf = (learner, state) => state[rankKey(learner, state)];
// What trainings of a learner with other seeds are called between Python and here.
const seedsOf = (learner) => `${learner}, other seeds`;
const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const three = (value) => (typeof value === "number" ? value.toFixed(3) : (value ?? "–"));

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

// What is computed from the payload once: the strings, H, its groups, and each model when it is
// first asked for.
class Material {
  constructor(data) {
    Object.assign(this, data);
    this.trained = {};
    this.seeds = {}; // learner -> rank -> the scores of networks with other seeds
    this.margins = { own: {}, between: {} }; // of scores, and of differences to those of linear models
    this.preview = null; // the lane of a network whose training goes on, with its learner
    this.numPreviews = 0;
    this.numRows = data.prefixes.length;
    this.numColumns = data.suffixes.length;
    this.H = new Float64Array(this.numRows * this.numColumns);
    data.cells.places.forEach((place, n) => {
      this.H[place] = data.cells.values[n];
    });
    this.largest = this.H.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    this.norm = Math.hypot(...this.H) || 1;
    this.often = data.prefixes.map((_, i) => total(this.H.subarray(i * this.numColumns, (i + 1) * this.numColumns)));
    const inBlocks = this.H.reduce((sum, value, n) => {
      const group = data.groups.rows[Math.floor(n / this.numColumns)];
      return group >= 0 && group === data.groups.columns[n % this.numColumns] ? sum + Math.abs(value) : sum;
    }, 0);
    this.firstPlane = inBlocks >= HAS_BLOCKS * total(this.H) ? "rings" : "pca";
    this.hasLongRungs = !data.ladder.isNested && data.ladder.labels.some((label) => label.length > MOST_LABEL);
    this.matrix = new Cells(data.prefixes, data.suffixes);
    const orders = [data.groups.rows, data.groups.columns].map((groups) => placesOf(groups));
    this.orders = {
      state: orders,
      frequency: [data.prefixes, data.suffixes].map((words) => Float64Array.from(words, (_, i) => i)),
    };
    this.numGroups = data.groups.names.length;
    this.spots = Array.from({ length: this.numGroups }, (_, group) => spotOf(group, this.numGroups));
    const seen = new Map();
    this.within = data.groups.rows.map((group) => {
      seen.set(group, (seen.get(group) ?? -1) + 1);
      return seen.get(group);
    });
    this.truthModel = {
      brackets: () => new Brackets(data.truth),
      linear: () => linearOf(data.truth.model, numbers(data.truth.model.initial).length),
    }[data.truth.kind]?.();
    this.hasTruth = Boolean(this.truthModel) && data.truth.scores?.[0] !== null;
    this.made = new Map();
    this.rowOf = new Map(data.prefixes.map((word, row) => [String(word), row]));
  }

  // Models that were trained, in place of those before; what has been computed of the others stays.
  take({ models: trained, margins, seeds = this.seeds }) {
    this.seeds = seeds;
    this.margins = margins;
    for (const key of this.made.keys()) {
      const [learner, rank] = key.split(" ");
      if (learner !== "SP" && !isEqual(this.trained[learner]?.[rank], trained[learner]?.[rank])) this.made.delete(key);
    }
    this.trained = trained;
  }

  // A network as its training has it now. Where there is none, the last one stays until the training
  // has ended, and one of fewer states until that of more states has come as far.
  takePreview(sent) {
    if (!sent || isEqual(sent, this.sentPreview)) return;
    this.sentPreview = sent;
    const lane = this.laneOf(networkOf(sent.model), { learner: sent.learner });
    const { preview } = this;
    if (preview?.learner === lane.learner && preview.model.k < lane.model.k && preview.error < lane.error) return;
    this.preview = lane;
    this.numPreviews++;
  }

  // The linear model of a rank above the highest one that is dragged to, or none.
  takeFurther(json) {
    if (json === this.furtherJson) return;
    this.furtherJson = json;
    this.further = JSON.parse(json);
  }

  // The highest rank of a learner for which there is room here.
  mostOf(learner) {
    return LINEAR.includes(learner) ? this.mostRank : Math.min(this.mostRank, this.mostNetwork);
  }

  // The ranks that are trained with this one, without those that are.
  untrained(learner, rank) {
    const most = Math.min(this.mostOf(learner), Math.ceil(rank / RANKS_AT_ONCE) * RANKS_AT_ONCE);
    return Array.from({ length: most }, (_, n) => n + 1).filter((one) => !this.entry(learner, one));
  }

  // The scores of a network that was trained with other seeds.
  others(learner, rank) {
    return this.seeds[learner]?.[rank] ?? [];
  }

  // How sure the scores of a model are, and their differences to those of others.
  marginsOf(learner, rank) {
    return learner === "SP" && this.further?.rank === rank ? this.further.margins : this.margins;
  }

  // The ranks up to this one of which there are not networks of all seeds.
  unrepeated(learner, rank) {
    return Array.from({ length: rank }, (_, n) => n + 1).filter((one) => this.others(learner, one).length < SEEDS - 1);
  }

  // About how long their training takes, in words.
  timeOf(learner, ranks) {
    const [fresh, grown] = this.costs[learner];
    const seconds = ranks.reduce((sum, rank) => sum + (rank > RANKS_AT_ONCE ? grown : fresh), 0);
    if (seconds < 8) return "some seconds";
    if (seconds <= 50) return `about ${Math.ceil(seconds / 10) * 10} seconds`;
    if (seconds < 90) return "about a minute";
    return seconds < 5400 ? `about ${Math.ceil(seconds / 60)} minutes` : "hours";
  }

  entry(learner, rank) {
    if (learner !== "SP") return this.trained[learner]?.[rank] ?? null;
    if (this.further?.rank === rank) return { ...this.further, training: "exact" };
    const scores = this.linear.scores[rank - 1];
    return scores ? { model: this.linear.model, scores, training: "exact" } : null;
  }

  // The lane of a learner and a rank: its model, states, Ĥ, and what follows from them; null if
  // there is no model to draw.
  lane(learner, rank) {
    const key = `${learner} ${rank}`;
    if (this.made.has(key)) return this.made.get(key);
    const entry = this.entry(learner, rank);
    if (!entry?.model) return null;
    const lane = this.laneOf(LINEAR.includes(learner) ? linearOf(entry.model, rank) : networkOf(entry.model), entry);
    this.made.set(key, lane);
    return lane;
  }

  laneOf(model, entry) {
    const { ends, cells } = this.matrix.estimate(model);
    const far = cells.reduce((sum, value, n) => sum + (this.H[n] - value) ** 2, 0);
    const ladder = this.ladder.words.map((word) => model.weight(stateAfter(model, word)));
    const lane = {
      ...entry,
      model,
      cells,
      ladder,
      error: Math.sqrt(far) / this.norm,
      ends,
      planes: {},
      lost: ends.filter((z) => model.isLost(z)).length,
      hasNegative: cells.some((value) => value < -PALEST * this.largest),
      hasExcess: cells.some((value, n) => value - this.H[n] > PALEST * this.largest),
    };
    lane.reach = this.reachOf(ladder);
    return lane;
  }

  // ‖H − Ĥ‖ / ‖H‖ of the best matrix of a rank (Eckart and Young), null where only a part of H is here.
  bestError(rank) {
    if (this.numRows < this.whole[0] || this.numColumns < this.whole[1]) return null;
    const kept = total(this.singular.slice(0, rank).map((value) => value ** 2));
    return Math.sqrt(Math.max(0, 1 - kept / this.norm ** 2));
  }

  // Where a lane's states stand: {points, put}, and the share of the variance of principal components.
  // Coordinates go from −1 to 1; the zero state has no place.
  plane(lane, kind) {
    return (lane.planes[kind] ??= kind === "pca" ? this.principal(lane) : this.rings(lane));
  }

  rings({ model, ends, cells }) {
    return {
      points: ends.map((_, i) => this.pointOf(cells.subarray(i * this.numColumns, (i + 1) * this.numColumns))),
      put: (z) => this.pointOf(this.matrix.row(model, z)),
    };
  }

  principal({ model, ends }) {
    const pointOf = (z) => {
      const point = model.isLost(z) ? [NaN] : model.pointOf(z);
      return point.every(Number.isFinite) ? point : null;
    };
    const points = ends.map(pointOf);
    const alive = points.filter(Boolean);
    if (!alive.length) return { points, put: () => null, share: 0 };
    const weights = this.often.filter((_, i) => points[i]);
    const { place, share } = principalPlane(alive, weights);
    const sides = [0, 1].map((axis) => alive.map((point) => place(point)[axis]));
    const [low, high] = [Math.min, Math.max].map((most) => sides.map((side) => most(...side)));
    const reach = Math.max(high[0] - low[0], high[1] - low[1]) / 2 || 1;
    const scaled = (value, axis) => (value - (low[axis] + high[axis]) / 2) / reach;
    const put = (z) => {
      const point = pointOf(z);
      // a string that is followed may lead out of the picture
      return point && place(point).map((value, axis) => Math.min(1.1, Math.max(-1.1, scaled(value, axis))));
    };
    return { points: ends.map(put), put, share };
  }

  // A state stands at the mean place of the endings that it expects, Σ |Ĥ[u, v]| place(v) / Σ |Ĥ[u, v]|;
  // the zero state has no place.
  pointOf(row) {
    let [size, x, y] = [0, 0, 0];
    row.forEach((value, j) => {
      const group = this.groups.columns[j];
      if (group < 0) return;
      const weight = Math.abs(value);
      size += weight;
      x += weight * this.spots[group][0];
      y += weight * this.spots[group][1];
    });
    return size > 0 && Number.isFinite(size) ? [x / size, y / size] : null;
  }

  // How many of the ladder's strings have a weight within a factor of 2 of the truth, which is known of
  // them all; where each string holds the one before, only those before the first that is wrong. Null if
  // the truth is known of none.
  reachOf(ladder) {
    const { truth, isNested } = this.ladder;
    if (!truth.some((value) => value > 0)) return null;
    const right = ladder.map((value, d) => value > truth[d] / 2 && value < truth[d] * 2);
    if (!isNested) return right.filter(Boolean).length;
    const wrong = right.indexOf(false);
    return wrong < 0 ? ladder.length : wrong;
  }

  // Shares of what truly follows a word, with the end last; null if it is not known.
  truly(word) {
    if (this.truthModel)
      return shares(this.truthModel.scores(stateAfter(this.truthModel, word))) ?? this.symbols.map(() => 0).concat(0);
    const known = this.truth.next?.[this.rowOf.get(String(word))];
    return known ? [...this.symbols.map((_, symbol) => known[symbol] ?? 0), known.end ?? 0] : null;
  }

  text(word) {
    return word.map((symbol) => this.symbols[symbol]).join(this.separator) || "λ";
  }

  // A word as a text of at most so many characters, or of its last symbol: its end tells more than its
  // beginning.
  ending(word, most) {
    const whole = this.text(word);
    if (whole.length <= most) return whole;
    const cut = (from) => `…${this.text(word.slice(from))}`;
    const from = word.findIndex((_, n) => cut(n).length <= most);
    return from > 0 ? cut(from) : cut(word.length - 1);
  }

  // A text as a word. Symbols that are not known become the one for the unknown, or are left out.
  read(text) {
    const whole = text.trim();
    if (whole === "λ" && !this.symbols.includes("λ")) return []; // the empty string, as `text` writes it
    const isSpaced = this.unknown >= 0 && (/\s/.test(whole) || whole === this.symbols[this.unknown]);
    const parts = this.inTokens || isSpaced ? whole.split(/\s+/).filter(Boolean) : [...whole];
    return parts
      .map((part) => this.symbols.indexOf(part))
      .map((symbol) => (symbol < 0 ? this.unknown : symbol))
      .filter((symbol) => symbol >= 0)
      .slice(0, MOST_TAPE);
  }
}

// The place of each row if rows are ordered by group; those that belong to none come last.
function placesOf(groups) {
  const order = groups
    .map((_, i) => i)
    .sort((a, b) => (groups[a] < 0) - (groups[b] < 0) || groups[a] - groups[b] || a - b);
  const places = new Float64Array(groups.length);
  order.forEach((row, place) => {
    places[row] = place;
  });
  return places;
}

// Groups stand on an arc, so that no two lie in line with a third.
function spotOf(group, count) {
  if (count === 1) return [0, 0];
  const angle = Math.PI * (1.16 - (1.32 * group) / (count - 1));
  return [0.9 * Math.cos(angle), 1.05 * Math.sin(angle) - 0.25];
}

class Lane {
  constructor(explore, isLower) {
    this.explore = explore;
    this.isLower = isLower;
    this.root = html("article", "", `card lane ${isLower ? "lower" : "upper"}`);
    this.head = html("div", "", "head");
    this.sub = html("span", "", "sub");
    this.scored = html("span", "", "scored");
    this.stop = this.button("Cancel", "link", () => explore.cancel(this.learner));
    this.head.append(html("h2", isLower ? "Nonlinear" : "Linear"), this.ways(), this.sub, this.stop, this.scored);
    const picture = (kind) => {
      const box = html("div", "", kind);
      const canvas = html("canvas");
      canvas.setAttribute("role", "img");
      box.append(canvas);
      return [box, canvas];
    };
    const [matrix, heat] = picture("matrix");
    const [plane, dots] = picture("plane");
    Object.assign(this, { heat, dots, matrix, plane });
    this.captions = ["caption flips", "caption", "caption after"].map((kind) => html("p", "", kind));
    this.caption = html("span");
    this.flip = this.button("", "link", () => explore.change({ showsTraining: !explore.state.showsTraining }));
    this.captions[0].append(this.caption, this.flip);
    this.losses = html("div", "", "losses");
    this.next = html("div", "", "next");
    this.missing = html("div", "", "missing");
    this.what = html("p");
    this.what.setAttribute("aria-live", "polite");
    this.train = this.button("", "", () => explore.train(this.learner));
    this.room = this.button("Go to Train", "", () => explore.enter("train"));
    this.quit = this.button("Cancel", "", () => explore.cancel(this.learner));
    this.note = html("p", "", "label");
    this.missing.append(this.what, this.train, this.room, this.quit, this.note);
    this.root.append(this.head, ...this.captions, matrix, this.losses, plane, this.next, this.missing);
    explore.listenMatrix(heat);
    dots.addEventListener("pointermove", (event) => explore.hover(this.dotAt(event)));
    dots.addEventListener("pointerleave", () => explore.hover(null));
    dots.addEventListener("click", (event) => explore.follow(this.dotAt(event)));
  }

  button(text, className, act) {
    const button = Object.assign(html("button", text, className), { type: "button" });
    button.addEventListener("click", act);
    return button;
  }

  // The switch of how the model is trained.
  ways() {
    const kind = this.isLower ? "objective" : "linear";
    const pick = html("span", "", "pick");
    pick.dataset.pick = kind;
    pick.setAttribute("role", "group");
    pick.setAttribute("aria-label", `How the ${this.isLower ? "nonlinear" : "linear"} model is trained`);
    for (const [value, [name, title]] of Object.entries(WAYS[kind])) {
      const button = Object.assign(html("button", name), { type: "button", title });
      button.dataset.value = value;
      pick.append(button);
    }
    pick.addEventListener("click", ({ target: { dataset } }) => {
      if (dataset.value) this.explore.choose({ [kind]: dataset.value });
    });
    return pick;
  }

  // The lower lane shows the linear model again where nothing is bent.
  get isCopy() {
    return this.isLower && !NETWORKS[this.explore.state.learner];
  }

  learnerIn({ learner, linear }) {
    return this.isLower && NETWORKS[learner] ? learner : linear;
  }

  modelIn(state) {
    const learner = this.learnerIn(state);
    return [learner, rankOf(learner, state)];
  }

  get learner() {
    return this.learnerIn(this.explore.state);
  }

  get rank() {
    return rankOf(this.learner, this.explore.state);
  }

  get drawn() {
    return this.explore.drawn(this.learner, this.rank);
  }

  // Bars for what follows: of at most MOST_BARS symbols, of all others together, and of the end.
  build(material) {
    const names =
      material.symbols.length > MOST_BARS
        ? Array.from({ length: MOST_BARS }, () => "").concat("others")
        : [...material.symbols];
    this.bars = [...names, "end"].map((name) => {
      const [row, track, label, value] = [
        html("div", "", "row"),
        html("div", "", "track"),
        html("b", name),
        html("span", "", "value"),
      ];
      const [own, real] = [html("div", "", "own"), html("div", "", "true")];
      track.append(own, real);
      row.append(label, track, value);
      return { row, label, own, real, value };
    });
    this.says = html("p", "", "says");
    const longest = Math.max(...names.map((name) => name.length), ...material.symbols.map((name) => name.length));
    this.next.classList.toggle("many", names.length > MOST_BARS);
    this.next.style.setProperty("--letters", longest); // so that all bars start on one line
    this.next.replaceChildren(...this.bars.map((bar) => bar.row), this.says);
    this.points = this.start = null;
  }

  dotAt({ clientX, clientY }) {
    const at = placeIn(this.dots, { clientX, clientY });
    let [best, near] = [null, 12];
    this.points?.forEach(([x, y], i) => {
      const far = Math.hypot(x - at.x, y - at.y);
      if (far < near) [near, best] = [far, { i }];
    });
    return best;
  }

  // Texts and bars: once a change.
  update() {
    const { material } = this.explore;
    const { learner } = this;
    const entry = material.entry(learner, this.rank);
    const lane = this.drawn;
    const isStandIn = Boolean(lane) && !entry;
    this.root.classList.toggle("same", this.isCopy);
    this.root.classList.toggle("unfinished", isStandIn);
    const going = lane && this.explore.told[learner]?.text; // otherwise it stands in the lane
    const size = this.explore.isUnlinked ? `${states(this.rank)} · ` : "";
    this.sub.textContent = this.isCopy
      ? "no curve: the model above, again"
      : isStandIn
        ? this.standsIn(lane)
        : size + (going || this.about(learner, entry));
    this.sub.title = this.sub.textContent;
    this.scored.replaceChildren(...this.score(entry?.scores));
    const isThere = Boolean(lane);
    const curves =
      this.isLower && !this.isCopy && isThere && entry ? lane.curves.filter(({ points }) => points.length) : [];
    const showsTraining = curves.length > 0 && this.explore.state.showsTraining;
    for (const part of [...this.captions, this.plane, this.next]) part.hidden = !isThere;
    this.matrix.hidden = !isThere || showsTraining;
    this.losses.hidden = !showsTraining;
    this.flip.hidden = !curves.length;
    this.flip.textContent = showsTraining ? "Ĥ" : "training";
    this.missing.hidden = isThere;
    this.stop.hidden = this.isCopy || !going;
    if (!isThere) this.tellMissing(entry);
    else this.tell(lane);
    if (showsTraining) this.tellTraining(curves);
  }

  // What is drawn while the model is trained.
  standsIn(lane) {
    const { told, material } = this.explore;
    const size = lane.model.k < this.rank ? `${lane.model.k} of ${states(this.rank)}` : states(this.rank);
    return `${lane === material.preview ? "preview: " : ""}${size}, ${told[this.learner].doing}`;
  }

  about(learner, entry) {
    if (learner === "SP") return "SP: matrices only";
    if (learner === "PFA") {
      const starts = entry?.starts > 1 ? `, best of ${entry.starts} starts` : entry ? ", one start" : "";
      return `PFA by EM: weights ≥ 0${starts}`;
    }
    const training = entry?.training === "not finished" ? " · training not finished" : "";
    return `${learner}: ${DOES[learner]}${training}`;
  }

  score(scores) {
    if (!scores) return [];
    const { before: was, material } = this.explore;
    const before = was && material.entry(...this.modelIn(was))?.scores;
    return SCORES.slice(0, 2).flatMap(([name], n) => {
      if (scores[n] === null && n === 0) return [];
      const change = before && before[n] !== scores[n] && before[n] !== null ? ` was ${three(before[n])}` : "";
      return [
        html("span", `${n && scores[0] !== null ? "\u2002·\u2002" : ""}${name} ${three(scores[n])}`),
        html("small", change),
      ];
    });
  }

  tellMissing(entry) {
    const { explore, learner, rank } = this;
    const { material } = explore;
    const { text, failed } = explore.told[learner] ?? {};
    const isStarting = explore.starting === learner;
    const isKnown = learner === "SP" || entry || !explore.isWhole;
    const canTrain = !isKnown && (learner === "PFA" || material.objective === "likelihood");
    const ranks = canTrain && rank <= material.mostOf(learner) ? material.untrained(learner, rank) : [];
    const isTraining = !isKnown && Boolean(text);
    const isOffered = ranks.length > 0 && !isTraining && !isStarting;
    const hadFocus = this.missing.contains(this.missing.getRootNode().activeElement);
    const said = isStarting && !text ? "starting …" : isTraining ? text : this.why(entry, isKnown, failed);
    if (this.what.textContent !== said) this.what.textContent = said;
    const span = ranks.length > 1 ? `${ranks[0]} to ${states(ranks.at(-1))}` : states(ranks[0]);
    this.train.textContent = `Train ${span}`;
    this.train.hidden = !isOffered;
    this.room.hidden = isKnown || isOffered || isTraining || isStarting;
    this.quit.hidden = !isTraining;
    this.note.hidden = isKnown || !(isOffered || isTraining);
    this.note.textContent = isTraining
      ? "Each model is drawn as soon as it is trained."
      : `It takes ${ranks.length ? material.timeOf(learner, ranks) : ""}, and each is drawn as soon as it is trained.`;
    if (hadFocus && !this.quit.hidden) this.quit.focus();
  }

  // Why there is nothing to draw.
  why(entry, isKnown, failed) {
    const { material } = this.explore;
    if (this.learner === "SP")
      return material.linear.why || `Ranks above ${material.linear.scores.length} are not drawn here.`;
    if (isKnown) return entry?.why ?? "";
    if (failed) return `The training failed: ${failed}`;
    const isLinear = LINEAR.includes(this.learner);
    const [name, way] = isLinear
      ? [`A ${this.learner}`, ""]
      : [this.learner, `, ${WAYS.objective[material.objective][0]}`];
    return `${name} with ${states(this.rank)} has not been trained on these strings${way}.`;
  }

  tell(lane) {
    const { material, state } = this.explore;
    const off = `${Math.round(lane.error * 100)}% off H`;
    const below = lane.hasNegative ? ", orange < 0" : "";
    const over = lane.hasExcess ? ", orange: too much" : "";
    this.caption.textContent =
      state.show === "estimate"
        ? `Ĥ: ${material.hasCounts ? off : "weights of strings"}${below}`
        : `H − Ĥ${material.hasCounts ? `: ${off}` : ""}${over}`;
    this.caption.title = material.hasCounts ? this.distance(lane) : "";
    const lost = lane.lost ? `${lane.lost} of ${material.numRows}` : "";
    const why = lost && `${lost} beginnings have no state left: weight 0, whatever follows. `;
    if (this.explore.plane === "pca") {
      const share = percent(material.plane(lane, "pca").share);
      this.captions[1].textContent = lost ? `PCA ${share}; ${lost}: no state left` : `PCA: ${share} of the variance`;
      this.captions[1].title = `${why}First two principal components: ${share} of the variance of the states`;
    } else {
      this.captions[1].textContent = lost ? `${lost} have no state left` : "One dot for each beginning";
      this.captions[1].title = `${why}A dot is the state after a beginning`;
    }
    this.heat.setAttribute("aria-label", `${this.caption.textContent} (${this.isLower ? "nonlinear" : "linear"})`);
    this.dots.setAttribute("aria-label", `${this.captions[1].textContent} (${this.isLower ? "nonlinear" : "linear"})`);
    this.expect(lane.model);
  }

  // How far Ĥ is from H, and the best matrix of the same rank, which need not be an automaton's.
  distance(lane) {
    const { material } = this.explore;
    const { k } = lane.model;
    const best = material.bestError(k);
    const said =
      `How far the matrix is off, not the predictions on test strings. ‖H − Ĥ‖ / ‖H‖ = ${written(lane.error)}: ` +
      "Ĥ is the weight that the model gives each cell's string.";
    return best === null ? said : `${said} The best matrix of rank ${k}, from the SVD alone: ${written(best)}.`;
  }

  // How the network was trained: the loss of each stage by epoch, and how it ended. Of stages with
  // different losses the last ones are drawn.
  tellTraining(curves) {
    const { measure } = curves.at(-1);
    const drawn = curves.filter((curve) => curve.measure === measure);
    const colourOf = (stage) => this.explore.colour((curves.length > 1 && STAGES[stage]) || "network");
    const lines = curves.map(({ stage, verdict }) => {
      const line = html("p");
      const name = html("b", `${stage} `);
      name.style.color = colourOf(stage);
      line.append(name, verdict.split(":")[0]);
      line.title = verdict;
      return line;
    });
    const svg = shape("svg", { role: "img" });
    svg.setAttribute(
      "aria-label",
      `Loss by epoch. ${curves.map(({ stage, verdict }) => `${stage}: ${verdict}`).join(". ")}`,
    );
    this.caption.textContent = measure[0].toUpperCase() + measure.slice(1);
    this.losses.replaceChildren(svg, ...lines);
    this.lossChart = { svg, curves: drawn, colourOf };
  }

  drawLosses() {
    const { explore } = this;
    if (this.losses.hidden) return;
    const { svg, curves, colourOf } = this.lossChart;
    const { width, height } = explore.sizes.get(svg);
    if (!width) return;
    const { isLogarithmic } = curves[0];
    const points = curves.flatMap((curve) => curve.points);
    const losses = points.map(([, loss]) => loss);
    const last = Math.max(1, ...points.map(([epoch]) => epoch));
    const scale = isLogarithmic ? Math.log10 : Number;
    const ends = [Math.max(...losses), Math.min(...losses)];
    const [high, low] = isLogarithmic ? [Math.ceil(scale(ends[0])), Math.floor(scale(ends[1]))] : ends;
    const [top, bottom, left, right] = [16, height - 18, isLogarithmic ? 32 : 6, width - 8];
    const x = (epoch) => left + (isLogarithmic ? scale(epoch) / (scale(last) || 1) : epoch / last) * (right - left);
    const y = (value) => bottom - (high > low ? (value - low) / (high - low) : 0.5) * (bottom - top);
    const step = Math.max(1, Math.ceil((high - low) / 4));
    const ticks = isLogarithmic
      ? Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, n) => [
          low + n * step,
          powerOfTen(low + n * step),
        ])
      : writtenApart(...ends, 4).map((text, n) => [ends[n], text]);
    const named = ticks.map(([value, text]) =>
      isLogarithmic
        ? shape("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, text)
        : shape("text", { x: left, y: y(value) - 3 }, text),
    );
    svg.replaceChildren(
      ...ticks.map(([value]) =>
        shape("line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke: explore.colour("line") }),
      ),
      ...curves.map(({ stage, points: own }) => {
        const line = own.map(([epoch, loss]) => `${x(epoch)},${y(scale(loss))}`).join(" ");
        const end = own.length === 1 ? 8 : 2.2; // a stage that was solved exactly is a dot
        return shape("polyline", {
          points: own.length === 1 ? `${line} ${line}` : line,
          fill: "none",
          stroke: colourOf(stage),
          "stroke-width": end,
          "stroke-linecap": "round",
          "stroke-linejoin": "round",
        });
      }),
      ...named,
      shape("text", { x: left, y: height - 3 }, isLogarithmic ? 1 : 0),
      shape(
        "text",
        { x: right, y: height - 3, "text-anchor": "end" },
        `${last.toLocaleString("en")} ${last === 1 ? "epoch" : "epochs"}`,
      ),
    );
  }

  expect(model) {
    const { material, followed: word, followers: shown } = this.explore;
    const own = shares(model.scores(stateAfter(model, word)));
    const real = material.truly(word);
    const end = material.symbols.length;
    const caption = [html("span", "after "), html("b", material.ending(word, MOST_AFTER), "mono")];
    if (real) caption.unshift(html("span", material.truth.name, "band bar"));
    this.captions[2].replaceChildren(...caption);
    this.captions[2].title = `after ${material.text(word)}`;
    if (end > MOST_BARS)
      shown.forEach((symbol, n) => {
        this.bars[n].label.textContent = this.bars[n].label.title = material.symbols[symbol];
      });
    const rest = (values) =>
      values && Math.max(0, 1 - values[end] - shown.reduce((sum, symbol) => sum + values[symbol], 0));
    const pick = (values) =>
      values && [...shown.map((symbol) => values[symbol]), ...(end > MOST_BARS ? [rest(values)] : []), values[end]];
    const [mine, truly] = [pick(own), pick(real)];
    this.bars.forEach((bar, n) => {
      bar.label.classList.toggle("mono", n < shown.length);
      bar.own.style.width = `${(mine?.[n] ?? 0) * 100}%`;
      bar.real.style.width = `${(truly?.[n] ?? 0) * 100}%`;
      bar.real.hidden = !truly;
      bar.value.textContent = mine ? mine[n].toFixed(2) : "–";
    });
    const [strong, others] = this.opinion(own, real, word);
    this.says.replaceChildren(html("b", strong), others);
  }

  // What the bars say, in words.
  opinion(own, real, word) {
    const { material } = this.explore;
    const isNested = material.ladder.isNested;
    if (!own) {
      const depth = word.reduce((open, symbol) => open + (symbol ? -1 : 1), 0);
      return ["Lost:", `${isNested && depth > 0 ? `no state for ${depth} open, so ` : ""}weight 0, whatever follows.`];
    }
    if (!real) return ["", ""];
    const seen = this.explore.material.truth.seen?.[material.rowOf.get(String(word))] ?? Infinity;
    if (seen < FEW_SEEN) return [`Grey: ${seen === 1 ? "1 test string" : `${seen} test strings`},`, "too few to judge by."];
    if (!real.some((share) => share > 0))
      return [isNested ? "Not a bracket string," : "Not a possible string,", "but the model has an opinion."];
    const gaps = own.map((share, n) => Math.abs(share - real[n]));
    const most = Math.max(...gaps);
    const name = (n) => (n === material.symbols.length ? "the end" : material.symbols[n]);
    if (isNested && real[0] > 0.05 && own[0] < 0.005) {
      const depth = word.reduce((open, symbol) => open + (symbol ? -1 : 1), 0);
      return ["Sure that it must close:", `no state for depth ${depth + 1}.`];
    }
    if (most < 0.005) return ["As in the grey bars", "to two digits."];
    if (most <= 0.1) return ["Close to the grey bars,", `within ${most.toFixed(2)}.`];
    const worst = gaps.indexOf(most);
    return [
      `Expects ${name(worst)} too ${own[worst] > real[worst] ? "often" : "rarely"},`,
      `by ${most.toFixed(2)} against the grey bars.`,
    ];
  }

  // Pictures: every frame of a movement.
  draw(share, isNew) {
    const { material, state } = this.explore;
    const lane = this.drawn;
    if (!lane) return;
    const { H, numColumns } = material;
    const cell =
      state.show === "difference"
        ? (i, j) => H[i * numColumns + j] - lane.cells[i * numColumns + j]
        : (i, j) => lane.cells[i * numColumns + j];
    if (isNew) this.explore.drawMatrix(this.heat, cell, COLOURS[this.learner]);
    this.drawPlane(lane, share);
  }

  drawPlane(lane, share) {
    const { explore } = this;
    const { material, state, colour } = explore;
    const { pen, width, height } = explore.penOf(this.dots);
    if (!width) return;
    const tray = 26;
    const room = Math.min(width, height - tray) / 2 - 14;
    const spot = ([x, y]) => [width / 2 + x * room, (height - tray) / 2 + 2 - y * room];
    // lost states stand in at most three rows
    const [wide, inRow] = [width - 50, Math.ceil(lane.lost / 3)];
    const across = Math.max(Math.floor(wide / 6.4), inRow);
    const apart = Math.min(6.4, wide / across);
    let lost = 0;
    const crowds = new Map(); // a spot -> how many states stand there
    const crowdedAt = (x, y) => {
      const key = `${Math.round(x / 3)} ${Math.round(y / 3)}`;
      crowds.set(key, (crowds.get(key) ?? -1) + 1);
      return crowds.get(key);
    };
    const plane = material.plane(lane, explore.plane);
    const isPrincipal = explore.plane === "pca";
    const goal = plane.points.map((point, i) => {
      if (!point) {
        const place = lost++;
        return [44 + (place % across) * apart, height - 18 + Math.floor(place / across) * 7];
      }
      const [x, y] = spot(point);
      const seed = isPrincipal ? crowdedAt(x, y) : material.within[i];
      const turn = seed * 2.4; // equal states like a sunflower's seeds
      const far = (width / 90) * Math.sqrt(seed);
      return [x + far * Math.cos(turn), y + far * Math.sin(turn)];
    });
    this.points =
      share === 1 || !this.start
        ? goal
        : goal.map(([x, y], i) => [
            this.start[i][0] + share * (x - this.start[i][0]),
            this.start[i][1] + share * (y - this.start[i][1]),
          ]);
    this.names = []; // where texts stand
    if (!isPrincipal) this.drawRings(pen, spot, width, (height - tray) / 2);
    this.points.forEach(([x, y], i) => {
      const isLost = !plane.points[i];
      pen.beginPath();
      pen.arc(x, y, isLost ? 2.4 : Math.max(2.8, Math.min(4.4, width / 58)), 0, 7);
      pen.globalAlpha = 0.8;
      pen.fillStyle = pen.strokeStyle = explore.groupColour(material.groups.rows[i]);
      pen.lineWidth = 1.3;
      if (isLost) pen.stroke();
      else pen.fill();
    });
    pen.globalAlpha = 1;
    if (lost) {
      // states that are exactly 0 point nowhere
      pen.strokeStyle = colour("line");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(8, height - tray + 1.5);
      pen.lineTo(width - 8, height - tray + 1.5);
      pen.stroke();
      pen.fillStyle = colour("muted");
      pen.font = `${explore.letter(12)} ${explore.font}`;
      pen.fillText("lost", 10, height - 9);
    }
    this.drawPath(pen, lane, spot, width, share);
    if (state.hot && this.points[state.hot.i]) {
      const point = this.points[state.hot.i];
      ring(pen, point, 7, null, colour("cut"));
      this.label(pen, material.ending(material.prefixes[state.hot.i], MOST_AFTER), point, colour("cut"), width);
    }
  }

  drawRings(pen, spot, width, middle) {
    const { explore } = this;
    const { material } = explore;
    pen.textAlign = "center";
    for (let group = 0; group < material.numGroups; group++) {
      const [x, y] = spot(material.spots[group]);
      const [dx, dy] = [x - width / 2, y - middle - 30];
      const far = Math.hypot(dx, dy) || 1;
      const reach = width / 16 + 10;
      pen.beginPath();
      pen.arc(x, y, width / 16, 0, 7);
      pen.strokeStyle = explore.groupColour(group);
      pen.lineWidth = 1.2;
      pen.globalAlpha = 0.55;
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillStyle = explore.colour("muted");
      pen.font = `700 ${explore.letter(12)} ${explore.font}`;
      const name = material.groups.names[group];
      // a name is on its ring's side of the middle, where no other one is
      const [half, side] = [Math.min(pen.measureText(name).width + 6, width / 2 - 2) / 2, Math.round(dx)];
      const [low, high] = [side > 0 ? width / 2 + half : half, side < 0 ? width / 2 - half : width - half];
      const left = Math.min(high, Math.max(low, x + (dx / far) * (reach + half - 6)));
      const top = y + (dy / far) * reach + 4;
      pen.fillText(name, left, top, 2 * half - 6);
      this.names.push([left - half, top, 2 * half]);
    }
    pen.textAlign = "left";
  }

  // The string that is followed, from λ to here; it ends where the state is 0.
  drawPath(pen, lane, spot, width, share) {
    const { explore } = this;
    const { material, state, colour } = explore;
    const path = this.pathOf(lane).map((point) => point && spot(point));
    const end = path.findIndex((point) => !point);
    const alive = end < 0 ? path : path.slice(0, end);
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.globalAlpha = 0.75 * share;
    pen.beginPath();
    alive.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    if (!alive.length) return;
    if (state.at > 0) {
      ring(pen, alive[0], 5, colour("card"), colour("ink"));
      this.label(pen, "λ", alive[0], colour("ink"), width);
    }
    if (end < 0) ring(pen, alive.at(-1), 7.5, colour("cut"), colour("card"));
    if (state.hot) return; // one beginning has its name at a time
    if (end < 0) {
      const text = material.ending(state.word.slice(0, state.at), MOST_AFTER);
      this.label(pen, text, alive.at(-1), colour("cut"), width);
    } else {
      // nearer the middle, where no ring has its name
      const [x, y] = alive.at(-1);
      const wide = 12 * 8 + 20; // the text's width
      this.label(pen, "then nothing", [x + 0.4 * (width / 2 - x) - wide / 2, y + 0.4 * (width / 2 - y) + 14], colour("cut"), width);
    }
  }

  label(pen, text, [x, y], fill, width) {
    pen.font = `600 ${this.explore.letter(13)} ${this.explore.mono}`;
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = this.explore.colour("card");
    pen.fillStyle = fill;
    const wide = pen.measureText(text).width;
    const within = (left) => Math.min(width - wide - 4, Math.max(4, left));
    // above the point, or where no other name stands
    const places = [y - 9, y + 21, y - 24, y + 36].flatMap((top) => [
      [within(x + 10), Math.max(14, top)],
      [within(x - 10 - wide), Math.max(14, top)],
    ]);
    const [left, top] = places.find(([at, base]) => !this.names.some((box) => meets(box, [at, base, wide]))) ?? places[0];
    this.names.push([left, top, wide]);
    pen.strokeText(text, left, top);
    pen.fillText(text, left, top);
  }

  // A place for each symbol that was read, λ's first; kept until something changes.
  pathOf(lane) {
    const { material, state, plane } = this.explore;
    const { model } = lane;
    const key = [this.learner, this.rank, plane, state.word, state.at].join(" ");
    if (this.path?.key !== key || this.path.model !== model) {
      let z = model.initial;
      const { put } = material.plane(lane, plane);
      const points = [put(z)];
      for (const symbol of state.word.slice(0, state.at)) {
        z = model.step(z, symbol);
        points.push(put(z));
      }
      this.path = { key, model, points };
    }
    return this.path.points;
  }
}

// Whether two lines of text meet: each is [left, the line that it stands on, width].
const meets = ([left, top, wide], [other, base, width]) => left < other + width && other < left + wide && Math.abs(top - base) < 13;

function ring(pen, [x, y], radius, fill, line) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.lineWidth = 2;
  if (fill) {
    pen.fillStyle = fill;
    pen.fill();
  }
  pen.strokeStyle = line;
  pen.stroke();
}

// A cut that is dragged, or moved by keys: through the singular values; while the lanes are unlinked,
// that one is the linear lane's, and the nonlinear lane has another one, through its states.
class Cut {
  constructor(explore, svg) {
    Object.assign(this, { explore, svg, isLower: svg.classList.contains("lower") });
    const move = (event) => {
      this.dragging = this.placeOf(event);
      const rank = Math.max(1, Math.round(this.dragging));
      if (rank === this.rank) explore.change();
      else explore.choose({ [this.key]: rank });
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      move(event);
    });
    svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && move(event));
    for (const kind of ["pointerup", "pointercancel"])
      svg.addEventListener(kind, () => {
        this.dragging = undefined;
        explore.change();
        if (explore.asking) explore.ask();
      });
    svg.addEventListener("keydown", (event) => {
      const { rank } = this;
      const most = explore.material.mostRank;
      if (rank > most && ["ArrowRight", "ArrowUp"].includes(event.key)) return;
      const wanted = {
        ArrowRight: rank + 1,
        ArrowUp: rank + 1,
        ArrowLeft: rank - 1,
        ArrowDown: rank - 1,
        Home: 1,
        End: most,
      }[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      explore.choose({ [this.key]: Math.min(most, Math.max(1, wanted)) });
    });
  }

  // Where the rank is in the state.
  get key() {
    return this.isLower ? "rank" : rankKey("SP", this.explore.state);
  }

  get rank() {
    return this.explore.state[this.key];
  }

  get columns() {
    const { material } = this.explore;
    return Math.max(material.singular.length, material.mostRank);
  }

  placeOf({ clientX }) {
    const box = this.svg.getBoundingClientRect();
    return Math.min(this.explore.material.mostRank, Math.max(0.6, ((clientX - box.left) / box.width) * this.columns));
  }

  draw() {
    const { explore, svg, rank, columns, isLower } = this;
    const { isUnlinked } = explore;
    const width = explore.sizes.get(svg).width || 384;
    const key = [explore.id, explore.theme, width, this.dragging, isUnlinked, rank, explore.state.rank].join(" ");
    if (key === this.drawnKey || (isLower && !isUnlinked)) return;
    this.drawnKey = key;
    const height = isLower ? 24 : isUnlinked ? 42 : 66;
    const step = width / columns;
    const base = isUnlinked ? 40 : 52;
    const x = Math.min(this.dragging ?? rank, columns) * step - 0.5;
    const isRight = x > width - 110;
    const middle = isLower ? height / 2 : 10;
    const text = isUnlinked ? `${rank} ${isLower ? "nonlinear" : "linear"}` : states(rank);
    svg.replaceChildren(
      ...(isLower ? this.dots(step, middle) : this.bars(step, base)),
      ...(isUnlinked ? [] : this.numbers(step, height)),
      ...(isLower
        ? []
        : [shape("line", { x1: x, x2: x, y1: 2, y2: base + 2, stroke: explore.colour("cut"), "stroke-width": 3 })]),
      shape("circle", { cx: x, cy: middle, r: 8, fill: explore.colour("cut") }),
      shape(
        "text",
        { x: x + (isRight ? -14 : 14), y: middle + 5, class: "rank", "text-anchor": isRight ? "end" : "start" },
        text,
      ),
    );
    svg.setAttribute(
      "aria-label",
      isUnlinked ? `States of the ${isLower ? "nonlinear" : "linear"} model` : "Rank: number of states",
    );
    svg.setAttribute("aria-valuemax", Math.max(explore.material.mostRank, rank));
    svg.setAttribute("aria-valuenow", rank);
    svg.setAttribute("aria-valuetext", states(rank));
  }

  // Singular values, and those that are kept.
  bars(step, base) {
    const { material } = this.explore;
    const logs = material.singular.map((value) => Math.log10(Math.max(value, Number.MIN_VALUE)));
    const shown = logs.slice(0, Math.min(material.numericalRank, this.columns));
    const least = Math.max(Math.min(...shown, logs[0] - 1), logs[0] - 6); // from one power of ten to six
    return Array.from({ length: this.columns }, (_, n) => {
      const share = (logs[n] - least) / (logs[0] - least || 1);
      const high = n < logs.length ? Math.max(3, 4 + share * (base - 14)) : 2;
      return shape("rect", {
        x: n * step + 2,
        y: base - high,
        width: Math.max(1, step - 5),
        height: high,
        rx: 2,
        ...this.paint(n),
      });
    });
  }

  dots(step, middle) {
    return Array.from({ length: this.columns }, (_, n) =>
      shape("circle", { cx: (n + 0.5) * step - 0.5, cy: middle, r: Math.min(4, step / 3), ...this.paint(n) }),
    );
  }

  paint(n) {
    const isKept = n < this.rank;
    return {
      fill: this.explore.colour(isKept ? (this.isLower ? "network" : "linear") : "truth"),
      opacity: isKept ? 1 : 0.4,
    };
  }

  numbers(step, height) {
    const isNamed = (number) => this.columns <= 14 || number % 5 === 0 || number === 1 || number === this.rank;
    return Array.from({ length: this.columns }, (_, n) => n + 1)
      .filter(isNamed)
      .map((number) =>
        shape(
          "text",
          {
            x: (number - 0.5) * step,
            y: height - 2,
            "text-anchor": "middle",
            style: number === this.rank ? `fill:${this.explore.colour("cut")};font-weight:700` : "",
          },
          number,
        ),
      );
  }
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
    const { id, trained, isFirst, objective } = part.now;
    const [before, shown] = [this.material, this.shown];
    const [hasFirst, hasRest] = [part.first?.id === trained, part.rest?.id === trained];
    // the first picture does not wait for the rest; another takes its place when it is whole
    if (this.id !== id && part.text?.id === id && hasFirst && (hasRest || !this.material)) {
      this.id = id;
      this.material = new Material(JSON.parse(part.text.json));
      this.material.take(JSON.parse(part.first.json));
      this.material.objective = objective; // that of its networks: a choice comes before them
      this.whole = null;
      if (part.further?.id === id) this.material.takeFurther(part.further.json);
      this.state.order = this.orderAsked(part.now) ?? this.state.order;
      this.build(before);
      this.settle(part.now, true);
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
      this.material.objective = objective;
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
      this.send("looks", this.noted);
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
    this.change({ word: symbols, at: this.isCalm ? Math.min(3, symbols.length) : 0 });
    if (!this.isCalm) this.play(true);
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
    if (!this.isDragging) this.timer = setTimeout(() => this.send("chosen", chosen), SETTLED_MS);
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
      html("span", isPart ? `${material.numRows} × ${material.numColumns} of ${whole}. ` : ""),
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
    const stop = () => {
      clearInterval(this.opening);
      this.isOpening = false;
      if (acts.length > 1) this.change({ rank });
      acts.length = 0;
      this.before = null;
      this.key = "";
      this.change();
    };
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
    const { state } = this;
    for (const [bend, on] of Object.entries({
      factorisation: NETWORKS[state.learner]?.[0],
      transitions: NETWORKS[state.learner]?.[1],
    })) {
      this.find(`[data-bend=${bend}]`).setAttribute("aria-checked", Boolean(on));
    }
    this.find(".cutbox").classList.toggle("unlinked", this.isUnlinked);
    this.find(".order").textContent = state.order === "state" ? "sort by frequency" : "sort by state";
    this.find(".cutlabel").textContent = this.isOpening
      ? "It moves by itself: touch to stop"
      : this.isUnlinked
        ? "Linear above, nonlinear below"
        : "Drag the cut through the singular values";
    this.find(".tie").textContent = this.isUnlinked ? "link lanes" : "unlink lanes";
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
  hover(hot) {
    if (hot?.i === this.state.hot?.i && hot?.j === this.state.hot?.j) return;
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
    canvas.addEventListener("pointermove", (event) => this.hover(this.cellAt(canvas, event)));
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
      if (zeros && isNested) return `exactly 0 from depth ${ladder.indexOf(0) + 1}`;
      if (zeros) return `exactly 0 for ${zeros} of ${truth.length}`;
      if (reach === null) return "";
      if (!isNested) return `right for ${reach} of ${truth.length}`;
      return reach ? `right to depth ${farthest(reach, truth.length)}` : "wrong from the start";
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
    this.find("[data-room=predict]").textContent = isNested ? "How deep does it reach?" : "How far does it reach?";
    this.find(".within").hidden = !truth.some((value) => value > 0);
    lines[0].append(html("span", material.truth.name, "band bar"));
    lines[1].append(html("span", "○ below 0", "band"));
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
        ? [`1 to ${words.length}: longer and longer strings; a click follows one`]
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
    const low = Math.floor(Math.log10(Math.min(...positive, 1))) - 6;
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
      tick.append(shape("title", {}, `${material.text(words[d])}: a click follows it`));
      tick.addEventListener("click", () => this.change({ word: words[d].slice(0, MOST_TAPE), at: words[d].length }));
      nodes.push(tick);
    });
    const followed = words.findIndex((word) => isSame(word, state.word));
    const band = truth
      .map((value, d) => (value > 0 ? `${x(d)},${y(value)}` : ""))
      .filter(Boolean)
      .join(" ");
    nodes.push(
      shape("polyline", {
        points: band,
        fill: "none",
        stroke: this.colour("truth"),
        "stroke-width": 8,
        "stroke-linecap": "round",
        "stroke-linejoin": "round",
        opacity: 0.35,
      }),
    );
    this.pair.forEach(([name, learner, lane], n) =>
      lane?.ladder.forEach((value, d) => {
        const fill = this.colour(name === "linear" ? "linear" : COLOURS[learner]);
        const [cx, cy] = [x(d) + (n ? 4 : -4), value ? y(Math.abs(value)) : zero];
        if (!Number.isFinite(value)) return;
        if (!value)
          nodes.push(shape("path", { d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8`, stroke: fill, "stroke-width": 2.6 }));
        else
          nodes.push(
            shape("circle", {
              cx,
              cy,
              r: 5,
              fill: value < 0 ? this.colour("card") : fill,
              stroke: value < 0 ? fill : this.colour("card"),
              "stroke-width": value < 0 ? 2.2 : 1.2,
            }),
          );
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
    const learners = [
      ...Object.keys(NETWORKS).filter((name) => material.trained[name] && name !== state.learner),
      ...LINEAR.filter((name) => name !== state.linear),
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
        item.style.color = this.colour(COLOURS[name]);
        return item;
      });
    this.find(".rankkey").replaceChildren(
      `${SCORES[state.score][1]}, ${material.tests.toLocaleString("en")} test strings`,
      ...(thin.length ? ["; thin:", ...thin] : []),
      state.linear === "PFA" && thin.some(({ textContent }) => textContent === " SP") ? "; dashed: PFA" : "",
    );
    const isShown = state.linear === "PFA" && SCORES[state.score][0] !== "bits";
    this.find(".caveat").textContent = isShown ? "PFA may zigzag: EM raises likelihood, not this score." : "";
    const here = this.lanes.map(
      ({ learner, rank }) => `${learner} with ${states(rank)} ${three(value(learner, rank))}`,
    );
    this.find(".ranks").setAttribute("aria-label", `${SCORES[state.score][0]} by rank: ${here.join(", ")}`);
    this.tellSeeds();
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
      if (most <= 14 || rank % 5 === 0 || rank === 1 || cuts.includes(rank))
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
    repeat.textContent = `try ${SEEDS - number} more`;
    repeat.hidden = Boolean(going) || number >= SEEDS || material.objective !== "likelihood";
    quit.hidden = !told[name]?.text;
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
    const { between } = material.marginsOf(state.linear, linearRank);
    const { head, line } = verdictOf({
      ranks: [linearRank, state.rank],
      learner: state.learner,
      objectives: [state.linear === "SP" ? "hankel" : "likelihood", material.objective],
      linear,
      network: state.learner === "SP" ? null : network,
      others: material.others(state.learner, state.rank),
      hasTruth: material.hasTruth,
      noun: material.ladder.isNested ? "depth" : "string",
      ngram: material.ngram,
      longest: material.ladder.words.length,
      which: state.score,
      margins: between[state.learner]?.[state.rank]?.[state.linear]?.[linearRank],
      tests: material.tests,
      isFew: Boolean(material.few),
    });
    if (material.few && line.length) line.push([` · ${material.few}`, ""]);
    const told = JSON.stringify([head, line]);
    if (told === this.verdict) return; // a screen reader reads what is set anew
    this.verdict = told;
    this.find(".verdict h2").textContent = head;
    // a line ends between its parts
    const whole = (text) => text.replaceAll(" ", "\u00a0").replaceAll("\u00a0·\u00a0", "\u00a0· ").replace("\u00a0(", " (");
    this.find(".verdict .line").replaceChildren(
      ...line.map(([text, name]) => html("span", text === ` · ${material.few}` ? text : whole(text), name)),
    );
  }

  // The sidebar is a drawer here (assets/lab.css), and on a phone the menu.
  toggleSettings() {
    const { documentElement: page } = document;
    if (matchMedia("(max-width: 767px)").matches) document.querySelector(SETTINGS)?.click();
    else page.toggleAttribute("data-settings");
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
      ? "Sorted by how many brackets are open, H falls into blocks."
      : "Sorted by what can follow, similar rows of H stand together.";
    const rank = rankOf(state.linear, state);
    const patterns = rank === 1 ? "a multiple of one pattern" : `a sum of ${rank} patterns`;
    const linear =
      state.linear === "SP"
        ? "those of the largest singular values, which describe what is frequent. " +
          (material.ladder.isNested
            ? "A row that needs any other pattern becomes exactly 0: it is lost, whatever follows."
            : "What a row has of other patterns is lost.")
        : "chosen by EM so that the training strings are likely. No weight is below 0, so no row is lost: rows that " +
          "would need other patterns are blurred into those there are.";
    return [
      html("h2", `What ${bothStates([rank, state.rank])} can hold`),
      html("p", "A row of H says what follows a beginning. A model keeps a few numbers for each beginning: its state."),
      html("p", `${blocks} In a linear model each row is ${patterns}, ${linear}`),
      html(
        "p",
        "With a curve (tanh) a row need not be a sum of patterns: several kinds of beginnings share the same few numbers, " +
          "and rare ones keep some weight, blurred. Where there are enough states for all that was seen, a curve gains " +
          "nothing, and it may cost: a nonlinear model is harder to train.",
      ),
      html(
        "p",
        "How a model is trained is another choice, its objective: from the matrix it is fitted to the numbers in H, by " +
          "likelihood to the training strings themselves, none of which may then have weight 0. To see what the curve " +
          "alone changes, train both lanes in the same way.",
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
          "WER: word error rate. Bits: bits per symbol. WER and bits also count the end of a string. ±: how far other test " +
          "strings may move a score (95%). Weight 0, below 0: how many test strings have such a weight.",
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
    const order = material.truthModel ? "the most wrong" : "the least weight";
    const title = html("h2", `Test strings, ${order} first `);
    if (lanes.length > 1) title.append(pick);
    const body = html("table");
    const head = html("tr");
    const known = material.truthModel ? "true" : "share";
    head.append(...["string", "times", known, ...lanes.map(([name]) => name)].map((name) => html("th", name)));
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
      line.append(cell, html("td", count.toLocaleString("en")), html("td", written(truth)), ...numbers);
      body.append(line);
    }
    const box = html("div", "", "scrolled");
    box.append(body);
    const shown = Math.min(rows.length, MOST_TESTED);
    const rest = shown < material.distinctTests ? ` of ${material.distinctTests.toLocaleString("en")}` : "";
    list.replaceChildren(title, box, html("p", `${shown}${rest} different strings. A click follows one in the picture.`, "label"));
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
