// The browser's history: one entry for each page and each step of a lesson, so that Back returns the way one came.
// Streamlit adds an entry for each parameter that the server sets. Here only a change of place adds one, and only one after each
// thing that a person does: going to a step may change the parameters, then the page, then the parameters again.
const MARK = "nlwfa";

const place = (address) => {
  const url = new URL(address, location.href);
  return JSON.stringify([url.pathname, url.searchParams.get("lesson"), url.searchParams.get("step")]);
};

function install() {
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  const marked = (state) => ({ ...state, [MARK]: true });
  let acted = false;
  let here = location.href;
  for (const kind of ["pointerdown", "keydown", "click"]) {
    addEventListener(kind, (event) => { acted ||= event.isTrusted; }, true);
  }
  history.replaceState = (state, unused, url) => {
    replace(marked(state), unused, url);
    here = location.href;
  };
  history.pushState = (state, unused, url) => {
    const moved = place(url ?? location.href) !== place(location.href);
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
