// On a phone the menu lies over the page: it closes after a tap on a page. Elsewhere the bar's menu
// that has the page is marked, by assets/lab.css.
const PHONE = "(max-width: 768px)"; // Streamlit's own limit
// Streamlit puts the headings of menus into a list whose only children should be its items: to a
// screen reader it is no list, but links.
const LIST = '[data-testid="stSidebarNavItems"]:not([role]), [data-testid="stSidebarNavItems"] li:not([role])';

export default function ({ data }) {
  document.documentElement.dataset.menu = data?.number ?? "";
  if (window.nlwfaMenu) return;
  window.nlwfaMenu = true;
  const mend = () => document.querySelectorAll(LIST).forEach((node) => node.setAttribute("role", "none"));
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
  mend();
  addEventListener("click", (event) => {
    if (!matchMedia(PHONE).matches || !event.target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
  });
}
