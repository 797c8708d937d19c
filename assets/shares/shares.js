// How often each string occurs, as bars. The bar that a lesson asks for is missing: it is drawn by hand, and Python hears how high when
// it is let go.

const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".shares");
  if (box.dataset.id === data.id) return; // what was drawn by hand stays
  box.dataset.id = data.id;
  const { bars, most, step, asked, isOver } = data;
  const height = (share) => `${(100 * share) / most}%`;
  const text = (share) => String(Number(share.toFixed(4)));
  const ticks = Array.from({ length: Math.round(most / 0.1) }, (_, n) => {
    const tick = element("div", "tick"); // without its number: one of them is the answer
    tick.style.setProperty("--height", height((n + 1) * 0.1));
    return tick;
  });
  const columns = bars.map(([string, share], index) => {
    const column = element("div", "column", element("i"), element("span", "height"), element("span", "string", string));
    const show = (now) => {
      column.style.setProperty("--height", height(now ?? 0));
      column.querySelector(".height").textContent = now === null ? "?" : text(now);
    };
    show(share);
    if (index !== asked) return column;
    if (isOver) column.classList.add("right");
    else drawn(column, { most, step, show, string }, (now) => setTriggerValue("share", now));
    return column;
  });
  box.replaceChildren(...ticks, ...columns);
}

function element(tag, name = "", ...children) {
  const made = document.createElement(tag);
  made.className = name;
  made.append(...children);
  return made;
}

// Makes a column one that is drawn by hand.
function drawn(column, { most, step, show, string }, tell) {
  const last = Math.round(most / step);
  let now = 0;
  let told = 0;
  const to = (wanted) => {
    now = Math.max(0, Math.min(Math.round(wanted), last));
    show(now * step);
    column.ariaValueNow = String(Number((now * step).toFixed(4)));
  };
  const letGo = () => {
    if (now !== told) tell(now * step);
    told = now;
  };
  const follow = ({ clientY }) => {
    const { bottom, height } = column.getBoundingClientRect();
    to(((bottom - clientY) / height) * last);
  };
  Object.assign(column, { tabIndex: 0, role: "slider", ariaLabel: `f(${string})`, ariaValueMin: "0", ariaValueMax: String(most) });
  column.ariaValueNow = "0";
  column.addEventListener("pointerdown", (event) => {
    column.setPointerCapture(event.pointerId);
    follow(event);
  });
  column.addEventListener("pointermove", (event) => column.hasPointerCapture(event.pointerId) && follow(event));
  column.addEventListener("pointerup", letGo);
  column.addEventListener("keydown", (event) => {
    const by = STEPS[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    to(now + by);
    event.preventDefault();
  });
  column.addEventListener("keyup", letGo); // a bar that is moved by keys is let go with the key
}
