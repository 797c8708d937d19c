// At each change Streamlit takes a chart of Plotly out of the page, or hides it for a while, and draws a new one some frames later. Until
// then a copy of the old drawing stands in the new one's place.
const ELEMENT = '[data-testid="stElementContainer"]'; // Streamlit's, with a class of the chart's key
const DRAWING = ".plot-container"; // Plotly's
const COPY = "nlwfa-drawing-before"; // see assets/lab.css
const PATIENCE_MS = 5_000;

const keyOf = (element) => [...(element?.classList ?? [])].find((name) => name.startsWith("st-key-"));

function found(nodes, selector) {
  const elements = [...nodes].filter((node) => node instanceof HTMLElement);
  return elements.flatMap((node) => [...(node.matches(selector) ? [node] : []), ...node.querySelectorAll(selector)]);
}

// The drawings that were taken out, by their keys. Plotly takes them out of charts that are no longer on the page.
function removedDrawings(records) {
  const drawings = records.flatMap(({ removedNodes, target }) =>
    found(removedNodes, DRAWING).map((drawing) => [keyOf(drawing.closest(ELEMENT) ?? target.closest?.(ELEMENT)), drawing]),
  );
  return new Map(drawings);
}

function standIn(drawing, element) {
  const copy = document.createElement("div");
  copy.className = COPY;
  copy.ariaHidden = "true";
  copy.append(...[...drawing.querySelectorAll(".main-svg")].map((svg) => svg.cloneNode(true)));
  element.style.minHeight = drawing.querySelector(".svg-container")?.style.height ?? "";
  element.append(copy);
  setTimeout(() => end(copy), PATIENCE_MS);
}

function end(copy) {
  if (copy.parentElement) copy.parentElement.style.minHeight = "";
  copy.remove();
}

function follow(records) {
  for (const copy of document.querySelectorAll(`.${COPY}`)) {
    if (copy.parentElement.querySelector(DRAWING)) end(copy);
  }
  const removed = removedDrawings(records);
  for (const element of records.flatMap(({ addedNodes }) => found(addedNodes, ELEMENT))) {
    const key = keyOf(element);
    if (!key || !element.isConnected || element.querySelector(`${DRAWING}, .${COPY}`)) continue;
    const drawing = document.querySelector(`${ELEMENT}.${CSS.escape(key)} ${DRAWING}`) ?? removed.get(key);
    if (drawing) standIn(drawing, element);
  }
}

export default function () {
  if (window.nlwfaCharts) return;
  window.nlwfaCharts = true;
  new MutationObserver(follow).observe(document.body, { childList: true, subtree: true });
}
