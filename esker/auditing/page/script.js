"use strict";
(() => {
  // All texts come from tables that anybody may have named: they enter the page as text, never as markup.
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const PAGE = 100, SHORT = 10;
  const PRESENCE = ["absent", "supported", "active", "in use"];
  const SEVERITY = { 3: "error", 2: "warning", 1: "notice" };
  const WORDS = { y: "yes", l: "with limits", u: "unknown", r: "refuses", h: "gets it wrong" };
  const number = new Intl.NumberFormat("en");
  const at = data.at;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null).map((child) => (typeof child === "number" ? String(child) : child)));
    return element;
  };
  const size = (bytes) => {
    if (bytes === null) return "";
    let amount = bytes;
    for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
      if (amount < 1024) return `${unit === "B" ? amount : amount.toFixed(1)} ${unit}`;
      amount /= 1024;
    }
    return `${amount.toFixed(1)} PiB`;
  };
  const plural = (count, word) => `${number.format(count)} ${word}${count === 1 ? "" : "s"}`;
  const age = (millis) => {
    if (millis === null) return "";
    const hours = Math.max(0, (at - millis) / 3600000);
    if (hours < 1) return "under an hour";
    if (hours < 48) return plural(Math.floor(hours), "hour");
    const days = hours / 24;
    return days < 60 ? plural(Math.floor(days), "day") : days < 730 ? plural(Math.floor(days / 30.44), "month") : plural(Math.floor(days / 365.25), "year");
  };

  // One object a table, in the order of the data.
  const tables = data.tables.map((row) => {
    const [folder, format, name, version, protocol, contract, columns, files, bytes, modified, remarks] = row;
    const own = contract === null ? null : data.contracts[contract];
    const features = own === null ? [] : [...own.features].sort(([a, p], [b, q]) => q - p || (a < b ? -1 : 1));
    const worst = remarks.reduce((most, [severity]) => Math.max(most, severity), 0);
    const text = [folder, name, protocol, ...features.map(([feature]) => feature), ...remarks.map(([, what]) => what)].join("\n").toLowerCase();
    return { folder, format, name, version, protocol, own, columns, files, bytes, modified, remarks, features, worst, text };
  });
  const releases = data.releases;
  for (const table of tables) table.out = table.own === null ? null : outOf(table);

  function letters(table, index) {
    return table.own === null ? "uu" : table.own.judgement.slice(2 * index, 2 * index + 2);
  }
  function outOf(table) {
    return releases[table.format].reduce((sum, release, index) => sum + (release.newest && "rh".includes(letters(table, index)[0]) ? 1 : 0), 0);
  }
  function says(table, index, verdict) {
    const told = letters(table, index);
    switch (verdict) {
      case "r0": return told[0] === "r";
      case "r1": return told[1] === "r";
      case "h": return told.includes("h");
      case "y0": return "yl".includes(told[0]);
      case "y1": return "yl".includes(told[1]);
      case "u0": return told[0] === "u";
      default: return told.includes("u");
    }
  }

  const state = { sort: "folder", down: false, page: 0, wide: { features: false, clients: false } };
  const filters = { text: $("text"), format: $("format"), feature: $("feature"), client: $("client"), verdict: $("verdict"), severity: $("severity") };
  let shown = tables;

  const COLUMNS = [
    { key: "folder", title: "Table", value: (t) => t.folder.toLowerCase() },
    { key: "format", title: "Format", value: (t) => t.format },
    { key: "version", title: "Version", value: (t) => (t.version === null ? null : Number(t.version)), right: true },
    { key: "protocol", title: "Protocol", value: (t) => t.protocol },
    { key: "features", title: "Features", value: (t) => t.features.length },
    { key: "bytes", title: "Size", value: (t) => t.bytes, right: true },
    { key: "files", title: "Files", value: (t) => t.files, right: true },
    { key: "modified", title: "Age", value: (t) => (t.modified === null ? null : -t.modified), right: true },
    { key: "out", title: "Locked out", value: (t) => t.out, right: true },
    { key: "worst", title: "Findings", value: (t) => t.worst * 1000 + t.remarks.length },
  ];

  function chosen() {
    const words = filters.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [format, index] = filters.client.value.split(":");
    const severity = filters.severity.value;
    return tables.filter((table) =>
      words.every((word) => table.text.includes(word)) &&
      (!filters.format.value || table.format === filters.format.value) &&
      (!filters.feature.value || table.features.some(([feature]) => feature === filters.feature.value)) &&
      (!format || (table.format === format && says(table, Number(index), filters.verdict.value))) &&
      (severity === "" || (severity === "0" ? table.worst === 0 : table.worst >= Number(severity))));
  }

  function sorted(rows) {
    const { value } = COLUMNS.find((column) => column.key === state.sort);
    const sign = state.down ? -1 : 1;
    const keyed = rows.map((row, position) => [value(row), position, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j; // what is not known comes last
      return (a < b ? -sign : a > b ? sign : 0) || i - j;
    });
    return keyed.map(([, , row]) => row);
  }

  function refresh(keepPage = false) {
    if (!keepPage) state.page = 0;
    shown = sorted(chosen());
    for (const field of Object.values(filters)) field.classList.toggle("on", field !== filters.verdict && field.value !== "");
    filters.verdict.disabled = filters.client.value === "";
    $("count").textContent = shown.length === tables.length ? plural(tables.length, "table") : `${number.format(shown.length)} of ${plural(tables.length, "table")}`;
    tiles(); featureBars(); clientBars(); head(); rows();
  }

  function tiles() {
    const known = shown.filter((table) => table.bytes !== null);
    const bytes = known.reduce((sum, table) => sum + table.bytes, 0);
    const files = known.reduce((sum, table) => sum + table.files, 0);
    const count = (severity) => shown.filter((table) => table.worst === severity).length;
    const formats = new Map();
    for (const table of shown) formats.set(table.format, (formats.get(table.format) || 0) + 1);
    const split = [...formats].sort().map(([format, many]) => `${number.format(many)} ${format}`).join(", ");
    const rest = known.length < shown.length ? `, ${number.format(shown.length - known.length)} not known` : "";
    const told = [
      [split ? `tables: ${split}` : "tables", number.format(shown.length), ""],
      [`size${rest}`, known.length ? size(bytes) : "–", ""],
      [`files${rest}`, known.length ? number.format(files) : "–", ""],
      ["with errors", number.format(count(3)), count(3) ? "bad" : ""],
      ["with warnings", number.format(count(2)), count(2) ? "warn" : ""],
    ];
    $("tiles").replaceChildren(...told.map(([name, value, kind]) => make("div", { class: kind }, make("dt", {}, name), make("dd", {}, value))));
  }

  function bar(parts, whole) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 1000 10");
    svg.setAttribute("preserveAspectRatio", "none");
    let x = 0;
    for (const [kind, count] of parts) {
      const width = whole ? (1000 * count) / whole : 0;
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [name, value] of Object.entries({ x, y: 0, width, height: 10 })) rect.setAttribute(name, value);
      rect.setAttribute("class", `fill-${kind}`);
      svg.append(rect);
      x += width;
    }
    return make("span", { class: "track", "aria-hidden": "true" }, svg);
  }

  function bars(id, entries, none) {
    const list = $(id), more = $(`${id}-more`);
    const visible = state.wide[id] ? entries : entries.slice(0, SHORT);
    list.replaceChildren(...visible.map(({ label, small, title, parts, count, pressed, pick }) => make("li", {},
      make("button", { type: "button", title, "aria-pressed": String(pressed), onclick: () => { pick(); refresh(); } },
        make("span", { class: "label" }, label, small ? make("small", {}, ` ${small}`) : null),
        bar(parts, shown.length),
        make("span", { class: "number" }, number.format(count), make("span", { class: "unseen" }, " tables"))))));
    if (!entries.length) list.replaceChildren(make("li", { class: "empty" }, none));
    more.hidden = entries.length <= SHORT;
    more.textContent = state.wide[id] ? "Show fewer" : `Show all ${number.format(entries.length)}`;
  }

  function featureBars() {
    const counted = new Map();
    for (const table of shown) {
      for (const [feature, presence] of table.features) {
        if (!counted.has(feature)) counted.set(feature, [0, 0, 0, 0]);
        counted.get(feature)[presence] += 1;
      }
    }
    const entries = [...counted].map(([feature, told]) => {
      const count = told[1] + told[2] + told[3];
      const title = [3, 2, 1].filter((p) => told[p]).map((p) => `${PRESENCE[p]} in ${number.format(told[p])}`).join(", ");
      return {
        label: feature, title: `${feature}: ${title}`, count, parts: [["in-use", told[3]], ["active", told[2]], ["supported", told[1]]],
        pressed: filters.feature.value === feature, pick: () => { filters.feature.value = filters.feature.value === feature ? "" : feature; },
      };
    });
    entries.sort((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1));
    bars("features", entries, "No table here has features.");
  }

  function clientBars() {
    const view = $("client-view").value;
    const byContract = new Map();
    for (const table of shown) if (table.own !== null) byContract.set(table.own, [(byContract.get(table.own) || [0])[0] + 1, table]);
    const entries = [];
    for (const [format, known] of Object.entries(releases)) {
      known.forEach((release, index) => {
        if (!release.newest) return;
        let count = 0;
        for (const [many, table] of byContract.values()) if (table.format === format && says(table, index, view)) count += many;
        if (!count) return;
        const key = `${format}:${index}`, verdict = view === "u0" ? "u" : view;
        const pressed = filters.client.value === key && filters.verdict.value === verdict;
        entries.push({
          label: release.title, small: release.versions, title: `${release.title} ${release.versions}, ${format}`, count, parts: [["out", count]], pressed,
          pick: () => { filters.client.value = pressed ? "" : key; filters.verdict.value = verdict; },
        });
      });
    }
    entries.sort((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1));
    bars("clients", entries, "No client of which something is known.");
  }

  function head() {
    $("head").replaceChildren(...COLUMNS.map((column) => make("th", {
      scope: "col", class: column.right ? "right" : "", "aria-sort": state.sort === column.key ? (state.down ? "descending" : "ascending") : null,
    }, make("button", { type: "button", "data-sort": column.key, onclick: () => sortBy(column.key) }, column.title))));
  }

  function sortBy(key) {
    const again = state.sort === key;
    state.down = again ? !state.down : ["bytes", "files", "features", "worst", "out", "version"].includes(key);
    state.sort = key;
    refresh();
    $("head").querySelector(`[data-sort="${key}"]`).focus();
  }

  function cell(label, content, options = {}) {
    const isEmpty = content === null || content === "" || content === undefined;
    return make("td", { "data-label": label, class: `${options.right ? "right " : ""}${isEmpty ? "none" : ""}`, title: options.title || null }, isEmpty ? "" : content);
  }
  const chip = (text, kind, title) => make("span", { class: `chip ${kind}`, title: title || null }, text);

  // The lists of a protocol are in the column of features.
  const versions = (protocol) => (protocol === null ? null : protocol.includes(", [") ? `${protocol.split(", [")[0]})` : protocol);

  function row(table, id) {
    const cut = table.folder.lastIndexOf("/") + 1;
    const label = table.folder === "" ? "the root itself" : table.folder;
    const open = make("button", { type: "button", class: "open", "aria-expanded": "false", "aria-controls": id }, make("span", {}, make("span", { class: "above" }, label.slice(0, cut)), make("span", { class: "own" }, label.slice(cut))));
    const few = table.features.slice(0, 4), rest = table.features.length - few.length;
    const features = make("div", { class: "chips" }, ...few.map(([name, presence]) => chip(name, `p${presence}`, PRESENCE[presence])), rest > 0 ? chip(`+${rest}`, "f") : null);
    const counts = [3, 2, 1].map((severity) => [severity, table.remarks.filter(([own]) => own === severity).length]).filter(([, count]) => count);
    const findings = make("div", { class: "chips" }, ...counts.map(([severity, count]) => chip(plural(count, SEVERITY[severity]), `s${severity}`)));
    const first = make("td", {}, open, table.name ? make("span", { class: "given" }, table.name) : null);
    const line = make("tr", {}, first, cell("Format", chip(table.format, "f")), cell("Version", typeof table.version === "number" ? number.format(table.version) : table.version, { right: true }),
      cell("Protocol", versions(table.protocol), { title: table.protocol }), cell("Features", table.features.length ? features : null), cell("Size", size(table.bytes), { right: true }),
      cell("Files", table.files === null ? null : number.format(table.files), { right: true }),
      cell("Age", age(table.modified), { right: true, title: table.modified === null ? null : new Date(table.modified).toISOString() }),
      cell("Locked out", table.out === null ? null : table.out === 0 ? "none" : plural(table.out, "client"), { right: true }),
      cell("Findings", counts.length ? findings : null));
    open.addEventListener("click", () => {
      const isOpen = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) line.nextElementSibling.remove();
      else line.after(about(table, id));
    });
    return line;
  }

  function about(table, id) {
    const facts = [["Location", table.folder === "" ? data.root : `${data.root}/${table.folder}`]];
    if (table.protocol !== null) facts.push(["Protocol", table.protocol]);
    if (table.columns !== null) facts.push(["Columns", number.format(table.columns)]);
    if (table.modified !== null) facts.push(["Last changed", new Date(table.modified).toISOString().replace("T", " ").slice(0, 19) + " UTC"]);
    if (table.features.length) {
      facts.push(["Features", make("div", { class: "chips" }, ...table.features.map(([name, presence]) => chip(`${name}: ${PRESENCE[presence]}`, `p${presence}`)))]);
    }
    if (table.remarks.length) {
      facts.push(["Findings", make("ul", {}, ...table.remarks.map(([severity, what]) => make("li", {}, chip(SEVERITY[severity], `s${severity}`), " ", what)))]);
    }
    if (table.own !== null) {
      for (const [word, verdict] of [["Cannot read it", "r0"], ["Cannot write it", "r1"], ["Get it wrong", "h"]]) {
        const found = releases[table.format].filter((release, index) => release.newest && says(table, index, verdict));
        if (found.length) facts.push([word, found.map((release) => `${release.title} ${release.versions}`).join(", ")]);
      }
      facts.push(["", make("span", { class: "dim" }, "Clients are told by their newest release that something is known of; esker compat has the others, and the reasons.")]);
    }
    const list = make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    return make("tr", { class: "about", id }, make("td", { colspan: COLUMNS.length }, list));
  }

  function rows() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE;
    $("rows").replaceChildren(...shown.slice(first, first + PAGE).map((table, index) => row(table, `about-${first + index}`)));
    if (!shown.length) $("rows").append(make("tr", {}, make("td", { colspan: COLUMNS.length, class: "dim" }, "No table fits.")));
    $("page").textContent = `${state.page + 1} of ${number.format(pages)}`;
    $("back").disabled = state.page === 0;
    $("next").disabled = state.page === pages - 1;
    $("back").parentElement.hidden = pages === 1;
  }

  function turn(by) {
    state.page += by;
    rows();
    $("tables").scrollIntoView();
  }

  function fill() {
    const formats = [...new Set(tables.map((table) => table.format))].sort();
    const features = [...new Set(tables.flatMap((table) => table.features.map(([name]) => name)))].sort();
    filters.format.append(make("option", { value: "" }, "all"), ...formats.map((format) => make("option", { value: format }, format)));
    filters.feature.append(make("option", { value: "" }, "all"), ...features.map((feature) => make("option", { value: feature }, feature)));
    filters.client.append(make("option", { value: "" }, "any"));
    for (const [format, known] of Object.entries(releases)) {
      const group = make("optgroup", { label: format });
      known.forEach((release, index) => group.append(make("option", { value: `${format}:${index}` }, `${release.title} ${release.versions}`)));
      filters.client.append(group);
    }
    $("root").textContent = `${data.root} · ${new Date(at).toISOString().replace("T", " ").slice(0, 16)} UTC`;
    $("made").textContent = `Made by Esker ${data.esker} from ${plural(data.folders, "folder")}. Only metadata was read; this page loads nothing from elsewhere.`;
    if (data.skipped.length) {
      $("skipped").hidden = false;
      $("skipped").querySelector("summary").textContent = `${plural(data.skipped.length, "folder")} not searched`;
      $("skipped").querySelector("ul").append(...data.skipped.map(([folder, why]) => make("li", {}, make("strong", {}, folder), ` ${why}`)));
    }
  }

  const THEMES = { auto: ["◐", "Theme: system"], light: ["☀", "Theme: light"], dark: ["☾", "Theme: dark"] };
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = "auto";
  try { theme = window.localStorage.getItem("esker-theme") in THEMES ? window.localStorage.getItem("esker-theme") : "auto"; } catch { theme = "auto"; } // a page opened from a file may have no storage
  function paint() {
    document.documentElement.dataset.theme = theme === "auto" ? (prefersDark.matches ? "dark" : "light") : theme;
    $("theme-icon").textContent = THEMES[theme][0];
    $("theme-word").textContent = THEMES[theme][1];
  }
  $("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    try { window.localStorage.setItem("esker-theme", theme); } catch { /* it holds as long as the page is open */ }
    paint();
  });
  prefersDark.addEventListener("change", paint);
  paint();

  let waiting = 0;
  filters.text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 80); });
  for (const field of [filters.format, filters.feature, filters.client, filters.verdict, filters.severity]) field.addEventListener("change", () => refresh());
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(refresh));
  $("client-view").addEventListener("change", clientBars);
  for (const id of ["features", "clients"]) $(`${id}-more`).addEventListener("click", () => { state.wide[id] = !state.wide[id]; (id === "features" ? featureBars : clientBars)(); });
  $("back").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
  fill();
  refresh();
})();
