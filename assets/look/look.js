// Scrolls to what a lesson's step points at, for each visit of the step and each press of one of its buttons: when the page is drawn, and
// again while the page changes, until it has stood still for ten seconds, or when a phone is turned, but only if it is out of sight. A
// step that points at nothing, and a quiz, begin at the top of the page.
// Only where the lesson is docked beside the page or below it: where it stands above the page, its text would scroll away.
// An explanation that is opened in the lesson's card comes into view.
// On a slide the arrow keys, and a presenter's buttons, go to the next step and back.
const PATIENCE_MS = 60_000;
const STEADY_MS = 300; // what stands above may still be drawn
const SETTLED_MS = 10_000; // and something that is drawn late may push it out of sight again
const SCROLLING_MS = 1_000; // how long a smooth scroll may take
const SPACE = 16;
const HEADING = 96; // pixels from a heading's top to what it is the heading of
const OPENING_MS = 600; // how long an explanation may take to unfold

const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back" };

function onKey(event) {
  const button = document.querySelector(`.st-key-lesson-${KEYS[event.key]} button`);
  const [target, ...around] = event.composedPath();
  const isElsewhere = target.matches?.("input, textarea, select, canvas, [role], [contenteditable]:not([contenteditable=false])");
  const isTaken = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!button || isTaken || isElsewhere || around.some((node) => node instanceof ShadowRoot)) return;
  if (!document.querySelector(".st-key-slide")) return;
  event.preventDefault();
  button.click();
}

const elements = (keys) => keys.map((key) => document.querySelector(`.st-key-${CSS.escape(key)}`));
// Where elements stand on the page, however far it is scrolled, and the page's height.
function placeOf(targets) {
  const main = targets[0]?.closest('[data-testid="stMain"]');
  const tops = targets.map((element) => element.getBoundingClientRect().top + (main?.scrollTop ?? 0));
  return JSON.stringify([...tops, main?.scrollHeight ?? 0]);
}

// A canvas does not hear of what a style hides, and shows again.
const tellPictures = () => dispatchEvent(new Event("nlwfa.step"));
const isDrawn = () => document.querySelector('[data-test-script-state="notRunning"]') !== null;

// Where the heading begins that stands right above a place, or the place itself.
function headingOf(main, place) {
  const tops = [...main.querySelectorAll("h2, h3")]
    .map((node) => node.getBoundingClientRect())
    .filter(({ top, bottom, height }) => height && bottom <= place && place - top <= HEADING)
    .map(({ top }) => top);
  return Math.min(place, ...tops.slice(-1));
}

// Returns how far the targets have to move, 0 if they are in sight, or if the page can't be scrolled any further towards them.
function scrollTo(targets) {
  if (!targets.length) return 0;
  const card = document.querySelector(".st-key-lesson")?.parentElement;
  const main = targets[0].closest('[data-testid="stMain"]');
  if (!main || !card || getComputedStyle(card).position !== "fixed") return 0;
  const boxes = targets.map((element) => element.getBoundingClientRect());
  const first = Math.min(...boxes.map((box) => box.top));
  const bottom = Math.max(...boxes.map((box) => box.bottom));
  const visibleTop = document.querySelector('[data-testid="stHeader"]')?.getBoundingClientRect().bottom ?? 0;
  const cardBox = card.getBoundingClientRect();
  // The card is beside the page, or a sheet over its lower part.
  const visibleBottom = cardBox.right < innerWidth ? innerHeight : cardBox.top;
  const heading = headingOf(main, first);
  const top = bottom - heading + SPACE <= visibleBottom - visibleTop ? heading : first;
  if (top >= visibleTop && bottom <= visibleBottom) return 0;
  const distance = Math.round(top - visibleTop - SPACE);
  const room = distance > 0 ? main.scrollHeight - main.clientHeight - main.scrollTop : main.scrollTop;
  if (room < 1) return 0;
  main.scrollBy({ top: distance, behavior: "smooth" });
  return distance;
}

