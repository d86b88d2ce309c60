// Two-colours the values of a tile, with copies where that is impossible.

#include "kiln/targets/cgra/isa/tile_values.h"

#include <algorithm>
#include <numeric>
#include "kiln/support/stable_sort.h"

namespace kiln::cgra {
namespace {

// The values that pairs connect, coloured by a walk: `side` is 0 or 1.
struct Component {
  std::vector<int> values;
  std::array<int, 2> entries = {0, 0};  // by side
};

// Two-colours the graph of pairs by a breadth-first walk from the first value of each component. On
// a cycle of odd length, some pair gets the same side twice; DistributeValues then copies a value.
std::vector<Component> Colour(const std::vector<TileValue>& values,
                              const std::vector<std::vector<int>>& partners,
                              std::vector<int>* side) {
  std::vector<Component> components;
  for (size_t first = 0; first < values.size(); ++first) {
    if ((*side)[first] >= 0) continue;
    Component component;
    (*side)[first] = 0;
    component.values.push_back(static_cast<int>(first));
    for (size_t i = 0; i < component.values.size(); ++i) {
      const auto at = static_cast<size_t>(component.values[i]);
      component.entries[static_cast<size_t>((*side)[at])] += values[at].entries;
      for (const int partner : partners[at]) {
        int& other = (*side)[static_cast<size_t>(partner)];
        if (other >= 0) continue;
        other = 1 - (*side)[at];
        component.values.push_back(partner);
      }
    }
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace

std::vector<MemorySet> DistributeValues(const std::vector<TileValue>& values,
                                        const std::vector<std::pair<int, int>>& pairs) {
  std::vector<std::vector<int>> partners(values.size());
  for (const auto& [a, b] : pairs) {
    partners[static_cast<size_t>(a)].push_back(b);
    partners[static_cast<size_t>(b)].push_back(a);
  }
  std::vector<int> side(values.size(), -1);
  std::vector<Component> components = Colour(values, partners, &side);
  // The largest components first, each with its larger side in the memory with more space.
  const auto larger_side = [](const Component& component) {
    return std::max(component.entries[0], component.entries[1]);
  };
  StableSort(&components, [&](const Component& a, const Component& b) {
    return larger_side(a) > larger_side(b);
  });
  std::array<int, 2> used = {0, 0};
  for (const Component& component : components) {
    const bool flip = (component.entries[0] > component.entries[1]) == (used[0] > used[1]) &&
                      component.entries[0] != component.entries[1] && used[0] != used[1];
    for (const int value : component.values) {
      if (flip) side[static_cast<size_t>(value)] = 1 - side[static_cast<size_t>(value)];
    }
    for (size_t i = 0; i < 2; ++i) used[i] += component.entries[flip ? 1 - i : i];
  }
  std::vector<MemorySet> sets(values.size(), MemorySet{false, false});
  for (size_t i = 0; i < values.size(); ++i) sets[i][static_cast<size_t>(side[i])] = true;
  for (const auto& [a, b] : pairs) {
    const auto first = static_cast<size_t>(a), second = static_cast<size_t>(b);
    if (side[first] != side[second]) continue;
    const MemorySet both = {true, true};
    if (sets[first] == both || sets[second] == both) continue;
    sets[values[first].costly && !values[second].costly ? second : first] = both;
  }
  return sets;
}

}  // namespace kiln::cgra
