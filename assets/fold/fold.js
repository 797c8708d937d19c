// Folds the sheet of a lesson to its head, and opens it again. What it shows is up to lab.css, and look.js opens it at each new step.
export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  const { dataset } = document.documentElement;
  const show = () => button.setAttribute("aria-expanded", String(dataset.step !== "folded"));
  button.onclick = () => {
    if (dataset.step === "folded") delete dataset.step;
    else dataset.step = "folded";
  };
  const changes = new MutationObserver(show);
  changes.observe(document.documentElement, { attributeFilter: ["data-step"] });
  show();
  return () => changes.disconnect();
}