// The card of a lesson is lower than some of its steps: once an answer has been checked, show what is said about it.
function showAnswer(data) {
  if (window.nlwfaAnswered === data.answered) return;
  window.nlwfaAnswered = data.answered;
  requestAnimationFrame(() => {
    tellPictures();
    const card = document.querySelector(".st-key-lesson");
    const exercise = card?.querySelector('[class*="st-key-exercise_"]');
    if (!exercise || getComputedStyle(card.parentElement).position !== "fixed") return;
    card.scrollBy({ top: exercise.getBoundingClientRect().top - card.getBoundingClientRect().top - SPACE, behavior: "smooth" });
  });
}

// The card's lowest row covers what it scrolls over. What is longer than the card begins at its top.
function showOpened({ target }) {
  const box = target.closest?.(".st-key-lesson summary")?.parentElement;
  const card = box?.closest(".st-key-lesson");
  const end = performance.now() + OPENING_MS;
  let before = 0;
  const look = () => {
    const { top, bottom, height } = box.getBoundingClientRect();
    const isStill = height === before && performance.now() > end;
    before = height;
    if (!isStill) return setTimeout(look, 50);
    const row = card.querySelector(".st-key-lesson_do").getBoundingClientRect().top;
    const distance = Math.min(top - card.getBoundingClientRect().top, bottom - row + SPACE);
    if (distance > 0) card.scrollBy({ top: distance, behavior: "smooth" });
  };
  if (box) setTimeout(look, 50);
}

function listenOnce() {
  if (window.nlwfaActed !== undefined) return;
  window.nlwfaScrolled = window.nlwfaActed = 0;
  addEventListener("keydown", onKey);
  addEventListener("click", showOpened);
  for (const name of ["wheel", "touchmove"]) {
    addEventListener(name, () => { window.nlwfaScrolled = performance.now(); }, { passive: true });
  }
  for (const name of ["pointerdown", "keydown"]) {
    addEventListener(name, () => { window.nlwfaActed = performance.now(); }, { passive: true });
  }
}

export default function ({ data }) {
  if (data.answered) {
    showAnswer(data);
    return;
  }
  listenOnce();
  const isNew = window.nlwfaVisit !== data.visit;
  if (!isNew && window.nlwfaPresses === data.presses) return;
  window.nlwfaVisit = data.visit;
  window.nlwfaPresses = data.presses;
  if (isNew) document.querySelector(".st-key-lesson")?.scrollTo(0, 0); // the step before may have been read to its end
  if (isNew) delete document.documentElement.dataset.step; // or been folded
  if (isNew && !data.keys.length) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  // Moments of performance.now().
  let begin = performance.now(); // of the visit, or of the last change of width
  let width = innerWidth;
  let timer = 0;
  let last = begin + PATIENCE_MS; // `end` at the latest
  let end = last; // of looking
  let steady = begin; // the targets last moved
  let scrolled = -Infinity; // the last scroll began
  let before = ""; // the place of the targets at the last look
  let isSettled = false; // whether they are in view, and have not moved since
  let settled = Infinity; // they first were
  const isOver = () => window.nlwfaVisit !== data.visit || window.nlwfaPresses !== data.presses;
  const look = () => {
    const now = performance.now();
    const hasScrolled = window.nlwfaScrolled > begin; // by hand, while the page was being drawn: then it stays where it is
    const isUsed = window.nlwfaActed > settled; // what moves now moves because of what was clicked or typed
    if (isOver() || hasScrolled || isUsed || now > end) return;
    const targets = elements(data.keys);
    const place = targets.every(Boolean) && isDrawn() ? placeOf(targets) : "";
    if (place !== before) {
      tellPictures();
      steady = now;
      isSettled = false;
    }
    before = place;
    if (place && !isSettled && now - steady >= STEADY_MS && now - scrolled >= SCROLLING_MS) {
      // A scroll that comes while the page is still being drawn ends early, or does not begin.
      isSettled = !scrollTo(targets);
      scrolled = now;
      settled = Math.min(settled, now);
      end = Math.min(last, now + SETTLED_MS);
    }
    timer = setTimeout(look, 50);
  };
  const onResize = () => {
    if (isOver()) return removeEventListener("resize", onResize);
    if (innerWidth === width) return; // a phone's bars come and go
    width = innerWidth;
    begin = performance.now();
    settled = Infinity;
    last = begin + PATIENCE_MS;
    end = last;
    clearTimeout(timer);
    timer = setTimeout(look, 50);
  };
  addEventListener("resize", onResize);
  timer = setTimeout(look, 50);
}
