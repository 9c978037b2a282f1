// Shows the values of figures under the pointer, and lets keys reach what scrolls.
(() => {
  // what scrolls can be reached by keys
  const reachable = () => {
    for (const box of document.querySelectorAll(".scroll, pre, nav, figure .wide")) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  reachable();

  const short = (v) => (v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toPrecision(3)
    : (+v.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 }));
  const units = [[604800, "weeks", 2], [86400, "days", 2], [3600, "h", 2], [60, "min", 1], [0, "s", 0]];
  const format = (v, axis) => {
    if (axis.ticks) return axis.ticks.reduce((a, b) => (Math.abs(b[0] - v) < Math.abs(a[0] - v) ? b : a))[1];
    if (axis.unit === "s") {
      const [size, unit] = units.find(([s, , least]) => Math.abs(v) >= least * s);
      return `${short(v / (size || 1))} ${unit}`;
    }
    if (axis.unit === "d") return new Date(v * 1000).toISOString().slice(0, 10);
    return axis.unit === "%" ? `${short(v)} %` : short(v);
  };
  const lift = (v, axis) => (axis.log ? Math.log10(v) : v);
  const value = (at, axis) => {
    const [lo, hi] = axis.lim.map((v) => lift(v, axis));
    const v = lo + ((at - axis.at[0]) / (axis.at[1] - axis.at[0])) * (hi - lo);
    return axis.log ? 10 ** v : v;
  };
  const inside = (at, axis) => (at - axis.at[0]) * (at - axis.at[1]) <= 0;

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);

  const curves = new WeakMap();
  const points = (path) => {
    if (!curves.has(path)) curves.set(path, [...path.getAttribute("d").matchAll(/[ML] ([-\d.]+) ([-\d.]+)/g)].map((m) => [+m[1], +m[2]]));
    return curves.get(path);
  };
  // where the named lines of some axes are at x: the nearest to y
  const nearest = (svg, on, x, y) => {
    let best = null;
    for (const line of svg.querySelectorAll(`g[data-on="${on}"] > path`)) {
      const all = points(line);
      for (let i = 1; i < all.length; i++) {
        const [[x0, y0], [x1, y1]] = [all[i - 1], all[i]];
        if (x < Math.min(x0, x1) || x > Math.max(x0, x1)) continue;
        const at = x1 === x0 ? y0 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
        if (best === null || Math.abs(at - y) < Math.abs(best.y - y)) best = { y: at, name: line.parentNode.dataset.name };
      }
    }
    return best && Math.abs(best.y - y) < 12 ? best : null;
  };

  for (const svg of document.querySelectorAll("svg[data-axes]")) {
    const axes = JSON.parse(svg.dataset.axes);
    const show = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const on = axes.findIndex((a) => a && inside(at.x, a.x) && inside(at.y, a.y));
      tip.hidden = on < 0;
      if (on < 0) return;
      const { x, y } = axes[on];
      const mark = event.target.closest?.("[data-name]");
      const bar = mark && /[\d.]$/.test(mark.dataset.name) && mark.querySelector("path[fill]") ? mark : null;
      const curve = bar ? null : nearest(svg, on, at.x, at.y);
      const lines = bar ? [bar.dataset.name] : curve ? [curve.name] : [];
      for (const [axis, place] of [[x, at.x], [y, curve ? curve.y : at.y]]) {
        if (axis.unit === "none" || (bar && !axis.ticks)) continue;
        lines.push(`${axis.label ? axis.label + ": " : ""}${format(value(place, axis), axis)}`);
      }
      tip.hidden = !lines.length;
      tip.replaceChildren(...lines.map((text, i) => {
        const line = document.createElement(i || !(bar || curve) ? "span" : "b");
        line.textContent = text;
        return line;
      }));
      const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
      tip.style.left = `${event.clientX + (right ? -14 - tip.offsetWidth : 14)}px`;
      tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 8)}px`;
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
})();
