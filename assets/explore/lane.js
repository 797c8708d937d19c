// A lane of Explore: the singular values or losses of one model, Ĥ, its states, and what comes next.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

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

const three = (value) => (typeof value === "number" ? value.toFixed(3) : (value ?? "–"));

const NETWORKS = { "fac.non": [true, false], "tran.non": [false, true], "both.non": [true, true] };
// Where fac.non and both.non have a curve, apart from the steps: the way of training decides.
const PLACES = {
  hankel: {
    bend: "how rows are compressed",
    does: "a curve in the auto-encoder",
    curved: "tanh in the auto-encoder that compresses rows of H into states",
    straight: "matrices that compress rows of H into states",
  },
  likelihood: {
    bend: "how states predict",
    does: "a curve in the predictions",
    curved: "tanh between a state and what it predicts",
    straight: "a matrix between a state and what it predicts",
  },
};
const doesOf = (network, objective) =>
  ({ "fac.non": PLACES[objective].does, "tran.non": "a curve in every step", "both.non": "a curve in both" })[network];
const meansOf = (learner, objective) => {
  const { curved, straight } = PLACES[objective];
  return {
    SP: "SP: spectral learning. Its states are the directions of H's largest singular values",
    PFA: "PFA: a probabilistic finite automaton, trained by expectation maximisation (EM)",
    "fac.non": `${curved}, and matrices that step from state to state`,
    "tran.non": `${straight}, and tanh in each symbol's network, which steps from state to state`,
    "both.non": `${curved}, and in each symbol's network, which steps from state to state`,
  }[learner];
};
const STRAIGHT = "a straight line goes on below 0"; // a linear model's line past its last state
const BENT = "a curve can stay at 0";
const COLOURS = { SP: "linear", PFA: "linear", "fac.non": "fac", "tran.non": "tran", "both.non": "both" };
const SCORES = [
  ["TV", "total variation: distance to the truth"],
  ["WER", "word error rate: wrong guesses of the next symbol"],
  ["bits", "bits per symbol; ∞: a test string has weight 0"],
];
// How a lane's model is trained: what is chosen -> its name, and what it is.
const WAYS = {
  linear: {
    SP: ["from the matrix", "SP, spectral learning: from the largest singular values of H"],
    PFA: ["by likelihood", "PFA by EM: no weight is below 0, and the best of several starts is kept"],
  },
  objective: {
    hankel: ["from the matrix", "In two steps from the rows of H, as in the paper"],
    likelihood: ["by likelihood", "Trained on what follows each beginning of the training strings"],
  },
};
// The colours of a training's curves, if it has more than one.
const STAGES = { factorisation: "counts", transitions: "fac", refinement: "tran" };
const TRAY = 52; // pixels left of the lost states, for their number
const MOST_BARS = 5; // symbols that are drawn after a prefix
const MOST_AFTER = 16; // characters of a string in a lane
const FEW_SEEN = 30; // test strings that begin with a prefix: with fewer, shares of what follows say little
// Where the rank of a learner's lane is in the state: the linear lane has its own while the lanes are
// unlinked, which needs a nonlinear one.
const rankKey = (learner, state) =>
  state.linearRank && state.learner !== "SP" && LINEAR.includes(learner) ? "linearRank" : "rank";
