// The browser's history: one entry for each page and each step of a lesson, so that Back returns the way one came.
// Streamlit adds an entry for each parameter that the server sets. Here only a change of place adds one, and only one after each
// thing that a person does: going to a step may change the parameters, then the page, then the parameters again.
const MARK = "nlwfa";

const place = (address) => {
  const url = new URL(address, location.href);
  return JSON.stringify([url.pathname, url.searchParams.get("lesson"), url.searchParams.get("step")]);
};

// Whether an address says the same as another one, but less of it.
function isPart(address, whole) {
  const [some, all] = [address, whole].map((text) => new URL(text, location.href).searchParams);
  return some.size < all.size && [...some].every(([name, value]) => all.get(name) === value);
}

function install() {
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  const marked = (state) => ({ ...state, [MARK]: true });
  let acted = false;
  let here = location.href;
  let seen = here; // the address when a person last did something
  for (const kind of ["pointerdown", "keydown", "click"]) {
    addEventListener(kind, (event) => {
      if (!event.isTrusted) return;
      acted = true;
      seen = location.href;
    }, true);
  }
  history.replaceState = (state, unused, url) => {
    replace(marked(state), unused, url);
    here = location.href;
  };
  history.pushState = (state, unused, url) => {
    const moved = place(url ?? location.href) !== place(location.href);
    // Streamlit removes the parameters first, from the entry to which Back will return.
    if (moved && acted && place(seen) === place(location.href) && isPart(location.href, seen)) replace(marked(history.state), "", seen);
    (moved && acted ? push : replace)(marked(state), unused, url);
    if (moved) acted = false;
    here = location.href;
  };
  // Before Streamlit hears of it: an entry without the mark was added while the lab was loading, and shows nothing of its own.
  addEventListener("popstate", (event) => {
    if (event.state?.[MARK] || location.hash) {
      here = location.href;
      return;
    }
    event.stopImmediatePropagation();
    replace(marked(), "", here);
    history.back();
  }, true);
  replace(marked(history.state), "", here);
}

export default function () {
  if (window[MARK]) return;
  window[MARK] = true;
  install();
}
