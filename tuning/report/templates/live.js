"use strict";
// Loads the page anew while a run goes on, unless somebody is using it, and keeps its place.
(() => {
  const LIVE = {{ live | tojson }};
  const SECONDS = 5;
  const KEY = `phrasescore report ${location.pathname}`;
  const kept = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  };
  const before = kept();
  document.querySelectorAll("details").forEach((each, place) => {
    if (before.open?.includes(place)) each.open = true;
  });
  if (before.top) scrollTo(0, before.top);
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // then there is nothing to forget
  }
  if (!LIVE) return;
  setInterval(() => {
    if (document.hidden || document.activeElement?.matches("input, select")) return;
    const open = [...document.querySelectorAll("details")].flatMap((each, place) => (each.open ? [place] : []));
    try {
      sessionStorage.setItem(KEY, JSON.stringify({ open, top: scrollY }));
    } catch {
      // without it the page only forgets what was open
    }
    location.reload();
  }, 1000 * SECONDS);
})();