const rankOf = (learner, state) => state[rankKey(learner, state)];

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
    dots.addEventListener("pointermove", (event) => explore.hover(this.dotAt(event), this.dots, event));
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
    const number = this.explore.isUnlinked ? `${states(this.rank)} · ` : "";
    const used = entry?.used ?? this.rank; // a network's: a state that was not worth its weights is always 0
    const size = used < this.rank ? `${used} of ${states(this.rank)} in use · ` : number;
    this.sub.textContent = this.isCopy
      ? "no curve: the model above, again"
      : isStandIn
        ? this.standsIn(lane)
        : size + (going || this.about(learner, entry));
    this.sub.title = [this.sub.textContent, meansOf(learner, material.objective)].join(". ");
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
    const { material } = this.explore;
    if (learner === "SP" && material.kept(learner, this.rank) < this.rank)
      return `SP: ${states(material.numericalRank)}, because H has rank ${material.numericalRank}`;
    if (learner === "SP") return "SP: matrices only";
    if (learner === "PFA") {
      const starts = entry?.starts > 1 ? `, best of ${entry.starts} starts` : entry ? ", one start" : "";
      return `PFA by EM: weights ≥ 0${starts}`;
    }
    const training = entry?.training === "not finished" ? " · training not finished" : "";
    return `${learner}: ${doesOf(learner, material.objective)}${training}`;
  }

  score(scores) {
    if (!scores) return [];
    const { before: was, material } = this.explore;
    const before = was && material.entry(...this.modelIn(was))?.scores;
    return SCORES.slice(0, 2).flatMap(([name], n) => {
      if (scores[n] === null && n === 0) return [];
      const change = before && before[n] !== scores[n] && before[n] !== null ? ` (${three(before[n])} before)` : "";
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
    const ranks = !isKnown && material.canTrain(learner) && rank <= material.mostRank ? material.untrained(learner, rank) : [];
    const isTraining = !isKnown && Boolean(text);
    const isOffered = ranks.length > 0 && !isTraining && !isStarting;
    const hadFocus = this.missing.contains(this.missing.getRootNode().activeElement);
    const said = isStarting && !text ? "starting …" : isTraining ? text : this.why(entry, isKnown, failed);
    if (this.what.textContent !== said) this.what.textContent = said;
    const last = states(Math.max(...ranks));
    const span = ranks.length > 1 ? `${Math.min(...ranks)} to ${last}` : last;
    this.train.textContent = `Train ${span}`;
    this.train.hidden = !isOffered;
    this.room.hidden = isKnown || isOffered || isTraining || isStarting;
    this.quit.hidden = !isTraining;
    this.note.hidden = isKnown || !(isOffered || isTraining);
    this.note.textContent =
      ranks.length && !isTraining && material.isTimed
        ? `Training takes ${material.timeOf(learner, ranks)}, and each model is drawn as soon as it is trained.`
        : "Each model is drawn as soon as it is trained.";
    if (hadFocus && !this.quit.hidden) this.quit.focus();
  }

  // Why there is nothing to draw.
  why(entry, isKnown, failed) {
    const { material } = this.explore;
    if (this.learner === "SP")
      return material.linear.why || `Ranks above ${material.linear.scores.length} are not drawn here.`;
    if (isKnown) return entry?.why ?? "";
    if (failed) return `Training failed: ${failed}`;
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
    const over = lane.hasExcess ? ", orange: Ĥ > H" : "";
    this.caption.textContent =
      state.show === "estimate"
        ? `Ĥ: ${material.hasCounts ? off : "weights of strings"}${below}`
        : `H − Ĥ${material.hasCounts ? `: ${percent(lane.error)} off` : ""}${over}`;
    this.caption.title = material.hasCounts ? this.distance(lane) : "";
    const lost = lane.lost ? `${lane.lost} of ${material.numRows}` : "";
    const why = lost && `${lost} beginnings have no state left: weight 0, whatever follows. `;
    if (this.explore.plane === "end") {
      const across = material.ladder.isNested ? "the depth whose mean state is nearest" : "the first principal component of the states";
      const side = material.ladder.isNested ? "depth" : "PCA";
      this.captions[1].textContent = `Across: ${side}; up: how sure it is to end`;
      const line = material.ladder.isNested ? ". The line goes through the mean states of all depths" : "";
      this.captions[1].title = `${why}Across: ${across}; up, from 0 to 1: the share of strings that end there${line}`;
    } else if (this.explore.plane === "pca") {
      const share = percent(material.plane(lane, "pca").share);
      this.captions[1].textContent = lost ? `PCA ${share}; ${lost}: no state left` : `PCA: ${share} of the variance`;
      this.captions[1].title = `${why}First two principal components: ${share} of the variance of the states`;
    } else {
      this.captions[1].textContent = lost ? `${lost} have no state left` : "A dot for each beginning";
      this.captions[1].title = `${why}Each dot is the state after one beginning`;
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
      `The error of the matrix, not of predictions on test strings: ‖H − Ĥ‖ / ‖H‖ = ${written(lane.error)}. ` +
      "Each cell of Ĥ is the weight that the model gives the cell's string.";
    return best === null ? said : `${said} For the best matrix of rank ${k}, from the SVD alone, the ratio is ${written(best)}.`;
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
    const caption = [html("span", "next, after "), html("b", material.ending(word, MOST_AFTER), "mono")];
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
    const [strong, others] = this.opinion(model, own, real, word);
    this.says.replaceChildren(html("b", strong), others);
  }

  // What the bars say, in words.
  opinion(model, own, real, word) {
    const { material } = this.explore;
    const isNested = material.ladder.isNested;
    if (!own) {
      const at = word.findIndex((_, n) => model.isLost(stateAfter(model, word.slice(0, n))));
      if (at >= 0)
        return [`Lost since ${material.ending(word.slice(0, at), MOST_AFTER)}:`, "a state of 0 stays 0, whatever follows."];
      const depth = material.depthOf(word);
      const open = `${depth} open ${depth === 1 ? "bracket" : "brackets"}`;
      return ["Lost:", `${isNested && depth > 0 ? `no state for ${open}, so ` : ""}weight 0, whatever follows.`];
    }
    if (!real) return ["", ""];
    const seen = this.explore.material.truth.seen?.[material.rowOf.get(String(word))] ?? Infinity;
    if (seen < FEW_SEEN) return [`Grey: ${seen === 1 ? "1 test string" : `${seen} test strings`},`, "too few to judge by."];
    if (!real.some((share) => share > 0))
      return [isNested ? "Not a bracket string," : "Not a possible string,", "but the model predicts anyway."];
    const gaps = own.map((share, n) => Math.abs(share - real[n]));
    const most = Math.max(...gaps);
    const name = (n) => (n === material.symbols.length ? "the end" : material.symbols[n]);
    if (isNested && real[0] > 0.05 && own[0] < 0.005) {
      const depth = material.depthOf(word);
      return ["Sure that it must close:", `no state for depth ${depth + 1}.`];
    }
    if (most < 0.005) return ["As in the grey bars", "to two digits."];
    if (most <= 0.1) return ["Close to the grey bars,", `within ${most.toFixed(2)}.`];
    const worst = gaps.indexOf(most);
    return [
      `Expects ${name(worst)} too ${own[worst] > real[worst] ? "often" : "rarely"},`,
      `${most.toFixed(2)} off the grey bar.`,
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
    this.trayTop = height - tray;
    const isScale = explore.plane === "end";
    const room = Math.min(width, height - tray) / 2 - 14;
    const across = isScale ? width / 2 - 14 : room; // across and up are different things there
    const spot = ([x, y]) => [width / 2 + x * across, (height - tray) / 2 + 2 - y * room];
    // lost states stand in at most three rows
    const [wide, inRow] = [width - TRAY - 6, Math.ceil(lane.lost / 3)];
    const inTray = Math.max(Math.floor(wide / 6.4), inRow);
    const apart = Math.min(6.4, wide / inTray);
    let lost = 0;
    const crowds = new Map(); // a spot -> how many states stand there
    const crowdedAt = (x, y) => {
      const key = `${Math.round(x / 3)} ${Math.round(y / 3)}`;
      crowds.set(key, (crowds.get(key) ?? -1) + 1);
      return crowds.get(key);
    };
    const plane = material.plane(lane, explore.plane);
    const isPrincipal = explore.plane !== "rings";
    const goal = plane.points.map((point, i) => {
      if (!point) {
        const place = lost++;
        return [TRAY + (place % inTray) * apart, height - 18 + Math.floor(place / inTray) * 7];
      }
      const [x, y] = spot(point);
      if (isScale) return [x, y]; // moved aside, it would seem to have another height
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
    if (isScale) this.drawScale(pen, spot, plane.line);
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
    if (isPrincipal && material.firstPlane !== "pca" && !(isScale && material.ladder.isNested)) this.nameGroups(pen, plane.points, width);
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
      pen.fillText(`${lost} lost`, 4, height - 9);
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

  // From "never ends" to "always ends", and how the share of strings that end changes from depth to depth.
  drawScale(pen, spot, line) {
    const { explore } = this;
    pen.fillStyle = explore.colour("muted");
    pen.strokeStyle = explore.colour("line");
    pen.lineWidth = 1;
    pen.font = `${explore.letter(12)} ${explore.font}`;
    for (const share of [0, 1]) {
      const [[left, y], [right]] = [-1, 1].map((x) => spot([x, heightOf(share)]));
      pen.beginPath();
      pen.moveTo(left, y);
      pen.lineTo(right, y);
      pen.stroke();
      pen.fillText(share, 4, y + 4);
    }
    const { groups, numGroups } = explore.material;
    if (!line) return;
    const points = line.points.map(spot);
    const draw = (some) => {
      pen.beginPath();
      some.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    };
    pen.strokeStyle = explore.colour(COLOURS[this.learner]);
    pen.lineWidth = 2;
    pen.globalAlpha = 0.6;
    draw(line.goesOn ? points.slice(0, -1) : points);
    if (line.goesOn) {
      pen.setLineDash([3, 3]);
      draw(points.slice(-2));
      pen.setLineDash([]);
      const [x, y] = points.at(-1);
      pen.globalAlpha = 1;
      pen.fillStyle = pen.strokeStyle;
      const room = this.dots.clientWidth - x;
      const most = Math.max(room, x) - 10;
      const text = pen.measureText(STRAIGHT).width > most ? "below 0" : STRAIGHT;
      const goesRight = room - 10 === most || room > pen.measureText(text).width + 10;
      pen.textAlign = goesRight ? "left" : "right";
      pen.fillText(text, goesRight ? x + 6 : x - 6, y - 4, most);
    }
    pen.globalAlpha = 1;
    if (NETWORKS[this.learner] && points.length > 2) {
      const [[, first], [, last]] = [line.points[0], line.points.at(-1)];
      const [zero, half] = [heightOf(0), heightOf(0.5)];
      const falls = Math.abs(last - zero) < Math.abs(half - zero) / 5 && Math.abs(first - zero) > Math.abs(half - zero);
      const [x, y] = [this.dots.clientWidth - 6, spot([0, heightOf(0.9)])[1]];
      const wide = pen.measureText(BENT).width;
      pen.fillStyle = pen.strokeStyle;
      pen.textAlign = "right";
      if (falls) {
        pen.fillText(BENT, x, y);
        this.names.push([x - wide, y, wide]);
      }
    }
    pen.textAlign = "center";
    for (let group = 0; group < numGroups; group++) {
      const [x] = spot([explore.material.acrossOf(group), 0]);
      const y = this.trayTop - 5;
      pen.fillStyle = explore.groupColour(group);
      pen.font = `700 ${explore.letter(12)} ${explore.font}`;
      pen.fillText(groups.names[group], x, y);
      this.names.push([x - 6, y, 12]);
    }
    pen.textAlign = "left";
  }

  // The name of each group in the middle of its states, or next to it where another one stands. Where H
  // does not fall into blocks, groups overlap too much for that.
  nameGroups(pen, places, width) {
    const { groups, numGroups } = this.explore.material;
    for (let group = 0; group < numGroups; group++) {
      const own = this.points.filter((_, i) => places[i] && groups.rows[i] === group);
      if (!own.length) continue;
      // medians: λ, before the first step, often stands far from the rest of its group
      const middle = [0, 1].map((axis) => own.map((point) => point[axis]).sort((a, b) => a - b)[own.length >> 1]);
      this.label(pen, groups.names[group], middle, this.explore.colour("ink"), width, true);
    }
  }

  // The string that is followed, from λ to here; it ends where the state is 0.
  drawPath(pen, lane, spot, width, share) {
    const { explore } = this;
    const { material, state, colour } = explore;
    const path = this.pathOf(lane).map((point) => point && spot(point));
    const end = path.findIndex((point) => !point);
    const alive = end < 0 ? path : path.slice(0, end);
    const isScale = Boolean(material.plane(lane, explore.plane).line);
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.globalAlpha = 0.75 * share;
    if (isScale) alive.slice(1).forEach((to, n) => hop(pen, alive[n], to));
    else {
      pen.beginPath();
      alive.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    if (!alive.length) return;
    if (state.at > 0) {
      ring(pen, alive[0], 5, colour("card"), colour("ink"));
      const [x, y] = alive[0];
      this.label(pen, "λ", isScale ? [x - 22, y] : [x, y], colour("ink"), width); // steps go to the right there
    }
    if (end < 0) ring(pen, alive.at(-1), 7.5, colour("cut"), colour("card"));
    if (state.hot) return; // one beginning has its name at a time
    const read = (length) => material.ending(state.word.slice(0, length), MOST_AFTER);
    const [x, y] = alive.at(-1);
    if (end < 0) this.label(pen, read(state.at), isScale ? [x, y + 30] : [x, y], colour("cut"), width); // steps are above
    else if (isScale) {
      // out of the plane: anywhere in it, a mark would have a depth and a probability
      const lost = state.word.slice(0, end);
      const place = this.points[material.rowOf.get(String(lost))];
      pen.strokeStyle = colour("cut");
      pen.lineWidth = 2;
      const edge = this.trayTop + 6; // under the numbers of the depths
      hop(pen, [x, y], [TRAY - 4, edge], [x, edge]);
      if (place) ring(pen, place, 4.5, null, colour("cut"));
      const text = width > 260 ? `${read(end)} falls out: state 0` : `${read(end)}: 0`;
      this.label(pen, text, [x, y], colour("cut"), width);
    } else {
      // beside the ring, towards the middle, where no ring has its name
      const aside = x < width / 2 ? x + width / 16 - 4 : x - width / 16 - 50;
      this.label(pen, "lost", [aside, y + 13], colour("cut"), width);
    }
  }

  // One that is optional is left out where it would stand on another.
  label(pen, text, [x, y], fill, width, isOptional = false) {
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
    const free = places.find(([at, base]) => !this.names.some((box) => meets(box, [at, base, wide])));
    if (!free && isOptional) return;
    const [left, top] = free ?? places[0];
    this.names.push([left - 4, top, wide + 8]);
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

// A step, bent towards a point. Without one, it is a step from one depth to another, above the line on which both
// lie: higher to the left than to the right.
function hop(pen, [x, y], [toX, toY], towards) {
  const isLevel = Math.abs(toY - y) < 12;
  const bow = isLevel ? (toX < x ? -72 : -34) : 0;
  const [overX, overY] = towards ?? [(x + toX) / 2, (y + toY) / 2 + bow];
  pen.beginPath();
  pen.moveTo(x, y);
  pen.quadraticCurveTo(overX, overY, toX, toY);
  pen.stroke();
  pen.fillStyle = pen.strokeStyle;
  arrow(pen, [(x + 2 * overX + toX) / 4, (y + 2 * overY + toY) / 4], Math.atan2(toY - y, toX - x));
}

function arrow(pen, [x, y], turn) {
  const corner = (angle) => [x + 5 * Math.cos(turn + angle), y + 5 * Math.sin(turn + angle)];
  pen.beginPath();
  for (const angle of [0, 2.4, -2.4]) pen.lineTo(...corner(angle));
  pen.fill();
}

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
