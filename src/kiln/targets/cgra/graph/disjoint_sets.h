// Union-find: divides numbers into sets that are joined step by step.
#ifndef KILN_TARGETS_CGRA_GRAPH_DISJOINT_SETS_H_
#define KILN_TARGETS_CGRA_GRAPH_DISJOINT_SETS_H_

#include <cstddef>
#include <numeric>
#include <vector>

namespace kiln::cgra {

// The numbers from 0 to `count` - 1, each in a set of its own at first. A set has a root.
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  // Returns the root of a number's set.
  int RootOf(int number) const {
    while (parent_[static_cast<size_t>(number)] != number) {
      number = parent_[static_cast<size_t>(number)];
    }
    return number;
  }
  // Joins the sets of two numbers. The root of the second becomes the root of both.
  void Join(int number, int into) { parent_[static_cast<size_t>(RootOf(number))] = RootOf(into); }

 private:
  std::vector<int> parent_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_DISJOINT_SETS_H_
