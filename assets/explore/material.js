// What Explore computes from its payload once: the strings, H, its groups, and each model when it is first asked for.
// The payload is that of nlwfa_core/display/explore.py, the models are those of models.js. Nothing here is drawn.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

const BELOW = -0.4; // down to which a line goes on that is below 0
const BETWEEN = 16; // states that are drawn from the mean state of a depth to that of the next
const RANKS_AT_ONCE = 4; // that one press of a button trains: 1 to 4, 5 to 8 …
const LINEAR = ["SP", "PFA"];
const MOST_LABEL = 4; // characters below the chart by depth
const MOST_TAPE = 40; // symbols of the string that is followed
const HAS_BLOCKS = 0.9; // the least share of H in its blocks, for states to stand on rings at first
const FACTOR = 2; // a weight is right if it is off by less than this factor
const PALEST = 2e-5; // of the largest entry: paler is not seen
const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);

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
    this.often = data.prefixes.map((_, i) => absoluteSum(this.H.subarray(i * this.numColumns, (i + 1) * this.numColumns)));
    const inBlocks = this.H.reduce((sum, value, n) => {
      const group = data.groups.rows[Math.floor(n / this.numColumns)];
      return group >= 0 && group === data.groups.columns[n % this.numColumns] ? sum + Math.abs(value) : sum;
    }, 0);
    this.firstPlane = inBlocks >= HAS_BLOCKS * absoluteSum(this.H) ? "rings" : "pca";
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

  // Whether a learner's models, trained as the lanes say, can be drawn here.
  canTrain(learner) {
    return Boolean(this.costs[this.objective][learner]);
  }

  // By likelihood a network goes on from one with a state less, unless that would take too long; from the
  // matrix each is trained by itself.
  isAlone(learner, rank) {
    return !LINEAR.includes(learner) && (this.objective === "hankel" || rank > this.grown);
  }

  // The ranks that are trained with this one, without those that are; this one first, if it can be.
  untrained(learner, rank) {
    const end = Math.ceil(rank / RANKS_AT_ONCE) * RANKS_AT_ONCE;
    const isAlone = this.isAlone(learner, rank);
    return this.ranksUpTo(Math.min(this.mostRank, end))
      .filter((one) => !this.entry(learner, one) && !(isAlone && one <= end - RANKS_AT_ONCE))
      .sort((a, b) => (isAlone ? Math.abs(a - rank) - Math.abs(b - rank) : 0) || a - b);
  }

  ranksUpTo(rank) {
    return Array.from({ length: rank }, (_, n) => n + 1);
  }

  // The scores of a network that was trained with other seeds.
  others(learner, rank) {
    return this.seeds[learner]?.[rank] ?? [];
  }

  // How sure the scores of a model are, and their differences to those of others.
  marginsOf(learner, rank) {
    return learner === "SP" && this.further?.rank === rank ? this.further.margins : this.margins;
  }

  // The ranks that are trained with other seeds: this one, and those below it that it goes on from.
  unrepeated(learner, rank) {
    const ranks = this.isAlone(learner, rank) ? [rank] : this.ranksUpTo(rank);
    return ranks.filter((one) => this.others(learner, one).length < this.otherSeeds);
  }

  // About how long their training takes, in words.
  timeOf(learner, ranks) {
    const [few, many] = this.costs[this.objective][learner];
    const seconds = ranks.reduce((sum, rank) => sum + (rank > RANKS_AT_ONCE ? many : few), 0);
    if (seconds < 8) return "some seconds";
    if (seconds <= 50) return `about ${Math.ceil(seconds / 10) * 10} seconds`;
    if (seconds < 90) return "about a minute";
    return seconds < 5400 ? `about ${Math.ceil(seconds / 60)} minutes` : "hours";
  }

  entry(learner, rank) {
    if (learner !== "SP") return this.trained[learner]?.[rank] ?? null;
    if (this.further?.rank === rank) return { ...this.further, training: "exact" };
    const scores = this.linear.scores[this.kept(learner, rank) - 1];
    return scores ? { model: this.linear.model, scores, training: "exact" } : null;
  }

  // The states that a model has: SP has no more than H has singular values above 0.
  kept(learner, rank) {
    return learner === "SP" && this.linear.scores.length === this.numericalRank ? Math.min(rank, this.numericalRank) : rank;
  }

  // The lane of a learner and a rank: its model, states, Ĥ, and what follows from them; null if
  // there is no model to draw.
  lane(learner, rank) {
    const key = `${learner} ${rank}`;
    if (this.made.has(key)) return this.made.get(key);
    const entry = this.entry(learner, rank);
    if (!entry?.model) return null;
    const lane = this.laneOf(LINEAR.includes(learner) ? linearOf(entry.model, this.kept(learner, rank)) : networkOf(entry.model), entry);
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

  // The depth whose rows each state of SP is for, where H falls into blocks by depth: the one with most of what
  // the beginnings have of this state.
  get depthsOfStates() {
    if (!this.ladder.isNested || this.firstPlane !== "rings") return [];
    this.depthsFound ??= Array.from({ length: this.mostRank }, (_, n) => {
      const sums = Array.from({ length: this.numGroups }, () => 0);
      const { model, ends } = this.lane("SP", this.mostRank) ?? { ends: [] };
      ends.forEach((z, i) => {
        if (!model.isLost(z)) sums[this.groups.rows[i]] += (model.pointOf(z)[n] ?? 0) ** 2;
      });
      return sums.indexOf(Math.max(...sums));
    });
    return this.depthsFound;
  }

  // ‖H − Ĥ‖ / ‖H‖ of the best matrix of a rank (Eckart and Young), null where only a part of H is here.
  bestError(rank) {
    if (this.numRows < this.whole[0] || this.numColumns < this.whole[1]) return null;
    const kept = absoluteSum(this.singular.slice(0, rank).map((value) => value ** 2));
    return Math.sqrt(Math.max(0, 1 - kept / this.norm ** 2));
  }

  // Where a lane's states stand: {points, put}, and the share of the variance of principal components.
  // Coordinates go from −1 to 1; the zero state has no place.
  plane(lane, kind) {
    const method = { rings: "rings", pca: "principal", end: "endings" }[kind];
    return (lane.planes[kind] ??= this[method](lane));
  }

  rings({ model, ends, cells }) {
    return {
      points: ends.map((_, i) => this.pointOf(cells.subarray(i * this.numColumns, (i + 1) * this.numColumns))),
      put: (z) => this.pointOf(this.matrix.row(model, z)),
    };
  }

  // `counts`: whether a beginning has a say in where the axes are.
  principal({ model, ends }, counts = () => true) {
    const pointOf = (z) => {
      const point = model.isLost(z) ? [NaN] : model.pointOf(z);
      return point.every(Number.isFinite) ? point : null;
    };
    const points = ends.map(pointOf);
    const counted = points.map((point, i) => point && counts(this.prefixes[i]));
    const alive = points.filter((_, i) => counted[i]);
    if (!alive.length) return { points: points.map(() => null), put: () => null, share: 0 };
    const weights = this.often.filter((_, i) => counted[i]);
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

  // Upward, the share of the strings that end in a state. Across, its depth; of strings without depths
  // the first principal component, in which λ has no say: it occurs in all strings, and often stands far
  // from all other states. There the states in which most end stand on the left. Where there are depths,
  // `line` has the points between the mean states of all depths.
  endings(lane) {
    const depths = this.ladder.isNested && this.depths(lane);
    const across = depths ? depths.put : this.principal(lane, (prefix) => prefix.length > 0).put;
    const place = (z) => {
      const point = across(z);
      const share = point && shares(lane.model.scores(z))?.at(-1);
      return Number.isFinite(share) ? [point[0], heightOf(share)] : null;
    };
    if (depths) return { points: lane.ends.map(place), put: place, line: this.lineOf(lane.model, depths.between) };
    const points = lane.ends.map(place).filter(Boolean);
    const middle = sumOf(points.map(([, y]) => y)) / points.length;
    const side = sumOf(points.map(([x, y]) => x * (y - middle))) > 0 ? -1 : 1;
    const put = (z) => {
      const point = place(z);
      return point && [side * point[0], point[1]];
    };
    return { points: lane.ends.map(put), put };
  }

  // How sure it is to end along the line through the mean states of all depths. A linear model's weight of the
  // end is drawn, in proportion to its share at the beginning: straight from depth to depth. If it `goesOn` down
  // to BELOW within the plane, that is its last point.
  lineOf(model, between) {
    if (!between.length) return { points: [], goesOn: false };
    const shareAt = (z) => shares(model.scores(z))?.at(-1) ?? 0;
    const isLinear = model instanceof Linear;
    const [first] = between;
    const unit = isLinear ? shareAt(first.z) / model.weight(first.z) : 1;
    if (!Number.isFinite(unit)) return { points: [], goesOn: false }; // nothing ends there
    const line = between.map(({ across, z }) => [across, isLinear ? unit * model.weight(z) : shareAt(z)]);
    const [[before, high], [across, low]] = line.slice(-2);
    const end = across + ((low - BELOW) * (across - before)) / (high - low);
    const goesOn = isLinear && BELOW < low && low < high && end <= 1;
    if (goesOn) line.push([end, BELOW]);
    return { points: line.map(([x, share]) => [x, heightOf(share)]), goesOn };
  }

  // Where a state stands on the line through the mean states of all depths, from one to the next: at the
  // middle of a depth's place if it is its mean. λ has no say in the means. `put` has no place for a state of 0,
  // nor for any if no depth has a state. `between`: states along the line, and where they stand.
  depths({ model, ends }) {
    const points = ends.map((z) => !model.isLost(z) && model.pointOf(z));
    const stops = []; // a depth -> its mean state
    for (let group = 0; group < this.numGroups; group++) {
      const isOwn = (i) => points[i] && this.prefixes[i].length && this.groups.rows[i] === group;
      const own = points.map((_, i) => i).filter(isOwn);
      const whole = sumOf(own.map((i) => this.often[i]));
      if (!whole) continue;
      const mean = points[own[0]].map((_, j) => sumOf(own.map((i) => this.often[i] * points[i][j])) / whole);
      stops.push({ group, mean });
    }
    const dot = (a, b) => sumOf(a.map((value, j) => value * b[j]));
    const less = (a, b) => a.map((value, j) => value - b[j]);
    const along = (from, to, share) => from.map((value, j) => value + share * (to[j] - value));
    const between = stops.slice(1).flatMap(({ mean, group }, n) =>
      Array.from({ length: BETWEEN + 1 }, (_, m) => ({
        across: this.acrossOf(stops[n].group + (m / BETWEEN) * (group - stops[n].group)),
        z: model.stateAt(along(stops[n].mean, mean, m / BETWEEN)),
      })),
    );
    const put = (z) => {
      if (model.isLost(z) || !stops.length) return null;
      if (z === model.initial) return [this.acrossOf(0)]; // λ, before the first step, may be far from the line
      const point = model.pointOf(z);
      let best = { far: Infinity, depth: stops[0].group };
      stops.slice(1).forEach((stop, n) => {
        const from = stops[n];
        const way = less(stop.mean, from.mean);
        const progress = dot(less(point, from.mean), way) / (dot(way, way) || 1);
        // at both ends of the line, a state may stand beyond it
        const share = Math.min(n === stops.length - 2 ? 1.4 : 1, Math.max(n === 0 ? -0.4 : 0, progress));
        const rest = less(point, along(from.mean, stop.mean, share));
        const far = dot(rest, rest);
        if (far < best.far) best = { far, depth: from.group + share * (stop.group - from.group) };
      });
      return [this.acrossOf(best.depth)];
    };
    return { put, between };
  }

  // How many brackets are open after a word.
  depthOf(word) {
    return word.reduce((open, symbol) => open + (symbol ? -1 : 1), 0);
  }

  // Where a depth stands in a plane from −1 to 1.
  acrossOf(depth) {
    return (2 * depth + 1) / this.numGroups - 1;
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

  // How many of the ladder's strings have a weight within a factor of FACTOR of the truth, which is known of
  // them all; where each string holds the one before, only those before the first that is wrong. Null if
  // the truth is known of none.
  reachOf(ladder) {
    const { truth, isNested } = this.ladder;
    if (!truth.some((value) => value > 0)) return null;
    const right = ladder.map((value, d) => value > truth[d] / FACTOR && value < truth[d] * FACTOR);
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

  // A word as a string of at most so many characters, or of its last symbol: its end tells more than its
  // beginning.
  ending(word, most) {
    const whole = this.text(word);
    if (whole.length <= most) return whole;
    const cut = (from) => `…${this.text(word.slice(from))}`;
    const from = word.findIndex((_, n) => cut(n).length <= most);
    return from > 0 ? cut(from) : cut(word.length - 1);
  }

  // A string as a word. Symbols that are not known become the one for the unknown, or are left out.
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

// Of a share of strings that end, in a plane from −1 to 1: there is room for weights below 0.
const heightOf = (share) => 1.4 * share - 0.4;

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
