// What the two lanes show, in a sentence that is made of their scores. Nothing here is drawn, so
// that tests/browser/test_models.py can ask for sentences of made-up scores.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

const LEVEL = 0.1; // scores that differ by less than this share of the larger one are level
const SCORE = { variation: 0, errors: 1, bits: 2 }; // places in a list of scores
const HOLDS_NOTHING = 0.8; // an error ‖H − Ĥ‖ / ‖H‖ above which Ĥ is not like H

const states = (rank) => (rank === 1 ? "1 state" : `${rank} states`);
const finite = (value) => typeof value === "number";
// A score as it is written in a sentence: three decimals.
const score = (value) => (value === "∞" ? "∞" : finite(value) ? value.toFixed(3) : "undefined");

// A lane: {scores, reach: how many strings of the ladder are right, error: ‖H − Ĥ‖ / ‖H‖, training};
// only scores and training of a model that is not drawn.
// objectives: what the linear model and the networks are trained on, "hankel" or "likelihood"; only
// if they are the same may a difference be called the curve's. learner is "SP" where nothing is
// bent; linear and network are null if they have not been trained.
// Returns the headline, and the line below it as parts [text, lane or ""].
function verdictOf({ rank, learner, objectives, linear, network, hasTruth, noun }) {
  const start = `With ${states(rank)}, `;
  if (!linear && !network) return { head: `${start}there is no model to draw yet`, line: [] };
  const which = hasTruth ? SCORE.variation : SCORE.errors;
  const name = hasTruth ? "distance to the truth " : "next symbols guessed wrong ";
  if (learner === "SP") {
    const reach = linear.reach ? `matrices are right to ${noun} ${linear.reach}` : "matrices hold no string at all";
    const guess = `matrices guess ${percent(1 - linear.scores[SCORE.errors])} of what follows`;
    const head = hasTruth && finite(linear.reach) ? reach : guess;
    return {
      head: start + head,
      line: [
        [name, ""],
        [score(linear.scores[which]), "linear"],
        [" · nothing is bent", ""],
      ],
    };
  }
  if (!network) {
    return {
      head: `${start}the nonlinear model is not trained yet`,
      line: linear
        ? [
            [name, ""],
            [score(linear.scores[which]), "linear"],
          ]
        : [],
    };
  }
  const line = [
    [name, ""],
    [score(network.scores[which]), "network"],
  ];
  if (linear) line.push([" against ", ""], [score(linear.scores[which]), "linear"]);
  if (hasTruth && finite(linear?.reach) && finite(network.reach))
    line.push(
      [` · right to ${noun} `, ""],
      [String(network.reach), "network"],
      [" against ", ""],
      [String(linear.reach), "linear"],
    );
  if (!linear) return { head: `${start}the network stands alone`, line };
  const isLike = objectives[0] === objectives[1];
  if (!isLike) line.push([" · objectives differ", ""]);
  if (network.training === "not finished") line.push([" · not trained to its end", ""]);
  const subject = isLike ? "the curve" : "the network";
  return { head: start + comparison(linear, network, subject, which, hasTruth, noun), line };
}

function comparison(linear, network, subject, which, hasTruth, noun) {
  const [a, b] = [linear.scores[which], network.scores[which]];
  if (!finite(a) && !finite(b)) return "neither model can be scored";
  if (!finite(b)) return "the nonlinear model failed";
  if (!finite(a)) return "only the nonlinear model holds any string";
  if (hasTruth && Math.min(linear.error, network.error) > HOLDS_NOTHING) return "neither holds the strings";
  const isDeeper = network.reach > linear.reach;
  const ratio = Math.max(a, b) > 0 ? b / (a || Number.MIN_VALUE) : 1;
  if (Math.abs(a - b) <= LEVEL * Math.max(a, b)) {
    return hasTruth && isDeeper ? `level, but ${subject} goes deeper` : `level: ${subject} buys nothing`;
  }
  if (ratio < 1) return gain(subject, ratio, hasTruth);
  if (hasTruth && isDeeper) return `linear is nearer, but not right to such ${noun}`;
  return gain("the linear model", 1 / ratio, hasTruth);
}

// The better model's share of the other's error, as loud for either.
function gain(subject, ratio, hasTruth) {
  if (!hasTruth) return `${subject} saves ${percent(1 - ratio)} of the wrong guesses`;
  if (ratio < 0.4) return `${subject} leaves ${percent(ratio)} of the error`;
  if (ratio < 0.6) return `${subject} halves the error`;
  return `${subject} saves ${percent(1 - ratio)} of the error`;
}

const percent = (share) => (finite(share) && Number.isFinite(share) ? `${Math.round(100 * share)}%` : "nothing");
