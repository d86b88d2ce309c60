// The fastest tilings of matrix layers, found by the time that their programs take at the cycle level.
#ifndef KILN_TARGETS_VTA_TILING_SEARCH_H_
#define KILN_TARGETS_VTA_TILING_SEARCH_H_

#include <cstdint>
#include <map>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/codegen.h"
#include "kiln/targets/vta/cycle.h"

namespace kiln::vta {

// The most read beats, GEMM steps, ALU steps or write beats of a program: no machine runs it in fewer cycles.
int64_t BusiestUnitOf(const std::vector<Instruction>& program, const Config& config);

// Tilings of matrix layers of one design point. Layers that are equal in everything that decides how long a program
// takes (shapes, strides, kinds of requantisation; not weights, scales, addresses) are searched once.
class TilingMemo {
 public:
  // Searches for the layers that are not known yet, in parallel; what is found does not depend on the number of
  // threads. Many layers share the effort that some have each, so that networks of a hundred layers and more compile in
  // about the time of others. `threads`: virtual threads of every layer, fewer where so many cannot be; 0: whichever
  // are fastest.
  Status Search(const std::vector<const MatrixLayer*>& layers, int threads,
                const CodeContext& context);
  // Returns the fastest tiling found for a layer that was given to Search with these `threads`. Unimplemented: no
  // tiling fits.
  StatusOr<MatrixTiling> TilingOf(const MatrixLayer& layer, int threads,
                                  const CodeContext& context) const;
  size_t size() const { return found_.size(); }

 private:
  using Key = std::vector<int64_t>;
  static Key KeyOf(const MatrixLayer& layer, int threads, const CodeContext& context);
  std::map<Key, StatusOr<MatrixTiling>> found_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_TILING_SEARCH_H_
