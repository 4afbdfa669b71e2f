/* What no template can reach. Whatever scrolls by itself (a wide formula, table or output) can be
   reached and scrolled with the keyboard; what does not scroll stays out of the tab order. */
(function () {
  "use strict";
  const candidates = 'mjx-container[display="true"], .bd-article .pst-scrollable-table-container, .bd-article .cell_output > .output, .bd-article pre';

  function markScrollable() {
    for (const element of document.querySelectorAll(candidates)) {
      const scrolls = element.scrollWidth > element.clientWidth + 1;
      if (scrolls) element.setAttribute("tabindex", "0");
      else if (element.getAttribute("tabindex") === "0") element.removeAttribute("tabindex");
    }
  }

  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(markScrollable, 100); };
  window.addEventListener("load", markScrollable);
  window.addEventListener("resize", later);
  document.addEventListener("toggle", later, true); // a fold that opened shows what was hidden
  new MutationObserver(later).observe(document.querySelector(".bd-article") || document.body, { childList: true, subtree: true });
})();
