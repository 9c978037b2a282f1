"use strict";
// Sorts and filters tables. Draws the rows of long tables, and the worst jobs of users, accounts and
// servers, from compressed blocks of the page on demand. Without it the first rows are there.
(() => {
  const MOST = 200; // rows drawn at a time
  const FEW = 8; // rows up to which a table needs no filter
  const KINDS = { user: "user", account: "account", machine_id: "server", server: "server" };
  const NUMBER = /^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?\s*%?$/i;
  const raw = (cell) => cell.dataset.v ?? cell.textContent.trim();
  const SECONDS = { s: 1, min: 60, h: 3600, day: 86400, days: 86400, week: 604800, weeks: 604800 };
  const DURATION = /^([\d,]*\.?\d+)\s(s|min|h|days?|weeks?)$/;
  const number = (text) => {
    const [, amount, unit] = DURATION.exec(text) ?? [, text, "s"];
    return NUMBER.test(amount) ? parseFloat(amount.replaceAll(",", "")) * SECONDS[unit] : NaN;
  };
  const inOrder = new Intl.Collator("en", { numeric: true });
  const plain = (text) => text.replaceAll("\u00a0", " ").toLowerCase();
  const element = (name, text = "", kind = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const hex = (text) => [...new TextEncoder().encode(text)].map((b) => b.toString(16).padStart(2, "0")).join("");
  const unhex = (digits) => new TextDecoder().decode(Uint8Array.from(digits.match(/../g) ?? [], (b) => parseInt(b, 16)));
  const block = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };

  // names of users, accounts and servers lead to their entries
  const entries = document.getElementById("names");
  const names = Object.entries(JSON.parse(entries?.textContent ?? "{}")).map(([kind, some]) => [kind, new Set(some)]);
  const known = Object.fromEntries(names);
  const link = (cell, title) => {
    const kind = KINDS[title];
    const name = cell.textContent;
    if (!known[kind]?.has(name) || cell.firstElementChild) return;
    const anchor = element("a", name);
    anchor.href = `${entries.dataset.page}#${kind}-${hex(name)}`;
    cell.replaceChildren(anchor);
  };

  // a row has values to sort and filter by, and elements, which are drawn when they are needed
  const drawn = (values, kinds, titles) => {
    const row = element("tr");
    values.forEach((value, i) => {
      const cell = element("td", value, kinds[i]);
      link(cell, titles[i]);
      row.append(cell);
    });
    return [row];
  };
  const enliven = (table, rows, filtered = true) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    let wanted = "";
    let kept = rows;
    let most = MOST;
    const more = element("button", "", "more");
    const count = element("span");
    more.type = "button";
    const show = () => {
      body.replaceChildren(...kept.slice(0, most).flatMap((row) => (row.elements ??= row.draw())));
      more.hidden = kept.length <= most;
      more.textContent = `Show ${Math.min(MOST, kept.length - most)} more rows`;
      count.textContent = kept.length < rows.length ? `${kept.length} of ${rows.length} rows` : `${rows.length} rows`;
    };
    const refresh = () => {
      const matches = (row) => (row.text ??= plain(row.values.join("\n"))).includes(wanted);
      kept = wanted ? rows.filter(matches) : rows;
      show();
    };
    const filter = (text) => {
      wanted = plain(text.trim());
      most = MOST;
      refresh();
    };
    heads.forEach((head, column) => {
      const button = element("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const sign = down ? 1 : -1;
        const keys = new Map(rows.map((row) => [row, number(row.values[column])]));
        rows.sort((a, b) => {
          const [x, y] = [keys.get(a), keys.get(b)];
          if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1; // what is not known comes last
          return sign * (isNaN(x) ? inOrder.compare(a.values[column], b.values[column]) : x - y);
        });
        refresh();
      });
    });
    more.addEventListener("click", () => {
      most += MOST;
      show();
    });
    const box = table.closest(".scroll") ?? table;
    box.after(more);
    if (filtered && rows.length > FEW) {
      const label = element("label", "Rows with ", "filter");
      const field = element("input");
      field.type = "search";
      field.autocomplete = "off";
      field.addEventListener("input", () => filter(field.value));
      count.setAttribute("role", "status");
      label.append(field);
      const line = element("p", "", "filter");
      line.append(label, " ", count);
      box.before(line);
    }
    if (rows.length > MOST) show();
    else more.hidden = true;
    const reveal = (row) => {
      wanted = "";
      most = Math.max(MOST, rows.indexOf(row) + 1);
      refresh();
    };
    return { rows, filter, reveal, refresh };
  };
  const rowsOf = (table) => {
    const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    return [...table.tBodies[0].rows].map((row) => {
      [...row.cells].forEach((cell, i) => link(cell, titles[i]));
      return { values: [...row.cells].map(raw), elements: [row], id: row.id };
    });
  };
  const grid = (titles, kinds, values, filtered) => {
    const box = element("div", "", "scroll");
    const table = element("table", "", "sortable");
    const head = table.createTHead().insertRow();
    table.createTBody();
    titles.forEach((title, i) => {
      const cell = element("th", "", kinds[i]);
      title.split(/(?<=_)/).forEach((part, j) => cell.append(...(j ? [element("wbr")] : []), part));
      head.append(cell);
    });
    box.append(table);
    const rows = values.map((row) => ({ values: row, draw: () => drawn(row, kinds, titles) }));
    const begin = () => enliven(table, rows, filtered).refresh();
    return { box, begin };
  };
  const columnwise = (cells) => (cells[0] ?? []).map((_, i) => cells.map((column) => column[i]));

  const live = new Map();
  for (const table of document.querySelectorAll("table.sortable")) {
    const rows = rowsOf(table);
    live.set(table, enliven(table, rows, !table.dataset.kind));
  }
  for (const table of document.querySelectorAll("table:not(.sortable)")) {
    if (table.tHead && entries) rowsOf(table);
  }

  // a table whose rows are in a block is drawn whole when it is opened
  for (const details of document.querySelectorAll("details[data-rows]")) {
    const whole = async () => {
      if (!details.open || details.dataset.drawn) return;
      details.dataset.drawn = "yes";
      const { columns, kinds, cells } = await block(details.dataset.rows);
      const { box, begin } = grid(columns, kinds, columnwise(cells), true);
      const first = details.querySelector(".scroll");
      if (details.dataset.summary) first.after(box);
      else first.replaceWith(box);
      begin();
      details.querySelector(".first")?.remove();
    };
    details.addEventListener("toggle", whole);
    whole();
  }

  // entries: a click on a name shows its worst jobs; a field filters every table of the page
  const jobs = document.getElementById("jobs") && block("job-rows");
  const toggle = async (row) => {
    if (row.elements.length > 1) {
      row.elements.pop().remove();
      return;
    }
    const { columns, kinds, cells, worst } = await jobs;
    const all = columnwise(cells);
    const few = (worst[row.id] ?? []).map((i) => all[i]);
    const detail = element("tr", "", "detail");
    const cell = element("td");
    cell.colSpan = row.elements[0].cells.length;
    detail.append(cell);
    row.elements[1] = detail;
    row.elements[0].after(detail);
    if (!few.length) {
      cell.append(element("p", "No GPU hour of these jobs is known to be idle or lost, and none of them waited."));
      return;
    }
    cell.append(element("p", "Jobs with most GPU hours idle, lost to failures or waited for:"));
    const { box, begin } = grid(columns, kinds, few, false);
    cell.append(box);
    begin();
  };
  const wanted = () => {
    const target = location.hash.slice(1);
    for (const table of live.values()) {
      const row = table.rows.find(({ id }) => id && id === target);
      if (!row) continue;
      table.reveal(row);
      if (row.elements.length < 2 && jobs) toggle(row);
      row.elements[0].scrollIntoView();
    }
    for (let parent = document.getElementById(target); parent; parent = parent.parentElement) {
      if (parent.tagName === "DETAILS") parent.open = true;
    }
    document.getElementById(target)?.scrollIntoView();
  };
  const everywhere = document.getElementById("everywhere");
  if (everywhere) {
    const filterAll = () => {
      for (const [table, { filter }] of live) if (table.dataset.kind) filter(everywhere.value);
    };
    everywhere.addEventListener("input", filterAll);
    document.addEventListener("click", (event) => {
      const row = event.target.closest?.("a.entry")?.closest("tr");
      if (!row) return;
      for (const { rows } of live.values()) {
        const one = rows.find(({ id }) => id === row.id);
        if (one) toggle(one);
      }
      history.replaceState(null, "", `#${row.id}`);
      event.preventDefault();
    });
    const job = document.getElementById("jobs");
    const jobTable = async () => {
      const { columns, kinds, cells, whole } = await jobs;
      const { rows } = live.get(job);
      columnwise(cells).slice(rows.length, whole)
        .forEach((values) => rows.push({ values, draw: () => drawn(values, kinds, columns) }));
      const [, digits] = /^job-([0-9a-f]+)$/.exec(location.hash.slice(1)) ?? [];
      if (digits) {
        everywhere.value = unhex(digits);
        filterAll();
        job.scrollIntoView();
      } else live.get(job).refresh();
    };
    jobTable();
    addEventListener("hashchange", jobTable);
  }
  addEventListener("hashchange", wanted);
  wanted();
})();
