// Streamlit takes a chart of Plotly out of the page at each change, and draws the new one some frames later. Until then the old drawing
// stands in its place.
const DRAWING = ".plot-container"; // Plotly's
const ELEMENT = '[data-testid="stElementContainer"]'; // Streamlit's, with a class of the chart's key
const PATIENCE_MS = 5_000;

// The drawings that were taken out, each with the element that it was in. Plotly takes them out of a chart that is no longer on the page.
function removed({ removedNodes, target }) {
  const nodes = [...removedNodes].filter((node) => node instanceof HTMLElement);
  const drawings = nodes.flatMap((node) => (node.matches(DRAWING) ? [node] : [...node.querySelectorAll(DRAWING)]));
  return drawings.map((drawing) => [drawing, drawing.closest(ELEMENT) ?? target.closest?.(ELEMENT)]).filter(([, element]) => element);
}

function successorOf(element) {
  const key = [...element.classList].find((name) => name.startsWith("st-key-"));
  return key && document.querySelector(`${ELEMENT}.${CSS.escape(key)}`);
}

function standIn(drawing, element) {
  const copy = document.createElement("div");
  copy.className = "nlwfa-drawing-before"; // see assets/lab.css
  copy.ariaHidden = "true";
  element.style.minHeight = drawing.querySelector(".svg-container")?.style.height ?? "";
  copy.append(...drawing.querySelectorAll(".main-svg"));
  element.append(copy);
  setTimeout(() => end(copy), PATIENCE_MS);
}

function end(copy) {
  if (copy.parentElement) copy.parentElement.style.minHeight = "";
  copy.remove();
}

function follow(records) {
  for (const copy of document.querySelectorAll(".nlwfa-drawing-before")) {
    if (copy.parentElement.querySelector(DRAWING)) end(copy);
  }
  for (const [drawing, element] of records.flatMap(removed)) {
    const successor = successorOf(element);
    if (successor && !successor.querySelector(`${DRAWING}, .nlwfa-drawing-before`)) standIn(drawing, successor);
  }
}

export default function () {
  if (window.nlwfaCharts) return;
  window.nlwfaCharts = true;
  new MutationObserver(follow).observe(document.body, { childList: true, subtree: true });
}
