// Models in the browser: the numbers of nlwfa_core's WFA, NLWFA and Dyck. This is the lab's one file
// of mathematics in JavaScript; tests/browser/test_models.py compares it with Python. A state is a
// row vector z. Names follow nlwfa_core/rounding.py, which explains the rule by which numbers that
// are only rounding error count as 0.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

const TAU = 2 ** -29; // RELATIVE_ERROR
const UNIT_ERROR = 2 ** -48;
const BLOCKS = 1000; // side by side in a string, for which probabilities are computed

// Short arrays of zeros are parts of a long one: to make one of its own takes as long as a step.
const POOL = 8192;
let [pool, used] = [new Float64Array(POOL), 0];
function zeros(number) {
  if (used + number > pool.length) [pool, used] = [new Float64Array(Math.max(POOL, number)), 0];
  used += number;
  return pool.subarray(used - number, used);
}

// A matrix in one flat array, row after row.
class Matrix {
  constructor(cells, height, width) {
    Object.assign(this, { cells, height, width });
    this.largest = cells.reduce((most, cell) => Math.max(most, Math.abs(cell)), 0);
  }

  times(z) {
    const { cells, height, width } = this;
    const sums = zeros(width);
    for (let i = 0, at = 0; i < height; i++, at += width) {
      const value = z[i];
      if (value === 0) continue;
      for (let j = 0; j < width; j++) sums[j] += value * cells[at + j];
    }
    return sums;
  }

  // |z| · |A|
  sizes(z) {
    const { cells, height, width } = this;
    const sums = zeros(width);
    for (let i = 0, at = 0; i < height; i++, at += width) {
      const value = Math.abs(z[i]);
      if (value === 0) continue;
      for (let j = 0; j < width; j++) sums[j] += value * Math.abs(cells[at + j]);
    }
    return sums;
  }

  // The leading block of k rows and columns.
  leading(k) {
    const cells = new Float64Array(k * k);
    for (let i = 0; i < k; i++) cells.set(this.cells.subarray(i * this.width, i * this.width + k), i * k);
    return new Matrix(cells, k, k);
  }
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

// Of the absolute values of the first k entries.
function absoluteSum(z, k = z.length) {
  let sum = 0;
  for (let i = 0; i < k; i++) sum += Math.abs(z[i]);
  return sum;
}

function bend(z) {
  for (let i = 0; i < z.length; i++) z[i] = Math.tanh(z[i]);
}

function isZero(z) {
  for (let i = 0; i < z.length; i++) if (z[i] !== 0) return false;
  return true;
}

// Whether a product of this total may be zero by the rule: a cheap, necessary condition.
const mayVanish = (sum, of, matrix) => sum > 0 && sum <= TAU * of * matrix.largest * matrix.width;

// A linear automaton: f(x) = α₀ᵀ A_x α∞. A state is z and then as many bounds of the errors of its
// entries, in one array, because most of a picture's time is spent in steps.
class Linear {
  // initial and termination: k numbers; transitions: a Matrix a symbol; sums: the weights of all
  // strings read from each state; errors: bounds of the errors of sums.
  constructor({ initial, transitions, termination, sums, errors }) {
    const k = initial.length;
    Object.assign(this, { transitions, k, gamma: k * UNIT_ERROR, initial: new Float64Array(2 * k) });
    this.initial.set(initial);
    this.end = this.column(termination, new Float64Array(this.k));
    const [s, size] = [Array.from(sums), Array.from(sums, Math.abs)];
    const bound = size.map((value, i) => errors[i] + this.gamma * value);
    this.ahead = transitions.map((A) => {
      const of = (values, map = (cell) => cell) =>
        Float64Array.from({ length: this.k }, (_, i) =>
          values.reduce((sum, value, j) => sum + map(A.cells[i * this.k + j]) * value, 0),
        );
      return { values: of(s), sizes: of(size, Math.abs), bounds: of(bound, Math.abs) };
    });
  }

  column(values, bounds) {
    return { values, sizes: Float64Array.from(values, Math.abs), bounds };
  }

  step(z, symbol) {
    const { k, gamma } = this;
    const matrix = this.transitions[symbol];
    const { cells } = matrix;
    const after = zeros(2 * k);
    for (let i = 0, at = 0; i < k; i++, at += k) {
      const value = z[i];
      const bound = z[k + i] + gamma * Math.abs(value);
      if (bound === 0) continue;
      for (let j = 0; j < k; j++) {
        const cell = cells[at + j];
        after[j] += value * cell;
        after[k + j] += bound * Math.abs(cell);
      }
    }
    if (this.isRounding(after, z, matrix)) after.fill(0);
    return after;
  }

