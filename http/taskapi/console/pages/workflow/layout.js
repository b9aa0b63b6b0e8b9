// Places the steps of a workflow in layers from left to right, so that each step is right of those it comes after, edges
// cross rarely and are straight where they can be.

export const WIDTH = 196; // of a step
export const HEIGHT = 54;
const BETWEEN = 58; // two layers
const APART = 18; // two steps of a layer
const EDGE_APART = 16; // an edge that passes a layer, and what is beside it
const MARGIN = 14;
const SWEEPS = 8;
const MOST_POINTS = 3000; // where edges pass layers; with more, edges are straight lines behind the steps

/** Returns {width, height, layers: keys by layer and place, nodes: Map of key to {x, y, layer, place}, edges: [{from, to,
 *  points}]}. Edges that follow from others are left out: after a → b → c, a → c says nothing new. */
export function layOut(steps) {
  const parents = new Map(steps.map((step) => [step.key, new Set(step.after)]));
  const order = sortByDependency(parents);
  const needed = reduce(parents, order);
  const depth = new Map();
  for (const key of order) depth.set(key, Math.max(-1, ...[...parents.get(key)].map((parent) => depth.get(parent))) + 1);

  const layers = [];
  const vertices = new Map();
  const add = (id, layer, size) => {
    const vertex = { id, layer, size, before: [], after: [], y: 0 };
    vertices.set(id, vertex);
    (layers[layer] ??= []).push(vertex);
    return vertex;
  };
  const connect = (from, to) => {
    if (from.after.includes(to)) return;
    from.after.push(to);
    to.before.push(from);
  };
  for (const key of order) add(key, depth.get(key), HEIGHT + APART);

  // An edge over several layers passes each of them at a point; those of one step share their points.
  const edges = order.flatMap((to) => [...needed.get(to)].map((from) => ({ from, to, passes: [] })));
  const points = edges.reduce((sum, { from, to }) => sum + depth.get(to) - depth.get(from) - 1, 0);
  for (const edge of edges) {
    let last = vertices.get(edge.from);
    for (let layer = last.layer + 1; layer < depth.get(edge.to) && points <= MOST_POINTS; layer += 1) {
      const id = `${edge.from} ${layer}`; // no key has a space
      const point = vertices.get(id) ?? add(id, layer, EDGE_APART);
      connect(last, point);
      edge.passes.push(point);
      last = point;
    }
    connect(last, vertices.get(edge.to));
  }
  orderLayers(layers);
  placeLayers(layers);

  const all = [...vertices.values()];
  const top = Math.min(...all.map(({ y, size }) => y - size / 2)) - MARGIN;
  const left = (vertex) => MARGIN + vertex.layer * (WIDTH + BETWEEN);
  const nodes = new Map();
  const keys = layers.map((layer) => layer.filter(({ id }) => depth.has(id)).map(({ id }) => id));
  for (const [layer, ids] of keys.entries()) {
    for (const [place, id] of ids.entries()) {
      const vertex = vertices.get(id);
      nodes.set(id, { x: left(vertex), y: vertex.y - top - HEIGHT / 2, layer, place });
    }
  }
  return {
    width: 2 * MARGIN + layers.length * (WIDTH + BETWEEN) - BETWEEN,
    height: Math.max(...all.map(({ y, size }) => y + size / 2)) - top + MARGIN,
    layers: keys,
    nodes,
    edges: edges.map(({ from, to, passes }) => ({
      from,
      to,
      points: [from, ...passes.map(({ id }) => id), to].map((id) => [left(vertices.get(id)), vertices.get(id).y - top]),
    })),
  };
}

/** Returns the keys so that each comes after its parents, otherwise in their own order. */
function sortByDependency(parents) {
  const sorted = new Set();
  function visit(key) {
    const open = [key];
    while (open.length) {
      const missing = [...parents.get(open.at(-1))].filter((parent) => !sorted.has(parent));
      if (missing.length) open.push(missing[0]);
      else sorted.add(open.pop());
    }
  }
  for (const key of parents.keys()) if (!sorted.has(key)) visit(key);
  return [...sorted];
}

/** Returns for each step those of its parents that no other of its parents comes after. */
function reduce(parents, order) {
  const ancestors = new Map();
  const needed = new Map();
  for (const key of order) {
    const indirect = new Set();
    for (const parent of parents.get(key)) for (const each of ancestors.get(parent)) indirect.add(each);
    needed.set(key, [...parents.get(key)].filter((parent) => !indirect.has(parent)));
    ancestors.set(key, new Set([...indirect, ...parents.get(key)]));
  }
  return needed;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Orders each layer by the mean place of the neighbors, to and fro. */
function orderLayers(layers) {
  const place = new Map();
  const number = (layer) => layer.forEach((vertex, index) => place.set(vertex, index - layer.length / 2));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? "after" : "before";
    for (const layer of sweep % 2 ? layers.toReversed() : layers) {
      const wanted = new Map(
        layer.map((vertex) => [vertex, vertex[side].length ? mean(vertex[side].map((each) => place.get(each))) : place.get(vertex)]),
      );
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      number(layer);
    }
  }
}

/** Moves each vertex as near to its neighbors as the order and the sizes of its layer allow. */
function placeLayers(layers) {
  for (const layer of layers) spread(layer, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const last = sweep >= SWEEPS - 2;
    for (const layer of sweep % 2 ? layers.toReversed() : layers) {
      spread(layer, (vertex) => {
        const near = last ? [...vertex.before, ...vertex.after] : vertex[sweep % 2 ? "after" : "before"];
        return near.length ? mean(near.map((each) => each.y)) : vertex.y;
      });
    }
  }
}

/** Sets y of the vertices of a layer: as near as possible to what is wanted (least squares), with room between them. */
function spread(layer, want) {
  const blocks = []; // of vertices that touch each other
  let offset = 0;
  for (const [index, vertex] of layer.entries()) {
    if (index) offset += (layer[index - 1].size + vertex.size) / 2;
    let block = { sum: want(vertex) - offset, count: 1, members: [[vertex, offset]] };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).count >= block.sum / block.count) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, count: before.count + block.count, members: [...before.members, ...block.members] };
    }
    blocks.push(block);
  }
  for (const { sum, count, members } of blocks) for (const [vertex, from] of members) vertex.y = sum / count + from;
}
