"use strict";
// Shows the selected rows of one pair of systems. Without this script, the page shows all rows.
(() => {
  const form = document.querySelector("#sentences .controls");
  const pairs = [...document.querySelectorAll("#sentences .pair")];
  if (!pairs.length) return;
  const rows = new Map(pairs.map((pair) => [pair, [...pair.querySelectorAll("li[data-gain]")].map((item) => ({
    item,
    gain: Number(item.dataset.gain),
    number: Number(item.dataset.number),
    text: item.textContent.toLowerCase(),
  }))]));
  const orders = {
    gain: (one, other) => other.gain - one.gain || one.number - other.number,
    loss: (one, other) => one.gain - other.gain || one.number - other.number,
    number: (one, other) => one.number - other.number,
  };
  const FIRST = 20; // the number of rows shown first, and added by each press of the button
  let most = FIRST;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more no-print";
  const asked = (name) => form.elements.namedItem(name).value;

  function update() {
    const words = asked("search").toLowerCase().split(/\s+/).filter(Boolean);
    const show = asked("show");
    for (const pair of pairs) pair.hidden = pair.id !== asked("pair");
    const pair = pairs.find((each) => !each.hidden) ?? pairs[0];
    const list = pair.querySelector("ol");
    let found = 0;
    let next = null;
    for (const row of [...rows.get(pair)].sort(orders[asked("order")])) {
      const right = show === "all" || (row.gain > 0) === (show === "gain");
      const wanted = right && words.every((word) => row.text.includes(word));
      if (wanted) found += 1;
      row.item.hidden = !wanted || found > most;
      if (wanted && found === most - FIRST + 1) next = row.item;
      list.append(row.item);
    }
    pair.append(more);
    more.hidden = found <= most;
    more.textContent = `Show ${Math.min(FIRST, found - most)} more`;
    form.querySelector("output").value = `${Math.min(found, most)} of ${found} shown`;
    return next;
  }

  function begin() {
    most = FIRST;
    update();
  }

  form.hidden = false;
  form.addEventListener("input", begin);
  more.addEventListener("click", () => {
    most += FIRST;
    const next = update();
    // keyboard users continue at the first new row
    next.tabIndex = -1;
    next.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  begin();
})();
