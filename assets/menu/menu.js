// On a phone the menu lies over the page: it closes after a tap on a page. Elsewhere the bar's menu
// that has the page is marked, by assets/lab.css.
const PHONE = "(max-width: 768px)"; // Streamlit's own limit

export default function ({ data }) {
  document.documentElement.dataset.menu = data?.number ?? "";
  if (window.nlwfaMenu) return;
  window.nlwfaMenu = true;
  addEventListener("click", (event) => {
    if (!matchMedia(PHONE).matches || !event.target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
  });
}
