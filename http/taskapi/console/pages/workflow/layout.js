// Places the steps of a workflow in layers from left to right: each step is right of those it comes after, edges cross
// rarely and are straight where they can be.

export const WIDTH = 196; // of a step
export const HEIGHT = 54;
const BETWEEN = 58; // two layers
const APART = 18; // two steps of a layer
const EDGE_APART = 16; // edges that pass a layer
const MARGIN = 14;
const SWEEPS = 8;
const MOST_POINTS = 3000; // at which edges pass layers; with more, edges are drawn behind the steps

/** Returns {width, height, layers: keys by layer and place, nodes: Map of key to {x, y, layer, place}, edges: [{from, to,
 *  points}]}. An edge that follows from others is left out: after a → b → c, a → c says nothing new. */
export function layOut(steps) {
  const parents = new Map(steps.map((step) => [step.key, new Set(step.after)]));
  const depth = new Map();
  const ancestors = new Map();
  const edges = [];
  for (const key of sortByDependency(parents)) {
    const known = new Set();
    const deepestFirst = [...parents.get(key)].sort((one, other) => depth.get(other) - depth.get(one));
    for (const from of deepestFirst) {
      if (known.has(from)) continue;
      edges.push({ from, to: key, passes: [] });
      for (const each of ancestors.get(from)) known.add(each);
      known.add(from);
    }
    ancestors.set(key, known);
    depth.set(key, deepestFirst.length ? depth.get(deepestFirst[0]) + 1 : 0);
  }

  const vertices = new Map();
  const layers = [];
  const add = (id, layer, size) => {
    const vertex = { id, layer, size, before: new Set(), after: new Set(), y: 0 };
    vertices.set(id, vertex);
    (layers[layer] ??= []).push(vertex);
    return vertex;
  };
  for (const [key, layer] of depth) add(key, layer, HEIGHT + APART);
  // An edge over several layers passes each of them at a point; the edges of one step share their points.
  const reach = new Map();
  for (const { from, to } of edges) reach.set(from, Math.max(reach.get(from) ?? 0, depth.get(to) - depth.get(from) - 1));
  const points = [...reach.values()].reduce((sum, length) => sum + length, 0);
  for (const { from, to, passes } of edges) {
    let last = vertices.get(from);
    const connect = (vertex) => {
      last.after.add(vertex);
      vertex.before.add(last);
      last = vertex;
    };
    for (let layer = last.layer + 1; layer < depth.get(to) && points <= MOST_POINTS; layer += 1) {
      const id = `${from} ${layer}`; // no key has a space
      connect(vertices.get(id) ?? add(id, layer, EDGE_APART));
      passes.push(id);
    }
    connect(vertices.get(to));
  }
  orderLayers(layers);
  placeLayers(layers);

  const all = [...vertices.values()];
  const top = Math.min(...all.map(({ y, size }) => y - size / 2)) - MARGIN;
  const at = ({ layer, y }) => [MARGIN + layer * (WIDTH + BETWEEN), y - top];
  const keys = layers.map((layer) => layer.map(({ id }) => id).filter((id) => depth.has(id)));
  const nodes = keys.flatMap((ids, layer) =>
    ids.map((id, place) => {
      const [x, y] = at(vertices.get(id));
      return [id, { x, y: y - HEIGHT / 2, layer, place }];
    }),
  );
  return {
    width: 2 * MARGIN + layers.length * (WIDTH + BETWEEN) - BETWEEN,
    height: Math.max(...all.map(({ y, size }) => y + size / 2)) - top + MARGIN,
    layers: keys,
    nodes: new Map(nodes),
    edges: edges.map(({ from, to, passes }) => ({ from, to, points: [from, ...passes, to].map((id) => at(vertices.get(id))) })),
  };
}

/** Returns the keys so that each comes after its parents, otherwise in their own order. */
function sortByDependency(parents) {
  const sorted = new Set();
  const open = [...parents.keys()].reverse();
  while (open.length) {
    const missing = [...parents.get(open.at(-1))].find((parent) => !sorted.has(parent));
    if (missing) open.push(missing);
    else sorted.add(open.pop());
  }
  return sorted;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Orders each layer by the mean place of the neighbors, to and fro. */
function orderLayers(layers) {
  const place = new Map();
  const number = (layer) => layer.forEach((vertex, index) => place.set(vertex, index - layer.length / 2));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 ? layers.toReversed() : layers) {
      const wanted = new Map();
      for (const vertex of layer) {
        const near = [...vertex[sweep % 2 ? "after" : "before"]];
        wanted.set(vertex, mean((near.length ? near : [vertex]).map((each) => place.get(each))));
      }
      layer.sort((one, other) => wanted.get(one) - wanted.get(other));
      number(layer);
    }
  }
}

/** Moves each vertex as near to its neighbors as the order and the sizes of its layer allow. */
function placeLayers(layers) {
  for (let sweep = -1; sweep < SWEEPS; sweep += 1) {
    const sides = sweep < 0 ? [] : sweep >= SWEEPS - 2 ? ["before", "after"] : [sweep % 2 ? "after" : "before"];
    for (const layer of sweep % 2 ? layers.toReversed() : layers) {
      spread(layer, (vertex) => {
        const near = sides.flatMap((side) => [...vertex[side]]);
        return mean((near.length ? near : [vertex]).map(({ y }) => y));
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
    let block = { sum: want(vertex) - offset, members: [[vertex, offset]] };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).members.length >= block.sum / block.members.length) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, members: [...before.members, ...block.members] };
    }
    blocks.push(block);
  }
  for (const { sum, members } of blocks) for (const [vertex, from] of members) vertex.y = sum / members.length + from;
}
