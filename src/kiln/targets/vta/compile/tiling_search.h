// Searches the fastest tilings of matrix layers, by the time of their programs at the cycle level.
// schedule.h ranks the candidates; Generate (codegen.h) calls the search.
#ifndef KILN_TARGETS_VTA_COMPILE_TILING_SEARCH_H_
#define KILN_TARGETS_VTA_COMPILE_TILING_SEARCH_H_

#include <cstdint>
#include <map>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/compile/codegen.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"

namespace kiln::vta {

// Returns the greatest of a program's read beats, GEMM steps, ALU steps and write beats. The
// machine cannot run it in fewer cycles.
int64_t BusiestUnitOf(const std::vector<Instruction>& program, const Config& config);

// The tilings found for matrix layers of one design point. Layers that agree in everything that
// affects a program's time (shapes, strides, kinds of requantisation; not weights, scales,
// addresses) are searched once.
class TilingMemo {
 public:
  // Searches tilings for the layers that are not known yet, in parallel. The result does not depend
  // on the number of host threads. Many layers share a limited total effort, so that networks of a
  // hundred layers or more compile in about the time of others. `threads` is the number of virtual
  // threads of every layer, fewer if a layer does not allow that many; 0 selects whichever is
  // fastest.
  Status Search(const std::vector<const MatrixLayer*>& layers, int threads,
                const CodeContext& context);
  // Returns the fastest tiling found for a layer that was given to Search with these `threads`.
  // Errors: Unimplemented if no tiling fits.
  StatusOr<MatrixTiling> TilingOf(const MatrixLayer& layer, int threads,
                                  const CodeContext& context) const;
  size_t size() const { return found_.size(); }

 private:
  using Key = std::vector<int64_t>;
  static Key KeyOf(const MatrixLayer& layer, int threads, const CodeContext& context);
  std::map<Key, StatusOr<MatrixTiling>> found_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_TILING_SEARCH_H_