  // Whether all entries of a product are 0 or only rounding error.
  isRounding(after, z, matrix) {
    const { k } = this;
    const sum = absoluteSum(after, k);
    if (sum === 0) return true;
    if (!mayVanish(sum, absoluteSum(z, k), matrix)) return false;
    const sizes = matrix.sizes(z);
    return sizes.every((size, j) => Math.abs(after[j]) <= Math.min(TAU * size, after[k + j]));
  }

  product(z, { values, sizes, bounds }) {
    const { k, gamma } = this;
    let [sum, size, error] = [0, 0, 0];
    for (let i = 0; i < k; i++) {
      const of = Math.abs(z[i]);
      sum += z[i] * values[i];
      size += of * sizes[i];
      error += (z[k + i] + gamma * of) * sizes[i] + of * bounds[i];
    }
    return Math.abs(sum) <= TAU * size && Math.abs(sum) <= error ? 0 : sum;
  }

  weight(z) {
    return this.product(z, this.end);
  }

  isLost(z) {
    return isZero(z);
  }

  // A state as a point: a multiple of it expects the same, so its length does not count.
  pointOf(z) {
    const values = z.subarray(0, this.k);
    const length = Math.hypot(...values);
    return Array.from(values, (value) => value / length);
  }

  // The state of a point, with which only scores are in proportion.
  stateAt(point) {
    const z = zeros(2 * this.k);
    z.set(point);
    return z;
  }

  // Scores of what follows: of each symbol, and of the end.
  scores(z) {
    return [...this.ahead.map((column) => this.product(z, column)), this.weight(z)];
  }
}

// A nonlinear automaton: f(x) = G_λ(G_x(α₀)), with a reading that takes the first output for f(u),
// and the second for the weight of all strings that begin with u.
class Network {
  // layers: layer -> symbol -> Matrix; decoder: Matrix a layer; output: a Matrix of two columns.
  constructor({ initial, layers, decoder, output, bendsSteps, bendsDecoder }) {
    Object.assign(this, { initial, layers, decoder, output, bendsSteps, bendsDecoder, k: initial.length });
  }

  step(z, symbol) {
    let after = z;
    for (const layer of this.layers) {
      after = layer[symbol].times(after);
      if (this.bendsSteps) bend(after);
    }
    if (!this.bendsSteps && mayVanish(absoluteSum(after), absoluteSum(z), this.magnitude(symbol))) {
      const sizes = this.magnitude(symbol).sizes(z);
      if (after.every((value, j) => Math.abs(value) <= TAU * sizes[j])) after.fill(0);
    }
    return after;
  }

  // The product of the absolute values of a map's layers.
  magnitude(symbol) {
    this.magnitudes ??= [];
    return (this.magnitudes[symbol] ??= this.layers
      .map((layer) => layer[symbol])
      .reduce((product, layer) => {
        const rows = Array.from({ length: product.height }, (_, i) =>
          layer.sizes(product.cells.subarray(i * product.width, (i + 1) * product.width)),
        );
        return new Matrix(Float64Array.from(rows.flatMap((row) => [...row])), product.height, layer.width);
      }));
  }

  decode(z) {
    let hidden = z;
    for (const layer of this.decoder) {
      hidden = layer.times(hidden);
      if (this.bendsDecoder) bend(hidden);
    }
    return hidden;
  }

  outputs(z) {
    const hidden = this.decode(z);
    const sums = this.output.times(hidden);
    const sizes = this.output.sizes(hidden);
    return sums.map((value, j) => (Math.abs(value) <= TAU * sizes[j] ? 0 : value));
  }

  weight(z) {
    return this.outputs(z)[0];
  }

  isLost(z) {
    return isZero(z);
  }

  pointOf(z) {
    return Array.from(z);
  }

  stateAt(point) {
    return Float64Array.from(point);
  }

  scores(z) {
    const ahead = this.layers[0].map((_, symbol) => this.outputs(this.step(z, symbol))[1]);
    return [...ahead, this.weight(z)];
  }
}

// A nonlinear automaton whose outputs, after a softmax, are the probabilities of what follows. The
// weight of a string is their product. A state is {z, weight}: the network's state, and the product
// up to here.
class Chain {
  constructor(network) {
    Object.assign(this, { network, k: network.k, initial: { z: network.initial, weight: 1 } });
  }

  step(state, symbol) {
    const weight = state.weight * this.scores(state)[symbol];
    return { z: this.network.step(state.z, symbol), weight };
  }

  weight(state) {
    return state.weight * this.scores(state).at(-1);
  }

