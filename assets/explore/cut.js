// A cut that is dragged, or moved by keys: through the singular values; while the lanes are unlinked,
// that one is the linear lane's, and the nonlinear lane has another one, through its states.
/* oxlint-disable no-unused-vars -- for the script that this file is put before */

const MIN_DRAG = 3; // pixels: a hand that presses moves by less

class Cut {
  constructor(explore, svg) {
    Object.assign(this, { explore, svg, isLower: svg.classList.contains("lower") });
    // the rank whose line is nearest; of a press in the middle of a bar, with this bar
    const move = (event, isPress = false) => {
      const place = (this.dragging = this.placeOf(event));
      const nearest = Math.round(place);
      const rank = Math.max(1, isPress && Math.abs(place - nearest) > 0.25 ? Math.ceil(place) : nearest);
      if (rank === this.rank) explore.change();
      else explore.choose({ [this.key]: rank });
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      this.pressed = event.clientX;
      move(event, true);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!svg.hasPointerCapture(event.pointerId) || Math.abs(event.clientX - this.pressed) < MIN_DRAG) return;
      this.pressed = NaN; // from here on, every movement counts
      move(event);
    });
    for (const kind of ["pointerup", "pointercancel"])
      svg.addEventListener(kind, () => {
        this.dragging = undefined;
        explore.change();
        if (explore.asking) explore.ask();
      });
    svg.addEventListener("keydown", (event) => {
      const { rank } = this;
      const most = explore.material.mostRank;
      if (rank > most && ["ArrowRight", "ArrowUp"].includes(event.key)) return;
      const wanted = {
        ArrowRight: rank + 1,
        ArrowUp: rank + 1,
        ArrowLeft: rank - 1,
        ArrowDown: rank - 1,
        Home: 1,
        End: most,
      }[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      explore.choose({ [this.key]: Math.min(most, Math.max(1, wanted)) });
    });
  }

  // Where the rank is in the state.
  get key() {
    return this.isLower ? "rank" : rankKey("SP", this.explore.state);
  }

  get rank() {
    return this.explore.state[this.key];
  }

  get columns() {
    const { material } = this.explore;
    return Math.max(material.singular.length, material.mostRank);
  }

  placeOf({ clientX }) {
    const box = this.svg.getBoundingClientRect();
    return Math.min(this.explore.material.mostRank, Math.max(0.6, ((clientX - box.left) / box.width) * this.columns));
  }

  draw() {
    const { explore, svg, rank, columns, isLower } = this;
    const { isUnlinked } = explore;
    const width = explore.sizes.get(svg).width || 384;
    const key = [explore.id, explore.theme, width, this.dragging, isUnlinked, rank, explore.state.rank].join(" ");
    if (key === this.drawnKey || (isLower && !isUnlinked)) return;
    this.drawnKey = key;
    const height = isLower ? 24 : isUnlinked ? 42 : 66;
    const step = width / columns;
    const base = isUnlinked ? 40 : 52;
    const x = Math.min(this.dragging ?? rank, columns) * step - 0.5;
    const isRight = x > width - 110;
    const middle = isLower ? height / 2 : 10;
    const text = isUnlinked ? `${rank} ${isLower ? "nonlinear" : "linear"}` : states(rank);
    svg.replaceChildren(
      ...(isLower ? this.dots(step, middle) : this.bars(step, base)),
      ...(isUnlinked ? [] : this.numbers(step, height)),
      ...(isLower
        ? []
        : [shape("line", { x1: x, x2: x, y1: 2, y2: base + 2, stroke: explore.colour("cut"), "stroke-width": 3 })]),
      shape("circle", { cx: x, cy: middle, r: 8, fill: explore.colour("cut") }),
      shape(
        "text",
        { x: x + (isRight ? -14 : 14), y: middle + 5, class: "rank", "text-anchor": isRight ? "end" : "start" },
        text,
      ),
    );
    svg.setAttribute(
      "aria-label",
      isUnlinked ? `States of the ${isLower ? "nonlinear" : "linear"} model` : "Rank: number of states",
    );
    svg.setAttribute("aria-valuemax", Math.max(explore.material.mostRank, rank));
    svg.setAttribute("aria-valuenow", rank);
    svg.setAttribute("aria-valuetext", states(rank));
  }

  // Singular values, and those that are kept.
  bars(step, base) {
    const { material } = this.explore;
    const logs = material.singular.map((value) => Math.log10(Math.max(value, Number.MIN_VALUE)));
    const shown = logs.slice(0, Math.min(material.numericalRank, this.columns));
    const least = Math.max(Math.min(...shown, logs[0] - 1), logs[0] - 6); // from one power of ten to six
    return Array.from({ length: this.columns }, (_, n) => {
      const share = (logs[n] - least) / (logs[0] - least || 1);
      const high = n < logs.length ? Math.max(3, 4 + share * (base - 14)) : 2;
      return shape("rect", {
        x: n * step + 2,
        y: base - high,
        width: Math.max(1, step - 5),
        height: high,
        rx: 2,
        ...this.paint(n),
      });
    });
  }

  dots(step, middle) {
    return Array.from({ length: this.columns }, (_, n) =>
      shape("circle", { cx: (n + 0.5) * step - 0.5, cy: middle, r: Math.min(4, step / 3), ...this.paint(n) }),
    );
  }

  // What is kept has the colour of the depth that it is for, where states have one.
  paint(n) {
    const { explore } = this;
    if (n >= this.rank) return { fill: explore.colour("truth"), opacity: 0.4 };
    const depth = this.isLower || explore.state.linear !== "SP" ? undefined : explore.material.depthsOfStates[n];
    return { fill: depth === undefined ? explore.colour(this.isLower ? "network" : "linear") : explore.groupColour(depth) };
  }

  numbers(step, height) {
    const isNamed = (number) => this.columns <= 14 || number % 5 === 0 || number === 1 || number === this.rank;
    return Array.from({ length: this.columns }, (_, n) => n + 1)
      .filter(isNamed)
      .map((number) =>
        shape(
          "text",
          {
            x: (number - 0.5) * step,
            y: height - 2,
            "text-anchor": "middle",
            style: number === this.rank ? `fill:${this.explore.colour("cut")};font-weight:700` : "",
          },
          number,
        ),
      );
  }
}
