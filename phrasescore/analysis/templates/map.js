"use strict";
(async () => {
  const LISTED = 50;  // of what a search finds
  const CLOSE = 0.1;  // how near a single point is seen, as a share of the whole map
  const WRITTEN = 600;  // points in view of which as many have their texts as there is room for
  const [LETTER, LINE, DISC, BESIDE] = [6.5, 15, 12, 9];  // pixels of texts and discs
  const byId = (id) => document.getElementById(id);
  const [search, status, results] = ["search", "status", "results"].map(byId);
  document.querySelectorAll(".browser > [hidden]").forEach((part) => { part.hidden = false; });
  document.querySelectorAll("[disabled]").forEach((button) => { button.disabled = false; });
  await Bokeh.embed.embed_item(JSON.parse(byId("item").textContent));
  const bokeh = Bokeh.documents[0];
  const [plot, points, found, written, names] = ["plot", "points", "found", "written", "names"]
    .map((name) => bokeh.get_model_by_name(name));
  const [shown, texts, rings, numbers] =
    ["shown", "texts", "rings", "numbers"].map((name) => bokeh.get_model_by_name(name).glyph);
  const {x, y, text, cluster} = points.data;
  const plain = (words) => words.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const plainTexts = text.map(plain);
  let chosen = new Set();

  // Boxes are left, right, low, high; what is seen has the shape of the plot, and a box is inside.
  function show([left, right, low, high]) {
    const [width, height] = [plot.inner_width || 1, plot.inner_height || 1];
    const unit = Math.max((right - left) / width, (high - low) / height);
    const [middleX, middleY] = [(left + right) / 2, (low + high) / 2];
    plot.x_range.setv({start: middleX - unit * width / 2, end: middleX + unit * width / 2});
    plot.y_range.setv({start: middleY - unit * height / 2, end: middleY + unit * height / 2});
    write();
  }

  const view = () => [plot.x_range.start, plot.x_range.end, plot.y_range.start, plot.y_range.end];

  // Close enough, points have their texts, the chosen ones first, and none across another.
  function write() {
    const [left, right, low, high] = view();
    const placed = (atX, atY, before, after) => {
      const at = (atX - left) / (right - left) * plot.inner_width;
      const height = (atY - low) / (high - low) * plot.inner_height;
      return {begin: at - before, end: at + after, height};
    };
    let rows = [...x.keys()].filter((row) =>
      x[row] > left && x[row] < right && y[row] > low && y[row] < high);
    if (rows.length > WRITTEN) {
      rows = rows.filter((row) => chosen.has(row));
    }
    rows.sort((one, other) => chosen.has(other) - chosen.has(one));
    const taken = [...names.data.x].map((atX, n) => placed(atX, names.data.y[n], DISC, DISC));
    const wrote = rows.filter((row) => {
      const box = placed(x[row], y[row], 0, BESIDE + LETTER * text[row].length);
      const free = box.end < plot.inner_width && taken.every((other) =>
        Math.abs(other.height - box.height) > LINE || other.begin > box.end || other.end < box.begin);
      if (free) {
        taken.push(box);
      }
      return free;
    });
    const of = (values) => wrote.map((row) => values[row]);
    written.data = {x: of(x), y: of(y), text: of(text)};
  }

  function around(rows) {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const row of rows) {
      left = Math.min(left, x[row]); right = Math.max(right, x[row]);
      low = Math.min(low, y[row]); high = Math.max(high, y[row]);
    }
    return widened([left, right, low, high]);
  }

  function widened([left, right, low, high]) {
    const least = CLOSE * (whole[1] - whole[0]);
    const margin = Math.max((least - (right - left)) / 2, (least - (high - low)) / 2,
                            0.15 * Math.max(right - left, high - low), 0);
    return [left - margin, right + margin, low - margin, high + margin];
  }

  function mark(rows) {
    chosen = new Set(rows);
    found.data = {x: rows.map((row) => x[row]), y: rows.map((row) => y[row])};
    shown.fill_alpha = {value: rows.length ? 0.25 : 0.65};
  }

  function current(button) {
    for (const other of document.querySelectorAll("[aria-current]")) {
      other.removeAttribute("aria-current");
    }
    button?.setAttribute("aria-current", "true");
  }

  function result(row, wanted) {
    const button = document.createElement("button");
    button.type = "button";
    // letters stand at the same places in both where nothing was taken away
    const at = plainTexts[row].length === text[row].length ? plainTexts[row].indexOf(wanted) : -1;
    if (at < 0) {
      button.textContent = text[row];
    } else {
      const part = document.createElement("mark");
      part.textContent = text[row].slice(at, at + wanted.length);
      button.append(text[row].slice(0, at), part, text[row].slice(at + wanted.length));
    }
    button.addEventListener("click", () => {
      current(button);
      mark([row]);
      show(around([row]));
      status.textContent = "Shown: " + text[row];
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  function look() {
    const wanted = plain(search.value.trim());
    current(null);
    const rows = [];
    if (wanted) {
      plainTexts.forEach((each, row) => { if (each.includes(wanted)) { rows.push(row); } });
    }
    mark(rows);
    results.hidden = !rows.length;
    results.replaceChildren(...rows.slice(0, LISTED).map((row) => result(row, wanted)));
    if (!wanted) {
      status.textContent = "";
    } else {
      const listed = rows.length > LISTED ? `, the first ${LISTED} are listed` : "";
      status.textContent = rows.length ? `${rows.length} found${listed}` : "Nothing found";
    }
    if (rows.length) {
      show(around(rows));
    } else {
      write();
    }
  }

  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      results.querySelector("button")?.focus();
      event.preventDefault();
    }
  });
  results.addEventListener("keydown", (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      const buttons = [...results.querySelectorAll("button")];
      (buttons[buttons.indexOf(document.activeElement) + step] ?? search).focus();
      event.preventDefault();
    }
  });
  byId("reset").addEventListener("click", () => {
    search.value = "";
    look();
    show(whole);
  });
  document.querySelectorAll("#clusters button").forEach((button, number) => {
    button.addEventListener("click", () => {
      current(button);
      mark([]);
      chosen = new Set([...x.keys()].filter((row) => cluster[row] === number));
      show(widened(button.dataset.box.split(" ").map(Number)));
      status.textContent = "Cluster " + button.innerText.replace(/\s+/g, " ");
      byId("map").scrollIntoView({block: "nearest"});
    });
  });

  // the plot is drawn on a canvas, which takes no colours from the page by itself
  function colour() {
    const style = getComputedStyle(document.documentElement);
    const ink = {value: style.getPropertyValue("--ink").trim()};
    numbers.text_color = texts.text_color = ink;
    rings.fill_color = {value: style.getPropertyValue("--page").trim()};
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colour);
  colour();
  const whole = view();
  show(whole);
  plot.on_event("rangesupdate", write);
  // after a change of shape the same part of the map stays in view
  new ResizeObserver(() => show(view())).observe(byId("map"));
  document.documentElement.dataset.ready = "map";
})();
