// What the two lanes show, in a sentence that is made of their scores. Nothing here is drawn, so
// that tests/browser/test_models.py can ask for sentences of made-up scores.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

const LEVEL = 0.1; // scores that differ by less than this share of the larger one are level
const LEVEL_BITS = 0.02; // bits per symbol that differ by less are level
const SCORE = { variation: 0, errors: 1, bits: 2 }; // places in a list of scores
const SCORE_TEXTS = ["distance to the truth ", "next symbols guessed wrong ", "bits per symbol "];
const HOLDS_NOTHING = 0.8; // an error ‖H − Ĥ‖ / ‖H‖ above which Ĥ is not like H

const states = (rank) => (rank === 1 ? "1 state" : `${rank} states`);
// The states of both lanes: [linear, nonlinear].
const bothStates = ([linear, nonlinear]) =>
  linear === nonlinear
    ? states(linear)
    : `${nonlinear} nonlinear ${nonlinear === 1 ? "state" : "states"} and ${linear} linear ${linear === 1 ? "one" : "ones"}`;
const finite = (value) => typeof value === "number";
// A score as it is written in a sentence: three decimals.
const score = (value) => (value === "∞" ? "∞" : finite(value) ? value.toFixed(3) : "none");

// How far a model is right: the chart ends at the last string.
const farthest = (reach, longest) => (reach === longest ? `${reach} or more` : String(reach));

