// Probes that tests run inside a page; each returns a value for JSON.
const all = (what) => [...document.querySelectorAll(what)];
const probes = {
  fits() {
    const size = (t) => {
      const scale = t.getScreenCTM(); // of a text that stands upright, a is zero
      return Math.hypot(scale.a, scale.b) * parseFloat(getComputedStyle(t).fontSize);
    };
    const drawn = all("main svg text, .card svg text").filter((t) => t.getBoundingClientRect().width);
    const shared = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
    const over = all("svg").flatMap((svg) => {
      const words = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
      const seen = words.filter(([text, box]) => text.trim() && box.width);
      return seen.flatMap(([a, one], i) => seen.slice(i + 1)
        .filter(([, other]) => shared(one, other) > 1.5).map(([b]) => `${a} over ${b}`));
    });
    return {
      over,
      wide: document.documentElement.scrollWidth,
      inner: innerWidth,
      least: Math.min(...drawn.map(size)),
      charts: all(".card figure").map((c) => c.getBoundingClientRect().bottom),
      unlabelled: all("figure").filter((f) => !f.closest("[aria-label]") && !f.querySelector("svg[aria-label]")).length,
      empty: all("figure").filter((f) => f.querySelectorAll("path, use, rect, line").length < 4).length,
    };
  },

  hover() {
    const lines = () => [...document.querySelector(".tip").children].map((c) => c.textContent);
    const move = (what, x, y) => {
      what.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
      return lines();
    };
    const svg = document.querySelector("#queueing_delay figure svg");
    svg.scrollIntoView();
    const line = svg.querySelector("g[data-name='1 GPU'] > path").getAttribute("d");
    const middle = [...line.matchAll(/[ML] ([-.\d]+) ([-.\d]+)/g)][50];
    const at = new DOMPoint(+middle[1], +middle[2]).matrixTransform(svg.getScreenCTM());
    const curve = move(svg, at.x, at.y);
    const bar = document.querySelector("#job_status [data-name^='Pass']");
    bar.scrollIntoView();
    const box = bar.getBoundingClientRect();
    const mark = move(bar, box.x + 2, box.y + 2);
    svg.dispatchEvent(new PointerEvent("pointerleave"));
    return { curve, mark, gone: document.querySelector(".tip").hidden };
  },

  sorts() {
    const table = document.querySelector("#retries .facts table");
    table.closest("details").open = true;
    const heads = [...table.querySelectorAll("th")];
    const rows = () => [...table.tBodies[0].rows];
    const column = (i) => rows().map((r) => r.cells[i].dataset.v ?? r.cells[i].textContent);
    heads[1].firstChild.click();
    const [down, order] = [column(1).map(Number), heads[1].getAttribute("aria-sort")];
    heads[1].firstChild.click();
    const up = column(1).map(Number);
    heads[0].firstChild.click();
    return { down, up, order, names: column(0), now: heads[1].getAttribute("aria-sort") };
  },

  async rows() {
    const details = document.querySelector("#queueing_delay details.data");
    const drawn = () => details.querySelectorAll("tbody tr").length;
    const until = async (condition) => {
      while (!condition()) await new Promise((done) => setTimeout(done, 20));
    };
    const first = drawn();
    details.open = true;
    await until(() => drawn() > first);
    const opened = drawn();
    const field = details.querySelector("input[type=search]");
    const type = (text) => {
      field.value = text;
      field.dispatchEvent(new Event("input"));
    };
    details.querySelector("button.more").click();
    const more = drawn();
    type("no such row");
    const none = drawn();
    type("");
    const count = details.querySelector("[role=status]").textContent;
    const wait = [...details.querySelectorAll("th")].find((th) => th.textContent === "wait_s");
    wait.querySelector("button").click();
    const longest = details.querySelector("tbody tr").lastElementChild.textContent;
    return { first, opened, more, none, count, longest };
  },

  async entries() {
    const until = async (condition) => {
      while (!condition()) await new Promise((done) => setTimeout(done, 20));
    };
    const first = document.querySelector("table.entries tbody tr");
    first.querySelector("a.entry").click();
    await until(() => document.querySelector("tr.detail tbody tr"));
    const worst = document.querySelectorAll("tr.detail tbody tr").length;
    const job = document.querySelector("tr.detail tbody td").textContent;
    const fragment = location.hash;
    first.querySelector("a.entry").click();
    const closed = document.querySelector("tr.detail") === null;
    const field = document.getElementById("everywhere");
    field.value = job;
    field.dispatchEvent(new Event("input"));
    const jobs = document.querySelectorAll("#jobs tbody tr").length;
    const users = document.querySelectorAll("table.entries tbody tr").length;
    return { worst, fragment, id: first.id, closed, jobs, users };
  },

  async axe() {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => [v.impact, v.id, v.nodes.length, v.nodes[0].html]);
  },
};
const answer = async (name) => parent.postMessage(JSON.stringify(await probes[name]()), "*");
