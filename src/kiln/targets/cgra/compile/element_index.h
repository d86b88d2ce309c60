// Which elements of a buffer a launch reads or writes: a function, and the same as text for those
// who write software for the host. Tests compare the two.
#ifndef KILN_TARGETS_CGRA_COMPILE_ELEMENT_INDEX_H_
#define KILN_TARGETS_CGRA_COMPILE_ELEMENT_INDEX_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/lower/index_text.h"

namespace kiln::cgra {

// Expressions (lower/index_text.h) of the names `run`, `thread` and `lane`. `pick(i; a, b, ...)` is
// number i of a list.
struct IndexText {
  // Further names with their expressions, each of names before it: {"k", "4 * thread + 1"}.
  std::vector<std::pair<std::string, std::string>> names = {};
  // The position along each axis of the buffer's tensor, or one expression: the number of the
  // element in row-major order. A position outside of the tensor has no element.
  std::vector<std::string> position = {};
  // The element exists only if all of these conditions hold: "m < 784".
  std::vector<std::string> conditions = {};
};

// Returns which element of a buffer a lane of a thread of a run has; -1: none.
class ElementIndex {
 public:
  using Function = std::function<int64_t(int64_t run, int64_t thread, int64_t lane)>;
  ElementIndex() = default;
  ElementIndex(IndexText text, Function function)
      : text_(std::move(text)), function_(std::move(function)) {}
  int64_t operator()(int64_t run, int64_t thread, int64_t lane) const {
    return function_(run, thread, lane);
  }
  const IndexText& text() const { return text_; }

 private:
  IndexText text_;
  Function function_;
};

// Returns element thread * lanes + lane, which the text calls `e`, of a buffer of `elements`.
ElementIndex ElementsInOrder(int64_t elements, int64_t lanes);

// Returns `text` with the names and conditions of `before` in front of its own.
IndexText Behind(const IndexText& before, IndexText text);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_ELEMENT_INDEX_H_