  scores(state) {
    if (!state.scores) {
      const outputs = this.network.outputs(state.z);
      const most = Math.max(...outputs);
      const powers = Array.from(outputs, (output) => Math.exp(output - most));
      const sum = sumOf(powers);
      state.scores = powers.map((power) => power / sum);
    }
    return state.scores;
  }

  isLost({ weight }) {
    return weight === 0;
  }

  pointOf({ z }) {
    return Array.from(z);
  }

  stateAt(point) {
    return { z: this.network.stateAt(point), weight: 1 };
  }
}

// Bracket strings with known probabilities: S → SS (split), [S] (wrap), []. A state lists, for each
// level of brackets that is open, how many blocks are closed on it; null is impossible.
class Brackets {
  constructor({ split, wrap }) {
    this.nesting = wrap / (1 - split);
    // P(N > n | N ≥ n) of the number N of a level's blocks, from large n down: see sources/dyck.py.
    const ratio = 4 * split * (1 - split);
    const start = BLOCKS + (ratio ? Math.min(200_000, 1 + Math.ceil(40 / -Math.log(ratio))) : 1);
    const grows = (n) => (ratio * (2 * n - 1)) / (2 * (n + 1));
    let stop = 1 - grows(start);
    this.goesOn = new Float64Array(BLOCKS + 1).fill(1);
    for (let n = start; n > 0; n--) {
      const whole = grows(n) + stop;
      if (n <= BLOCKS) this.goesOn[n] = grows(n) / whole;
      stop /= whole;
    }
    this.initial = { blocks: [0], weight: 1 };
  }

  // Probabilities of [, ] and the end.
  next({ blocks, weight }) {
    if (!weight) return [0, 0, 0];
    const isInside = blocks.length > 1;
    const n = blocks.at(-1);
    const opens = n === 0 && isInside ? this.nesting : (this.goesOn[n] ?? this.goesOn.at(-1));
    return isInside ? [opens, 1 - opens, 0] : [opens, 0, 1 - opens];
  }

  step(z, symbol) {
    const weight = z.weight * this.next(z)[symbol];
    if (!weight) return { blocks: [0], weight: 0 };
    if (symbol === 0) return { blocks: [...z.blocks, 0], weight };
    const outer = z.blocks.slice(0, -1);
    outer[outer.length - 1] += 1;
    return { blocks: outer, weight };
  }

  weight(z) {
    return z.weight * this.next(z)[2];
  }

  scores(z) {
    return this.next(z);
  }
}

const stateAfter = (model, word) => word.reduce((z, symbol) => model.step(z, symbol), model.initial);

// Shares of what follows: |scores| divided by their sum; null if all are 0 or one is not a number.
function shares(scores) {
  const sum = scores.reduce((size, score) => size + Math.abs(score), 0);
  return sum > 0 && Number.isFinite(sum) ? scores.map((score) => Math.abs(score) / sum) : null;
}

// Words as a tree: nodes [parent, symbol], a parent before its children, and the node of each word.
class Tree {
  constructor(words) {
    this.nodes = [[-1, -1]];
    this.children = [new Map()]; // symbol -> node
    this.ends = words.map((word) => word.reduce((node, symbol) => this.child(node, symbol), 0));
  }

  child(node, symbol) {
    const known = this.children[node].get(symbol);
    if (known !== undefined) return known;
    this.children[node].set(symbol, this.nodes.length);
    this.children.push(new Map());
    return this.nodes.push([node, symbol]) - 1;
  }

  // The state at each node, from a state.
  states(model, start = model.initial) {
    const states = [start];
    for (let node = 1; node < this.nodes.length; node++) {
      const [parent, symbol] = this.nodes[node];
      states.push(model.step(states[parent], symbol));
    }
    return states;
  }
}

// The cells of a Hankel matrix as a tree of strings: many a string is the prefix of several.
class Cells {
  constructor(prefixes, suffixes) {
    this.suffixes = new Tree(suffixes);
    this.tree = new Tree(prefixes);
    // the node of each cell; row after row
    this.nodes = this.tree.ends.flatMap((end) => {
      const after = [end];
      for (const [parent, symbol] of this.suffixes.nodes.slice(1)) after.push(this.tree.child(after[parent], symbol));
      return this.suffixes.ends.map((node) => after[node]);
    });
  }

  // The state at the end of each prefix, and Ĥ: the weight of each prefix followed by each suffix.
  estimate(model) {
    const states = this.tree.states(model);
    const weights = [];
    const weight = (node) => (weights[node] ??= model.weight(states[node]));
    return { ends: this.tree.ends.map((node) => states[node]), cells: Float64Array.from(this.nodes, weight) };
  }

