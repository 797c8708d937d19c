// Numbers as people read them, for every component of the lab: put before its own script. The texts are those of nlwfa_core/rounding.py.

const raised = (power) => String(power).replace(/[-0-9]/g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
// oxlint-disable-next-line no-unused-vars -- for the components that this file is put before
const powerOfTen = (power) => ({ 0: "1", 1: "10" })[power] ?? `10${raised(power)}`;

function written(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "not finite";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 6) return `${Number(mantissa)}·10${raised(power)}`.replace("-", "−");
  const rounded = Number(value.toFixed(Math.max(digits - 1 - power, 0)));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 20 }).replace("-", "−");
}

// Two numbers that are set against each other, with as many digits as it takes to tell them apart.
// oxlint-disable-next-line no-unused-vars -- as above
function writtenApart(one, other, digits = 3) {
  const isSame = one === other || Math.abs(one - other) <= 1e-9 * Math.max(Math.abs(one), Math.abs(other));
  let texts = [written(one, digits), written(other, digits)];
  for (let extra = 1; extra <= 12 && !isSame && texts[0] === texts[1]; extra++) {
    texts = [written(one, digits + extra), written(other, digits + extra)];
  }
  return texts;
}