// A lane: {scores, reach: how many strings of the ladder are right, error: ‖H − Ĥ‖ / ‖H‖, training};
// only scores and training of a model that is not drawn.
// ranks: how many states the linear and the nonlinear lane have.
// objectives: what the linear model and the networks are trained on, "hankel" or "likelihood"; only
// if they are the same may level scores be put down to the curve. learner is "SP" where nothing is
// bent; linear and network are null if they have not been trained. alike: where the objectives differ, the
// scores of the other linear model, which has the network's; null, or left out, if there is none; alikeMargins:
// the margins of its differences to the network.
// others: the scores of networks that differ from this one in the seed alone.
// which: the score that is chosen, or left out: the distance to the truth, or, where that is not
// known, the wrong guesses.
// margins: of each score, how far the difference of the two models may be off with other test strings
// (95 %); null, or left out, where that is not known. tests: how many test strings there are, and isFew:
// whether they are too few for margins.
// noun: what reach counts, and longest: the most that it can be. nested: how strings of that depth are written.
// isUndrawn: whether a linear model can't be drawn for this matrix, trained or not.
// ngram: the title and the scores of an n-gram, which is told where the network is not better.
// Returns the headline, and the line below it as parts [text, lane or ""].
function verdictOf(asked) {
  const { ranks, learner, objectives, linear, network, others, hasTruth, noun, which: chosen, tests, isFew, longest } = asked;
  const start = `With ${bothStates(ranks)}, `;
  if (!linear && !network) return { head: `${start}there is no model to draw yet`, line: [] };
  const which = chosen ?? (hasTruth ? SCORE.variation : SCORE.errors);
  const isDistance = which === SCORE.variation;
  const name = SCORE_TEXTS[which];
  const margin = asked.margins?.[which] ?? 0;
  const rightly = noun === "depth" ? `right for ${asked.nested} up to depth` : "right for";
  const far = (reach) => (noun === "depth" ? farthest(reach, longest) : `${reach} of ${longest} strings`);
  if (learner === "SP") {
    const none = noun === "depth" ? "are wrong at depth 1" : "get no string right";
    const reach = `matrices ${linear.reach ? `are ${rightly} ${far(linear.reach)}` : none}`;
    const guess = `matrices guess ${percent(1 - linear.scores[SCORE.errors])} of what follows`;
    const head = isDistance && finite(linear.reach) ? reach : guess;
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
  const gap = Math.abs(network.scores[which] - linear?.scores[which]);
  if (margin && Number.isFinite(gap)) line.push([` (gap ${score(gap)} ± ${score(margin)})`, ""]);
  if (isDistance && finite(linear?.reach) && linear.reach === network.reach) {
    const none = noun === "depth" ? "both wrong at depth 1" : "neither gets any string right";
    const both = linear.reach ? `both ${rightly} ${far(linear.reach)}` : none;
    line.push([` · ${both}`, ""]);
  } else if (isDistance && finite(linear?.reach) && finite(network.reach))
    line.push(
      [` · ${rightly} `, ""],
      [far(network.reach), "network"],
      [" against ", ""],
      [far(linear.reach), "linear"],
    );
  if (!linear) {
    const why = asked.isUndrawn ? "SP is not drawn for this matrix" : "the linear model is not trained yet";
    return { head: start + why, line };
  }
  if (!hasTruth && which === SCORE.errors && !margin) {
    const bits = [network, linear].map(({ scores }) => score(scores[SCORE.bits]));
    line.push([` · ${SCORE_TEXTS[SCORE.bits]}`, ""], [bits[0], "network"], [" against ", ""], [bits[1], "linear"]);
  }
  const isLike = objectives[0] === objectives[1];
  if (!isLike) line.push(...differently(linear.scores[which], asked.alike?.[which], network.scores[which], objectives[1]));
  if (network.training === "not finished") line.push([" · training not finished", ""]);
  const [title, reference] = asked.ngram ?? ["", []];
  if (finite(reference[which]) && reference[which] <= network.scores[which])
    line.push([` · a ${title} has ${score(reference[which])}`, ""]);
  const sides = sidesOf(ranks);
  const counts = outcomes(
    linear.scores[which],
    [network.scores, ...others].map((scores) => scores[which]),
    which,
    margin,
  );
  const number = others.length + 1;
  if (counts.length > 1) {
    const subject = sides.isUnequal ? `the nonlinear ${ranks[1] > 1 ? "ones are" : "one is"}` : "the nonlinear model is";
    const told = counts.map(([outcome, count], n) => `${outcome} on ${count}${n ? "" : ` of ${number}`}`).join(", ");
    return { head: `${start}seeds disagree: ${subject} ${told}`, line };
  }
  if (others.length) line.push([` · the same with ${number} of ${number} seeds`, ""]);
  const sure = { margin, tests, isFew };
  const alike = { value: isLike ? undefined : asked.alike?.[which], margin: asked.alikeMargins?.[which] ?? 0 };
  return { head: comparison(linear, network, { start, isLike, alike, ...sides }, which, noun, sure), line };
}

// That the models were trained in different ways, and what that makes of the gap between them: alike is the
// score of the linear model that is trained as the network is.
function differently(linear, alike, network, objective) {
  const said = " · trained in different ways";
  if (!finite(alike)) return [[said, ""]];
  if (linear > alike && alike > network)
    return [
      [`${said}; the gap: `, ""],
      [score(linear - alike), "linear"],
      [" from the training, ", ""],
      [score(alike - network), "network"],
      [" from the curve", ""],
    ];
  const way = objective === "likelihood" ? "by likelihood" : "from the matrix";
  return [[`${said} (linear ${way}: `, ""], [score(alike), "linear"], [")", ""]];
}

// How the networks of some seeds stand to the linear model: [["ahead", on how many], …], without
// those of none.
function outcomes(linear, networks, which, margin) {
  const counts = { ahead: 0, level: 0, behind: 0 };
  for (const own of networks) counts[outcomeOf(linear, own, which, margin)] += 1;
  return Object.entries(counts).filter(([, count]) => count);
}

function outcomeOf(linear, own, which, margin) {
  if (!finite(own) || !finite(linear)) return finite(own) ? "ahead" : finite(linear) ? "behind" : "level";
  if (isLevel(linear, own, which, margin)) return "level";
  return own < linear ? "ahead" : "behind";
}

// Two scores are level if they differ by less than counts, or by less than other test strings may move
// the difference; if that is more than counts, the strings do not show whether there is a difference.
const levelOf = (a, b, which) => (which === SCORE.bits ? LEVEL_BITS : LEVEL * Math.max(a, b));
const isLevel = (a, b, which, margin) => Math.abs(a - b) <= Math.max(levelOf(a, b, which), margin);

// The fewest states whose score is near the best of all ranks: of scores by rank, null where there is
// none. null if no score is finite.
function enoughStates(scores, which) {
  const known = scores.filter(finite);
  if (!known.length) return null;
  const best = Math.min(...known);
  const most = best + (which === SCORE.bits ? LEVEL_BITS : LEVEL * best);
  return 1 + scores.findIndex((own) => finite(own) && own <= most);
}

// How the two models are named in a sentence, and whether its verb is plural.
function sidesOf(ranks) {
  if (ranks[0] === ranks[1])
    return { nonlinearSide: ["the nonlinear model"], linearSide: ["the linear model"], isUnequal: false };
  const [linearSide, nonlinearSide] = ["linear", "nonlinear"].map((kind, n) => [
    `${ranks[n]} ${kind} ${ranks[n] === 1 ? "state" : "states"}`,
    ranks[n] > 1,
    `${ranks[n]} ${kind} ${ranks[n] === 1 ? "one" : "ones"}`,
  ]);
  return { nonlinearSide, linearSide, isUnequal: true };
}

function comparison(linear, network, { start, nonlinearSide, linearSide, isUnequal, isLike, alike }, which, noun, sure) {
  const isDistance = which === SCORE.variation;
  const [a, b] = [linear.scores[which], network.scores[which]];
  if (!finite(a) && !finite(b)) return `${start}neither model can be scored`;
  if (!finite(b)) return `${start}the nonlinear model failed`;
  if (!finite(a)) {
    const holds = which === SCORE.bits ? "gives every test string a weight above 0" : "can be scored";
    return `${start}only the nonlinear model ${holds}`;
  }
  if (isDistance && Math.min(linear.error, network.error) > HOLDS_NOTHING) return `${start}neither model comes near H`;
  const isDeeper = isDistance && network.reach > linear.reach;
  const ratio = Math.max(a, b) > 0 ? b / (a || Number.MIN_VALUE) : 1;
  const [subject, isMany] = nonlinearSide;
  if (isLevel(a, b, which, sure.margin)) {
    const level = isUnequal ? `${subject} ${isMany ? "are" : "is"} level with ${linearSide[2]}` : `${start}level`;
    const goes = isUnequal ? `the nonlinear ${isMany ? "ones go" : "one goes"} deeper` : `${subject} goes deeper`;
    if (sure.isFew || sure.margin > levelOf(a, b, which)) {
      const strings = sure.tests === 1 ? "this test string shows" : `these ${sure.tests.toLocaleString("en")} test strings show`;
      return `${level}: ${strings} no difference${isDeeper ? `, but ${goes}` : ""}`;
    }
    if (isDeeper) return isUnequal ? `${level}, and ${isMany ? "go" : "goes"} deeper` : `${level}, but ${goes}`;
    return level + (isLike && !isUnequal ? ": the curve gains nothing" : ""); // otherwise the objective may do so
  }
  if (sure.isFew && !isDistance) return `${start}too few test strings for a verdict`;
  const begin = isUnequal ? "" : start;
  const less = lessOf(a, b, which);
  if (ratio < 1) return begin + gain(nonlinearSide, linearSide, less, which) + curveAlone(alike, b, which);
  if (isDeeper) {
    const nearer = isUnequal ? `${linearSide[0]} ${linearSide[1] ? "are" : "is"} nearer` : `${start}the linear model is nearer`;
    return `${nearer}, but ${noun === "depth" ? "not right up to that depth" : "right for fewer strings"}`;
  }
  return begin + gain(linearSide, nonlinearSide, less, which);
}

// How much less the smaller of two scores is.
function lessOf(a, b, which) {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return which === SCORE.bits ? (high - low).toFixed(3) : percent(1 - low / high);
}

// What is left of a gain beside the linear model that is trained as the network is: that, the curve does.
function curveAlone({ value, margin }, network, which) {
  if (!finite(value)) return "";
  if (isLevel(value, network, which, margin)) return "; trained alike, level";
  return value > network ? `; trained alike, ${lessOf(value, network, which)}` : "; trained alike, behind";
}

// How much less the better model has, in the same words for either.
function gain([subject, isMany], [, , other], less, which) {
  const than = other ? ` than ${other}` : "";
  const what = ["less error", "fewer wrong guesses", "fewer bits per symbol"][which];
  return `${subject} ${isMany ? "have" : "has"} ${less} ${what}${than}`;
}

const percent = (share) => (finite(share) && Number.isFinite(share) ? `${Math.round(100 * share)}%` : "nothing");
