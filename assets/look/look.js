// Scrolls to what a lesson's step points at, once for each visit of the step, when the page is drawn and only if it is out of sight.
const PATIENCE_MS = 10_000;
const SPACE = 16;

const inSight = (box, top) => box.top >= top && Math.min(box.bottom, box.top + 240) <= innerHeight;

export default function ({ data }) {
  if (!data.visit || window.nlwfaVisit === data.visit) return;
  window.nlwfaVisit = data.visit;
  const begin = performance.now();
  const look = () => {
    if (window.nlwfaVisit !== data.visit || performance.now() - begin > PATIENCE_MS) return;
    const element = document.querySelector(`.st-key-${CSS.escape(data.key)}`);
    const drawn = document.querySelector('[data-test-script-state="notRunning"]');
    if (!element || !drawn) {
      setTimeout(look, 100);
      return;
    }
    const main = element.closest('[data-testid="stMain"]');
    const card = document.querySelector(".st-key-lesson")?.parentElement;
    const sticky = card && getComputedStyle(card).position === "sticky";
    const top = (sticky ? card.offsetHeight : 0) + parseFloat(getComputedStyle(document.documentElement).fontSize) * 3.75 + SPACE;
    const box = element.getBoundingClientRect();
    if (main && !inSight(box, sticky ? top : 0)) main.scrollBy({ top: box.top - top, behavior: "smooth" });
  };
  setTimeout(look, 300);
}