  // The weight of each suffix from a state.
  row(model, z) {
    const states = this.suffixes.states(model, z);
    return this.suffixes.ends.map((node) => model.weight(states[node]));
  }
}

// The eigenvalues of a symmetric matrix, a list of rows, and their vectors of length 1, the largest
// first: by Jacobi's rotations, each of which makes one entry 0.
function eigen(matrix) {
  const n = matrix.length;
  const A = matrix.map((row) => [...row]);
  const V = A.map((_, i) => A.map((_, j) => Number(i === j))); // a vector a row
  const size = Math.hypot(...A.flat());
  for (let round = 0; round < 60; round++) {
    let rest = 0;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        rest = Math.max(rest, Math.abs(A[p][q]));
        if (A[p][q] === 0) continue;
        const ratio = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(ratio, 1));
        const cosine = 1 / Math.hypot(tangent, 1);
        const turn = (a, b) => [cosine * (a - tangent * b), cosine * (tangent * a + b)];
        for (const row of A) [row[p], row[q]] = turn(row[p], row[q]);
        for (const rows of [A, V]) {
          for (let j = 0; j < n; j++) [rows[p][j], rows[q][j]] = turn(rows[p][j], rows[q][j]);
        }
      }
    }
    if (rest <= 1e-15 * size) break;
  }
  return A.map((row, i) => ({ value: row[i], vector: V[i] })).sort((a, b) => b.value - a.value);
}

// The plane of some points' first two principal axes, where each point counts by its weight: the mean,
// the axes, and the share of the variance along both. The first point that is not in the middle of an
// axis lies on its negative side; an axis without variance is 0.
function principalPlane(points, weights) {
  const whole = sumOf(weights);
  const average = (of) => points.reduce((sum, point, n) => sum + weights[n] * of(point), 0) / whole;
  const mean = points[0].map((_, j) => average((point) => point[j]));
  const covariance = mean.map((_, i) =>
    mean.map((_, j) => average((point) => (point[i] - mean[i]) * (point[j] - mean[j]))),
  );
  const variance = covariance.reduce((sum, row, i) => sum + row[i], 0);
  const size = average((point) => point.reduce((sum, value) => sum + value ** 2, 0));
  const rounding = Math.max(1e-12 * variance, 1e-24 * size);
  const found = eigen(covariance).filter(({ value }) => value > rounding);
  const along = (axis, point) => axis.reduce((sum, value, j) => sum + value * (point[j] - mean[j]), 0);
  const axes = [0, 1].map((n) => {
    const axis = found[n]?.vector ?? mean.map(() => 0);
    const places = points.map((point) => along(axis, point));
    const far = Math.max(...places.map(Math.abs));
    const first = places.find((place) => Math.abs(place) > 1e-6 * far) ?? 0;
    return axis.map((value) => (first > 0 ? -value : value));
  });
  const share = found.slice(0, 2).reduce((sum, { value }) => sum + value, 0) / (variance || 1);
  return { mean, axes, share, place: (point) => axes.map((axis) => along(axis, point)) };
}

// Arrays from Python: float64, little-endian, in base64.
function numbers(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

function matrices(text, count, height, width) {
  const cells = numbers(text);
  const size = height * width;
  return Array.from({ length: count }, (_, n) => new Matrix(cells.slice(n * size, (n + 1) * size), height, width));
}

// The linear automaton of rank k: the leading blocks of the largest one. sums and errors are those of
// the highest ranks.
function linearOf({ initial, transitions, termination, sums, errors, symbols }, k) {
  const first = numbers(initial);
  const most = first.length;
  return new Linear({
    initial: first.slice(0, k),
    transitions: matrices(transitions, symbols, most, most).map((A) => A.leading(k)),
    termination: numbers(termination).slice(0, k),
    sums: numbers(sums.at(k - most - 1)),
    errors: numbers(errors.at(k - most - 1)),
  });
}

// Reading "string": a Network; "conditional": a Chain.
function networkOf({ initial, widths, layers, heights, decoder, output, symbols, bends, reading }) {
  const columns = reading === "conditional" ? symbols + 1 : 2;
  const network = new Network({
    initial: numbers(initial),
    layers: layers.map((text, n) => matrices(text, symbols, widths[n], widths[n + 1])),
    decoder: decoder.map((text, n) => matrices(text, 1, heights[n], heights[n + 1])[0]),
    output: matrices(output, 1, heights.at(-1), columns)[0],
    bendsSteps: bends.steps,
    bendsDecoder: bends.decoder,
  });
  return reading === "conditional" ? new Chain(network) : network;
}
